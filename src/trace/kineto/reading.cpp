#include "trace/kineto/reading.h"

#include "trace/kineto/scan.h"

namespace graphtag::kineto {

Result<void> Reading::skip_space() {
  for (;;) {
    window.consume(kineto::skip_space(window.view(), 0));
    if (!window.view().empty() || window.at_end()) return {};
    if (auto read = window.more(); !read) return read;
  }
}

Result<void> Reading::look_ahead(std::size_t size) {
  while (window.view().size() < size && !window.at_end()) {
    if (auto read = window.more(); !read) return read;
  }
  return {};
}

Result<void> Reading::report(ProblemKind kind) {
  if (auto read = look_ahead(kExampleBytes); !read) return read;
  add_problem(kind, 0, kExampleBytes);
  return {};
}

void Reading::add_problems(const Repair& repair, std::size_t where) {
  for (std::size_t kind = 0; kind < kProblemKinds; ++kind) {
    const auto at = repair.problems[kind];
    if (at) add_problem(static_cast<ProblemKind>(kind), where + *at, repair.size - *at);
  }
}

}  // namespace graphtag::kineto
