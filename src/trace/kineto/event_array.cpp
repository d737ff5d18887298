#include "trace/kineto/event_array.h"

#include <algorithm>
#include <utility>

#include "trace/kineto/array_end.h"
#include "trace/kineto/repair.h"
#include "trace/kineto/scan.h"
#include "trace/kineto/strict_parser.h"

namespace graphtag::kineto {
namespace {

constexpr std::size_t kFastBytes = std::size_t{128} << 10;      // with their index they stay in a core's own cache
constexpr std::size_t kLookahead = 2 * EventStart::kLookahead;  // to see an event begin behind a bracket
static_assert(kArrayEndBytes >= EventStart::kLookahead + EventStart::kLookbehind);

}  // namespace

Result<void> EventArray::read() {
  while (!closed_) {
    if (auto skipped = reading_.skip_space(); !skipped) return skipped;
    if (reading_.options.fast && window_.offset() >= plain_until_) {
      if (auto read = clean_stretch(); !read) return read;
      continue;
    }
    if (window_.view().empty()) return {};
    if (auto stepped = step(); !stepped) return stepped;
  }
  return {};
}

// As many clean events as a part of the window has. After one that is not clean the plain reader does the rest of that part.
Result<void> EventArray::clean_stretch() {
  const std::size_t part = std::min(reading_.options.window_bytes, kFastBytes);
  if (auto read = reading_.look_ahead(part / 4); !read) return read;
  const std::string_view view = window_.view().substr(0, part);
  const std::uint64_t offset = window_.offset();
  const std::size_t size = FastEvents::guess_end(view);
  plain_until_ = offset + std::max<std::size_t>(size != 0 ? size : view.size(), 1);
  if (size == 0 || !fast_.start(&window_.byte_at(0), size, place_ == Place::after_event)) return {};
  Result<void> given;
  std::size_t done = 0;
  while (given.ok() && fast_.next() && fast_.end() - fast_.begin() <= reading_.options.event_limit_bytes) {
    given = give_out(fields_.finish(offset + fast_.begin(), fast_.end() - fast_.begin(), false));
    done = fast_.end();
  }
  fast_.stop();
  if (done != 0) place_ = Place::after_event;
  if (done == size) plain_until_ = offset;
  window_.consume(done);
  return given;
}

// One event, or what stands between two.
Result<void> EventArray::step() {
  const char c = window_.view().front();
  if (c == ']') return bracket();
  if (place_ == Place::after_event) {
    if (c != ',' && c != '{') return leave_out(ProblemKind::unparsable_event);
    if (c == '{') {
      if (auto reported = reading_.report(ProblemKind::missing_comma); !reported) return reported;
    } else {
      window_.consume(1);
    }
    place_ = Place::after_comma;
    return {};
  }
  if (c == ',') {
    if (auto reported = reading_.report(ProblemKind::trailing_comma); !reported) return reported;
    window_.consume(1);
    place_ = Place::after_comma;
    return {};
  }
  return c == '{' ? event() : other_element();
}

Result<void> EventArray::event() {
  for (;;) {
    const std::string_view text = reading_.limited_view();
    const Parsed parsed = parse_event(text, fields_);
    switch (parsed.outcome) {
      case Outcome::complete: {
        auto given = give_out(fields_.finish(window_.offset(), parsed.size, false));
        window_.consume(parsed.size);
        place_ = Place::after_event;
        return given;
      }
      case Outcome::invalid:
        return repaired_event();
      case Outcome::too_large:
        return leave_out(ProblemKind::event_too_large);
      case Outcome::incomplete:
        if (reading_.limit_reached()) return leave_out(ProblemKind::event_too_large);
        if (window_.at_end()) return repaired_event();
        if (auto read = window_.more(); !read) return read;
    }
  }
}

Result<void> EventArray::repaired_event() {
  for (;;) {
    const bool sees_end = reading_.sees_end();
    const RepairInput input{reading_.limited_view(), sees_end, event_start_, reading_.options.event_limit_bytes};
    const Repair repair = repair_event(input, repaired_);
    switch (repair.outcome) {
      case Outcome::complete: {
        const Parsed parsed = parse_event(repaired_, fields_);
        if (parsed.outcome == Outcome::too_large) return leave_out(ProblemKind::event_too_large);
        if (parsed.outcome != Outcome::complete || parsed.size != repaired_.size())
          return leave_out(ProblemKind::unparsable_event);
        reading_.add_problems(repair);
        auto given = give_out(fields_.finish(window_.offset(), parsed.size, true));
        window_.consume(repair.size);
        place_ = Place::after_event;
        return given;
      }
      case Outcome::invalid:
        return leave_out(ProblemKind::unparsable_event, sees_end && repair.size >= input.text.size());
      case Outcome::too_large:
        return leave_out(ProblemKind::event_too_large);
      case Outcome::incomplete:
        if (reading_.limit_reached()) return leave_out(ProblemKind::event_too_large);
        if (auto read = window_.more(); !read) return read;
    }
  }
}

// Something that is no object: a value of another type, or garbage.
Result<void> EventArray::other_element() {
  if (auto read = reading_.look_ahead(kLookahead); !read) return read;
  const std::string_view start = window_.view().substr(0, kLookahead);
  // A stray bracket is not to take all events behind it for its elements.
  if (start.front() == '[' && event_start_.at(start, skip_space(start, 1))) return leave_out(ProblemKind::unparsable_event);
  for (;;) {
    const std::string_view text = reading_.limited_view();
    const Parsed parsed = parse_value(text);
    std::size_t end = parsed.size;
    bool more = parsed.outcome == Outcome::incomplete;
    if (parsed.outcome == Outcome::complete) {
      end = skip_space(text, end);
      more = end == text.size();
    }
    if (more && !reading_.sees_end()) {
      if (reading_.limit_reached()) return leave_out(ProblemKind::unparsable_event);
      if (auto read = window_.more(); !read) return read;
      continue;
    }
    const bool alone = parsed.outcome == Outcome::complete && (end == text.size() || text[end] == ',' || text[end] == ']');
    if (!alone) return leave_out(ProblemKind::unparsable_event, more);
    reading_.add_problem(ProblemKind::not_an_object, 0, parsed.size);
    window_.consume(parsed.size);
    place_ = Place::after_event;
    return {};
  }
}

// A `]` ends the array, but one that an event follows is garbage between two events: the file's other events are not to be lost for it.
Result<void> EventArray::bracket() {
  if (auto read = reading_.look_ahead(kLookahead); !read) return read;
  const std::string_view text = window_.view().substr(0, kLookahead);
  std::size_t next = skip_space(text, 1);
  if (next < text.size() && text[next] == ',') next = skip_space(text, next + 1);
  if (event_start_.at(text, next)) {
    reading_.add_problem(ProblemKind::unparsable_event, 0, kExampleBytes);
    window_.consume(next);
    place_ = Place::after_comma;
    return {};
  }
  // In a bare array that was written in pieces the last comma has nothing behind it on purpose only where the bracket is missing too.
  if (place_ == Place::after_comma) reading_.add_problem(ProblemKind::trailing_comma, 0, kExampleBytes);
  window_.consume(1);
  closed_ = true;
  return {};
}

Result<void> EventArray::leave_out(ProblemKind kind, bool at_end) {
  if (auto read = reading_.look_ahead(kExampleBytes); !read) return read;
  const std::uint64_t offset = window_.offset();
  const std::string example(window_.view().substr(0, kExampleBytes));
  const auto reached = skip_to_event();
  if (!reached) return reached.error();
  if (at_end && *reached == Reached::file_end) {
    kind = ProblemKind::truncated;
    cut_ = true;
  }
  reading_.result.problems.add(kind, offset, example);
  place_ = *reached == Reached::array_end ? Place::after_event : Place::after_comma;
  return {};
}

Result<EventArray::Reached> EventArray::skip_to_event() {
  const std::uint64_t begin = window_.offset();
  std::uint64_t searched = begin + 1;  // no event begins before
  for (;;) {
    const std::string_view view = window_.view();
    const std::uint64_t offset = window_.offset();
    const std::uint64_t end = offset + view.size();
    const std::size_t start = event_start_.find(view, static_cast<std::size_t>(searched - offset), 0);
    if (start < view.size()) {
      window_.consume(start);
      return Reached::event;
    }
    if (window_.at_end()) {
      const std::uint64_t last = std::max(begin, end - std::min<std::uint64_t>(end, kArrayEndBytes));
      const auto bracket = array_end(view.substr(static_cast<std::size_t>(last - offset)), reading_.result.info.bare_array);
      window_.consume(bracket ? static_cast<std::size_t>(last - offset) + *bracket : view.size());
      return bracket ? Reached::array_end : Reached::file_end;
    }
    // A start that is not whole yet may lie in the last bytes.
    searched = std::max(searched, end - std::min<std::uint64_t>(view.size(), EventStart::kLookahead));
    // What was passed over stays in the window as far as it may be looked back at. Half of it at a time, so that little is moved.
    if (view.size() >= 2 * kArrayEndBytes) window_.consume(view.size() - kArrayEndBytes);
    if (auto read = window_.more(); !read) return read.error();
  }
}

Result<void> EventArray::give_out(const Event& event) {
  event_start_.learn(fields_.first_key());
  reading_.facts.learn_event(event);
  ++reading_.result.events;
  if (fields_.noted()) {
    Problems& problems = reading_.result.problems;
    if (fields_.duplicate_key()) problems.add(ProblemKind::duplicate_key, event.offset, event.json);
    if (fields_.integer_beyond_64_bits()) problems.add(ProblemKind::integer_beyond_64_bits, event.offset, event.json);
    if (fields_.bad_time()) problems.add(ProblemKind::bad_time, event.offset, event.json);
    if (fields_.graph_id_beyond_32_bits()) problems.add(ProblemKind::graph_id_beyond_32_bits, event.offset, event.json);
  }
  return reading_.visitor.on_event(event);
}

}  // namespace graphtag::kineto
