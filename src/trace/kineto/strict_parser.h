// The plain reader's strict half: one value of JSON (RFC 8259), byte by byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "trace/kineto/event_fields.h"

namespace graphtag::kineto {

enum class Outcome : std::uint8_t {
  complete,
  incomplete,  // the text ends before the value does
  invalid,
  too_large,  // more members than EventFields holds
};

struct Parsed {
  Outcome outcome = Outcome::invalid;
  std::size_t size = 0;  // of the value, if complete
};

// An event at the start of `text`, which goes on behind it; one byte that continues no number must lie behind `text`. If it is complete, `fields`
// waits for finish().
Parsed parse_event(std::string_view text, EventFields& fields);

// Any value at the start of `text`.
Parsed parse_value(std::string_view text);

}  // namespace graphtag::kineto
