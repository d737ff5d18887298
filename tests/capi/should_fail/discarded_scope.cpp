// refused: nodiscard|unused
#include <string>

#include "graphtag/graphtag.hpp"

int main() {
  gt::Scope{"decoder"};  // ends at once
}
