#include "trace/problems.h"

#include "base/utf8.h"

namespace graphtag {
namespace {

constexpr std::size_t kExampleBytes = 80;

// Valid UTF-8 on one line, cut between characters.
std::string make_example(std::string_view text) {
  std::string out;
  std::size_t i = 0;
  while (i < text.size()) {
    const std::size_t length = utf8_length(text, i);
    const std::string_view character = length == 0 ? kReplacementCharacter : text.substr(i, length);
    if (out.size() + character.size() > kExampleBytes) break;
    if (length == 1 && (static_cast<unsigned char>(text[i]) < 0x20 || text[i] == 0x7f)) {
      out += ' ';
    } else {
      out += character;
    }
    i += length == 0 ? 1 : length;
  }
  return out;
}

}  // namespace

std::string_view to_string(ProblemKind kind) {
  switch (kind) {
    case ProblemKind::raw_control_character:
      return "raw-control-character";
    case ProblemKind::unescaped_quote:
      return "unescaped-quote";
    case ProblemKind::bad_escape:
      return "bad-escape";
    case ProblemKind::invalid_utf8:
      return "invalid-utf8";
    case ProblemKind::not_a_number:
      return "not-a-number";
    case ProblemKind::bad_number:
      return "bad-number";
    case ProblemKind::trailing_comma:
      return "trailing-comma";
    case ProblemKind::missing_comma:
      return "missing-comma";
    case ProblemKind::byte_order_mark:
      return "byte-order-mark";
    case ProblemKind::duplicate_key:
      return "duplicate-key";
    case ProblemKind::integer_beyond_64_bits:
      return "integer-beyond-64-bits";
    case ProblemKind::bad_time:
      return "bad-time";
    case ProblemKind::missing_string:
      return "missing-string";
    case ProblemKind::node_cycle:
      return "node-cycle";
    case ProblemKind::deep_ranges:
      return "deep-ranges";
    case ProblemKind::graph_id_beyond_32_bits:
      return "graph-id-beyond-32-bits";
    case ProblemKind::unusable_fact:
      return "unusable-fact";
    case ProblemKind::unparsable_event:
      return "unparsable-event";
    case ProblemKind::not_an_object:
      return "not-an-object";
    case ProblemKind::event_too_large:
      return "event-too-large";
    case ProblemKind::member_too_large:
      return "member-too-large";
    case ProblemKind::truncated:
      return "truncated";
    case ProblemKind::damaged_gzip:
      return "damaged-gzip";
    case ProblemKind::trailing_garbage:
      return "trailing-garbage";
    case ProblemKind::lost_by_recorder:
      return "lost-by-recorder";
  }
  return "unknown";
}

void Problems::add(ProblemKind kind, std::uint64_t offset, std::string_view example, std::uint64_t count) {
  Entry& entry = entries_[static_cast<std::size_t>(kind)];
  if (entry.count == 0) entry.example = make_example(example.substr(0, kExampleBytes));
  if (entry.offsets.size() < kOffsetsKept) entry.offsets.push_back(offset);
  entry.count += count;
}

std::uint64_t Problems::left_out() const {
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < kProblemKinds; ++i) {
    if (leaves_out(static_cast<ProblemKind>(i))) count += entries_[i].count;
  }
  return count;
}

bool Problems::empty() const {
  for (const Entry& entry : entries_) {
    if (entry.count != 0) return false;
  }
  return true;
}

}  // namespace graphtag
