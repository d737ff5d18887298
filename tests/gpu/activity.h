// The profiler of the test: CUPTI's activity records of kernels, copies and sets, each with the node id that CUPTI wrote. It shares
// nothing with graphtag.
#pragma once

#include <cstdint>
#include <vector>

namespace gpu_test {

enum class RecordKind : std::uint8_t {
  kernel,
  memcpy,
  memset,
  drivers_own
};  // drivers_own: a kernel that the program did not launch

struct Record {
  RecordKind kind;
  std::uint64_t node_id;      // 0 outside graphs
  std::uint32_t correlation;  // of the launch
  std::uint32_t identity;     // what the test launched it with: see known.h
  std::uint64_t start_ns;
  std::uint64_t end_ns;
};

void start_activity();
// All records so far, and empties them. The GPU must be idle.
std::vector<Record> take_records();
// Records that CUPTI says it lost.
std::uint64_t dropped_records();

}  // namespace gpu_test
