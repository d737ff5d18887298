// The plain reader's other half: JSON with the faults that real traces have, made valid.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "trace/kineto/event_start.h"
#include "trace/kineto/strict_parser.h"
#include "trace/problems.h"

namespace graphtag::kineto {

struct Repair {
  Outcome outcome = Outcome::invalid;
  std::size_t size = 0;  // of the broken text, if complete
  // By ProblemKind: where, in the broken text, it first was.
  std::array<std::optional<std::size_t>, kProblemKinds> problems;
};

// What the repair may look at and make.
struct RepairInput {
  std::string_view text;          // from the value's first byte on, through what follows it
  bool is_end = false;            // nothing follows `text`: else running into its end means Outcome::incomplete
  const EventStart& event_start;  // where one seems to begin inside a string, the string has lost its end
  std::size_t output_limit = 0;   // a longer repaired text is Outcome::too_large
};

// An event at the start of the text. `out` is valid JSON if the outcome is complete.
Repair repair_event(const RepairInput& input, std::string& out);
// The value of a member of the outermost object.
Repair repair_value(const RepairInput& input, std::string& out);
// A key with its quotes.
Repair repair_key(const RepairInput& input, std::string& out);

}  // namespace graphtag::kineto
