// refused: deleted
#include <string>

#include "graphtag/graphtag.hpp"

int main() {
  const std::string text = "decoder";
  gt::Name name{text};  // it would keep a pointer into the string
}
