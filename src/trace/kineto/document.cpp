#include "trace/kineto/document.h"

#include <algorithm>
#include <utility>

#include "trace/kineto/repair.h"
#include "trace/kineto/scan.h"
#include "trace/kineto/strict_parser.h"

namespace graphtag::kineto {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::string_view kEventsKey = "\"traceEvents\"";
constexpr std::size_t kKeysMax = 4096;

// Whether the events begin at `text[i]`: `"traceEvents": [`.
bool events_begin(std::string_view text, std::size_t i) {
  if (text.substr(i, kEventsKey.size()) != kEventsKey) return false;
  i = skip_space(text, i + kEventsKey.size());
  if (i >= text.size() || text[i] != ':') return false;
  i = skip_space(text, i + 1);
  return i < text.size() && text[i] == '[';
}

}  // namespace

// A member at the start of the window.
struct Document::Member {
  std::string_view key;  // with quotes
  std::string_view value;
  std::size_t value_at = 0;  // in the window
  std::size_t size = 0;      // of the member in the window
  bool is_events = false;    // `size` goes through the `[`
  Repair key_repair, value_repair;
  std::string repaired_key, repaired_value;
};

Error Document::error(std::string message) const {
  return {ErrorCode::malformed, std::move(message), path_, window_.offset()};
}

Result<void> Document::read() {
  if (auto read = reading_.look_ahead(kByteOrderMark.size()); !read) return read;
  if (window_.view().substr(0, kByteOrderMark.size()) == kByteOrderMark) {
    reading_.add_problem(ProblemKind::byte_order_mark, 0, kByteOrderMark.size());
    window_.consume(kByteOrderMark.size());
  }
  if (auto skipped = reading_.skip_space(); !skipped) return skipped;
  if (window_.view().empty()) return error("the file is empty; record the trace again");
  const char first = window_.view().front();
  if (first != '{' && first != '[') return error("no JSON begins here; a trace as Chrome JSON is needed");
  window_.consume(1);
  auto read = first == '{' ? object() : array();
  return read ? end() : read;
}

Result<void> Document::array() {
  reading_.result.info.bare_array = true;
  if (auto begun = begin_events(); !begun) return begun;
  // Writers of bare arrays may stop at any time: a missing bracket is no fault.
  return events_.read();
}

Result<void> Document::object() {
  bool comma = true;  // one stands before, or none is needed
  bool first = true;
  while (!closed_) {
    if (auto skipped = reading_.skip_space(); !skipped) return skipped;
    if (window_.view().empty()) {
      if (!after_events_) return error("the file ends before \"traceEvents\"; record or copy it again");
      return events_.cut() ? Result<void>{} : reading_.report(ProblemKind::truncated);
    }
    const char c = window_.view().front();
    Result<void> reported;
    if (c == '}') {
      if (comma && !first) reported = reading_.report(ProblemKind::trailing_comma);
      if (!after_events_) return error("a JSON object without \"traceEvents\"; a trace as Chrome JSON is needed");
      window_.consume(1);
      closed_ = true;
    } else if (c == ',') {
      if (comma) reported = reading_.report(ProblemKind::trailing_comma);
      comma = true;
      window_.consume(1);
    } else {
      if (!comma) reported = reading_.report(ProblemKind::missing_comma);
      comma = first = false;
      if (reported) reported = member();
    }
    if (!reported) return reported;
  }
  return {};
}

Result<void> Document::member() {
  Member member;
  const auto outcome = read_member(member);
  if (!outcome) return outcome.error();
  if (*outcome == Outcome::complete && member.is_events && !after_events_) {
    reading_.add_problems(member.key_repair);
    window_.consume(member.size);
    if (auto begun = begin_events(); !begun) return begun;
    if (auto read = events_.read(); !read) return read;
    after_events_ = true;
    return {};
  }
  if (*outcome == Outcome::complete && !member.is_events) {
    auto given = give_out(member);
    window_.consume(member.size);
    return given;
  }
  if (*outcome == Outcome::incomplete) {
    if (after_events_) reading_.add_problem(ProblemKind::truncated, 0, kExampleBytes);
    window_.consume(window_.view().size());
    closed_ = after_events_;
    return {};
  }
  // Events cannot stand in two places of the outcome: a second array of them is left out too.
  auto reported = reading_.report(*outcome == Outcome::too_large ? ProblemKind::member_too_large : ProblemKind::unparsable_event);
  return reported ? skip_member() : reported;
}

// `incomplete`: the file ends in it.
Result<Outcome> Document::read_member(Member& member) {
  enum class Part { key, value };
  const auto fits_behind = [](char c) { return c == ',' || c == '}' || c == '"'; };
  for (;; member = {}) {
    const std::string_view text = reading_.limited_view();
    const bool sees_end = reading_.sees_end();
    const std::size_t limit = reading_.options.event_limit_bytes;
    // One part at `text[at]`: as it is, or repaired.
    const auto read_part = [&](Part part, std::size_t at, Repair& repair, std::string& repaired,
                               std::string_view& token) -> Parsed {
      Parsed parsed = parse_value(text.substr(at));
      if (parsed.outcome == Outcome::complete) {
        token = text.substr(at, parsed.size);
        const std::size_t next = skip_space(text, at + parsed.size);
        if (next == text.size() && !sees_end) return {Outcome::incomplete, 0};
        const bool fits = next == text.size() || (part == Part::key ? text[next] == ':' : fits_behind(text[next]));
        if (fits) return parsed;
      } else if (parsed.outcome == Outcome::incomplete && !sees_end) {
        return parsed;
      }
      const RepairInput input{text.substr(at), sees_end, none_, limit};
      repair = part == Part::key ? repair_key(input, repaired) : repair_value(input, repaired);
      token = repaired;
      if (repair.outcome == Outcome::invalid && sees_end && at + repair.size >= text.size()) return {Outcome::incomplete, 0};
      // With the string's 0: a number at the end of a text might go on behind it.
      const std::string_view whole(repaired.c_str(), repaired.size() + 1);
      if (repair.outcome == Outcome::complete && parse_value(whole).outcome != Outcome::complete) return {Outcome::invalid, 0};
      return {repair.outcome, repair.size};
    };

    Outcome outcome = Outcome::invalid;
    if (text.front() == '"') {
      const Parsed key = read_part(Part::key, 0, member.key_repair, member.repaired_key, member.key);
      outcome = key.outcome;
      if (outcome == Outcome::complete) {
        std::size_t at = skip_space(text, key.size);
        if (at < text.size() && text[at] == ':') at = skip_space(text, at + 1);
        if (at == text.size()) {
          outcome = Outcome::incomplete;
        } else if (member.key == kEventsKey && text[at] == '[') {
          member.is_events = true;
          member.size = at + 1;
          return Outcome::complete;
        } else {
          const Parsed value = read_part(Part::value, at, member.value_repair, member.repaired_value, member.value);
          outcome = value.outcome;
          member.value_at = at;
          member.size = at + value.size;
          if (outcome == Outcome::complete) {
            const std::size_t next = skip_space(text, member.size);
            if (next < text.size() && !fits_behind(text[next])) outcome = Outcome::invalid;
            if (next == text.size() && !sees_end) outcome = Outcome::incomplete;
          }
        }
      }
    }
    if (outcome != Outcome::incomplete || sees_end) return outcome;
    if (reading_.limit_reached()) return Outcome::too_large;
    if (auto read = window_.more(); !read) return read.error();
  }
}

Result<void> Document::give_out(const Member& member) {
  reading_.add_problems(member.key_repair);
  reading_.add_problems(member.value_repair, member.value_at);
  const std::string_view key = member.key.substr(1, member.key.size() - 2);
  std::string storage;
  const std::string_view meaning = unescape(member.key, storage);
  if (keys_.count(std::string(meaning)) != 0) {
    reading_.add_problem(ProblemKind::duplicate_key, 0, member.size);
  } else if (keys_.size() < kKeysMax && meaning.size() <= 256) {
    keys_.emplace(meaning);
  }
  if (!reading_.facts.learn_member(meaning, member.value)) reading_.add_problem(ProblemKind::unusable_fact, 0, member.size);
  return reading_.visitor.on_member(key, member.value, after_events_);
}

// Passes over a member that cannot be given out, however long, to the comma or brace behind it. If its quotes are broken the end may be missed, so
// the beginning of the events stops it too.
Result<void> Document::skip_member() {
  constexpr std::size_t kLookahead = 256;
  int depth = 0;
  bool in_string = false;
  for (;;) {
    const std::string_view view = window_.view();
    const std::size_t stop = window_.at_end() ? view.size() : view.size() - std::min(view.size(), kLookahead);
    std::size_t i = 0;
    for (; i < stop; ++i) {
      const char c = view[i];
      if (c == '"' && !after_events_ && events_begin(view.substr(0, i + kLookahead), i)) {
        window_.consume(i);
        return {};
      }
      if (in_string) {
        if (c == '\\') {
          ++i;
        } else if (c == '"') {
          in_string = false;
        }
        continue;
      }
      if (depth == 0 && (c == ',' || c == '}')) {
        window_.consume(i);
        return {};
      }
      if (c == '"') in_string = true;
      if (c == '{' || c == '[') ++depth;
      if ((c == '}' || c == ']') && depth > 0) --depth;
    }
    window_.consume(std::min(i, view.size()));
    if (window_.at_end()) return {};
    if (auto read = window_.more(); !read) return read;
  }
}

Result<void> Document::begin_events() {
  reading_.facts.conclude(false);
  return reading_.visitor.on_events_begin(reading_.result.info);
}

Result<void> Document::end() {
  if (auto skipped = reading_.skip_space(); !skipped) return skipped;
  if (!window_.view().empty()) {
    if (auto reported = reading_.report(ProblemKind::trailing_garbage); !reported) return reported;
  }
  // To its end, so that a gzip file's checksum is looked at.
  while (!window_.at_end() || !window_.view().empty()) {
    window_.consume(window_.view().size());
    if (auto read = window_.more(); !read) return read;
  }
  reading_.facts.conclude(true);
  reading_.result.content_bytes = window_.offset();
  return {};
}

}  // namespace graphtag::kineto
