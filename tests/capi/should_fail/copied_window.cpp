// refused: deleted
#include <string>

#include "graphtag/graphtag.hpp"

int main() {
  gt::Window window;
  gt::Window copy = window;
}
