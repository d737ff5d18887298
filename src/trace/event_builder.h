// Makes an Event, its text and the fields decoded from it: for readers of formats other than Chrome JSON.
//
//   begin(kernel, "gemm"); place(0, 7); time(1500, 250); argument("device", 0); finish(..)
//     ->  {"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":1.500,"dur":0.250,"args":{"device":0}}
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/event.h"

namespace graphtag {

// `text` as a JSON string with its quotes; what is no UTF-8 becomes U+FFFD.
void append_json_string(std::string& out, std::string_view text);
// Decimal microseconds, exact: 1500 -> "1.500".
void append_microseconds(std::string& out, std::int64_t ns);

class EventBuilder {
 public:
  // `name` and `category` are JSON strings with their quotes; `category` may be empty. Must come first.
  void begin(EventKind kind, char phase, std::string_view category_token, std::string_view name_token);
  void place(std::int64_t pid, std::int64_t tid);
  // Of flows.
  void id(std::uint64_t id);
  void bind_to_enclosing();  // a flow end belongs to the slice that encloses it
  // Nothing where the record has no usable time.
  void time(std::optional<std::int64_t> start_ns, std::optional<std::int64_t> duration_ns = std::nullopt);

  // Members of args, in their order. Those that Event has fields for are set by the caller on event().
  void argument(std::string_view key, std::int64_t value);
  void argument(std::string_view key, std::uint64_t value);
  // `json` is a valid JSON value.
  void argument_json(std::string_view key, std::string_view json);
  // Three numbers, as "grid" has them.
  void argument(std::string_view key, std::int64_t x, std::int64_t y, std::int64_t z);

  Event& event() { return event_; }
  // Lives until the next begin().
  const Event& finish(std::uint64_t offset);

 private:
  void key(std::string_view key);
  TextSpan since(std::size_t begin) const {
    return {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(text_.size())};
  }
  void start_argument(std::string_view key);
  void end_argument();

  Event event_;
  std::string text_;
  std::vector<Member> members_;
  TextSpan argument_key_;
  std::size_t argument_begin_ = 0;
};

}  // namespace graphtag
