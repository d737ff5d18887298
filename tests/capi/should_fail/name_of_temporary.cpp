// refused: deleted
#include <string>

#include "graphtag/graphtag.hpp"

int main() {
  static gt::Name name{std::string("decoder") + ".mlp"};
}
