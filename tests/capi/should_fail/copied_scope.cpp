// refused: deleted
#include <string>

#include "graphtag/graphtag.hpp"

int main() {
  gt::Scope scope{"decoder"};
  gt::Scope copy = scope;
}
