// refused: nodiscard|unused
#include <string>

#include "graphtag/graphtag.hpp"

int main() {
  gt::Window{};  // closes at once
}
