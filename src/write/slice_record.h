// One event of the timeline as it waits for its order: a sort key and a record of bytes.
//
//   key      row (in writing order) | start | end            compared in this order
//   record   SliceRecord | numbers of the strings it uses | encoded event
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/external_sort.h"

namespace graphtag {

enum class RecordKind : std::uint8_t { slice, launch, instant, counter };

struct SliceRecord {
  std::uint64_t graph = 0;        // of operations in a graph
  std::uint64_t correlation = 0;  // of operations and launches; 0: none
  std::uint64_t flow = 0;         // of operations: the arrow that may end here
  std::uint32_t annotation = 0;   // AnnotationId
  std::uint32_t used_strings = 0;
  RecordKind kind = RecordKind::slice;
};

// Signed times in an order that unsigned comparison keeps.
constexpr std::uint64_t kSignBit = std::uint64_t{1} << 63;
constexpr std::uint64_t ordered(std::int64_t time_ns) {
  return static_cast<std::uint64_t>(time_ns) ^ kSignBit;
}
constexpr std::int64_t time_of(std::uint64_t value) {
  return static_cast<std::int64_t>(value ^ kSignBit);
}

// Of slices that start together, the longer comes first where slices nest, so that it is the outer one; the shorter where they do not, so that one
// without duration leaves its row free for the next.
inline SortKey sort_key(std::uint64_t row, std::int64_t start_ns, std::int64_t end_ns, bool nests) {
  return {row, ordered(start_ns), nests ? ~ordered(end_ns) : ordered(end_ns)};
}
inline std::int64_t start_of(const SortKey& key) {
  return time_of(key[1]);
}
inline std::int64_t end_of(const SortKey& key, bool nests) {
  return time_of(nests ? ~key[2] : key[2]);
}

inline void write_record(std::string& out, SliceRecord head, std::span<const std::uint32_t> used, std::string_view body) {
  head.used_strings = static_cast<std::uint32_t>(used.size());
  out.assign(reinterpret_cast<const char*>(&head), sizeof head);
  out.append(reinterpret_cast<const char*>(used.data()), used.size_bytes());
  out.append(body);
}

// `used` is a copy, since records lie at any address.
struct ReadRecord {
  SliceRecord head;
  std::vector<std::uint32_t> used;
  std::string_view body;

  void read(std::string_view bytes) {
    std::memcpy(&head, bytes.data(), sizeof head);
    used.resize(head.used_strings);
    if (!used.empty()) std::memcpy(used.data(), bytes.data() + sizeof head, used.size() * sizeof(std::uint32_t));
    body = bytes.substr(sizeof head + used.size() * sizeof(std::uint32_t));
  }
};

}  // namespace graphtag
