// refused: deleted
#include <string>

#include "graphtag/graphtag.hpp"

int main() {
  gt::Annotation annotation{nullptr};
}
