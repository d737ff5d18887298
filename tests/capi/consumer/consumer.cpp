#include <cstdio>
#include <graphtag/graphtag.hpp>

int main() {
  gt::Scope scope{"consumer"};
  const gt::Annotation annotation{"consumer"};
  if (annotation.json() != R"({"name":"consumer"})") return 1;
  std::printf("C++: %zu bytes of doctor\n", gt::doctor().size());
}
