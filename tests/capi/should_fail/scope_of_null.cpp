// refused: deleted
#include <string>

#include "graphtag/graphtag.hpp"

int main() {
  gt::Scope scope{nullptr};
}
