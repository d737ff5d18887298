// What the parts of one reading share.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "trace/kineto/kineto_reader.h"
#include "trace/kineto/repair.h"
#include "trace/kineto/trace_facts.h"
#include "trace/kineto/window.h"

namespace graphtag::kineto {

// Of the text shown with a problem: no more and no less whatever is in the window.
constexpr std::size_t kExampleBytes = 128;

struct Reading {
  Reading(ByteSource& source, EventVisitor& to, ReadResult& into, const KinetoOptions& how)
      : window(source, how.window_bytes), visitor(to), result(into), options(how), facts(into.info) {}

  Window window;
  EventVisitor& visitor;
  ReadResult& result;
  const KinetoOptions& options;
  TraceFacts facts;

  // Passes over whitespace; view() is then empty only at the file's end.
  Result<void> skip_space();
  // Makes view() hold `size` bytes if the file has them.
  Result<void> look_ahead(std::size_t size);
  // What a value may take, which may be less than view().
  std::string_view limited_view() const { return window.view().substr(0, options.event_limit_bytes); }
  bool limit_reached() const { return window.view().size() >= options.event_limit_bytes; }
  // limited_view() goes through the file's end.
  bool sees_end() const { return window.at_end() && window.view().size() <= options.event_limit_bytes; }

  // A problem at the start of view(). May move what view() shows.
  Result<void> report(ProblemKind kind);
  // One in the `size` bytes at view()[where].
  void add_problem(ProblemKind kind, std::size_t where, std::size_t size) {
    result.problems.add(kind, window.offset() + where, window.view().substr(where, std::min(size, kExampleBytes)));
  }
  // What was repaired in the text at view()[where].
  void add_problems(const Repair& repair, std::size_t where = 0);
};

}  // namespace graphtag::kineto
