// refused: deleted
#include <string>

#include "graphtag/graphtag.hpp"

int main() {
  gt::Scope scope{gt::Name{"decoder"}};  // would be looked up every time
}
