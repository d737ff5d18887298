// What was wrong with a trace, counted by kind. Nothing is passed over silently.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace graphtag {

// Spelled in reports as in to_string ("raw-control-character").
enum class ProblemKind : std::uint8_t {
  // repaired: the event was kept
  raw_control_character,
  unescaped_quote,
  bad_escape,  // also a lone surrogate
  invalid_utf8,
  not_a_number,    // NaN, Infinity: written as null
  bad_number,      // 01, +1, .5, 1.
  trailing_comma,  // a comma with nothing before or after it
  missing_comma,   // between two events
  byte_order_mark,
  // noted: the event was kept as it is
  duplicate_key,
  integer_beyond_64_bits,
  bad_time,                 // no finite ts where one is needed, or a negative duration: not counted as GPU work
  missing_string,           // a database names a text that it does not have
  node_cycle,               // a graph node is said to be a copy of itself, by way of others
  deep_ranges,              // more ranges open at once on a thread than are followed
  graph_id_beyond_32_bits,  // no graph has such an id: counted as outside graphs
  unusable_fact,            // a member that tells host, rank, devices or the clock's base, in a form that says nothing
  // left out
  unparsable_event,
  not_an_object,
  event_too_large,
  member_too_large,
  truncated,         // the file ends in the middle
  damaged_gzip,      // what could be decompressed was read
  trailing_garbage,  // after the end of the JSON text
  lost_by_recorder,  // what graphtag's own recorder says that it could not write
};
constexpr std::size_t kProblemKinds = 25;
std::string_view to_string(ProblemKind kind);
// Whether an event with this problem is left out ("bad" in reports).
constexpr bool leaves_out(ProblemKind kind) {
  return kind >= ProblemKind::unparsable_event;
}

// Counts are of events (or members) with the problem, not of its places in them. The offset is that of the first place; of a
// noted problem and of one that leaves an event out it is the event's.
class Problems {
 public:
  static constexpr std::size_t kOffsetsKept = 16;  // of each kind; the count goes on

  struct Entry {
    std::uint64_t count = 0;
    std::vector<std::uint64_t> offsets;  // the first ones, in bytes of decompressed content
    std::string example;                 // the start of the first, valid UTF-8, at most 80 bytes
  };

  void add(ProblemKind kind, std::uint64_t offset, std::string_view example, std::uint64_t count = 1);
  const Entry& operator[](ProblemKind kind) const { return entries_[static_cast<std::size_t>(kind)]; }
  // Events (and members) left out; a repaired one is not among them.
  std::uint64_t left_out() const;
  bool empty() const;

 private:
  std::array<Entry, kProblemKinds> entries_;
};

}  // namespace graphtag
