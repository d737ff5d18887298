// What a recording counts. Written by the writer's thread unless said, read by any.
#pragma once

#include <atomic>
#include <cstdint>

namespace graphtag {

class RecordCount {
 public:
  void add(std::uint64_t more = 1) noexcept {
    value_.store(value_.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
  }
  void set(std::uint64_t value) noexcept { value_.store(value, std::memory_order_relaxed); }
  operator std::uint64_t() const noexcept {
    return value_.load(std::memory_order_relaxed);
  }  // NOLINT(google-explicit-constructor)

 private:
  std::atomic<std::uint64_t> value_{0};  // of one writer
};

struct RecordCounts {
  RecordCount kernels, memcpys, memsets, api_calls, overheads, ranges;
  RecordCount graph_operations, graph_named, other_named;
  RecordCount bad_times, dropped_by_cupti, buffers_refused, buffers_kept, ranges_dropped;
  RecordCount records_unknown, records_lost, write_errors;
  RecordCount bytes_written, bytes_deleted, segments_deleted;
};

// Calls `use` with each count and its name in gt_record_stats.
template <typename Counts, typename Use>
void for_each_count(Counts& counts, Use use) {
  use("kernels", counts.kernels);
  use("memcpys", counts.memcpys);
  use("memsets", counts.memsets);
  use("api_calls", counts.api_calls);
  use("overheads", counts.overheads);
  use("ranges", counts.ranges);
  use("graph_operations", counts.graph_operations);
  use("graph_named", counts.graph_named);
  use("other_named", counts.other_named);
  use("bad_times", counts.bad_times);
  use("dropped_by_cupti", counts.dropped_by_cupti);
  use("buffers_refused", counts.buffers_refused);
  use("buffers_kept", counts.buffers_kept);
  use("ranges_dropped", counts.ranges_dropped);
  use("records_unknown", counts.records_unknown);
  use("records_lost", counts.records_lost);
  use("write_errors", counts.write_errors);
  use("bytes_written", counts.bytes_written);
  use("bytes_deleted", counts.bytes_deleted);
  use("segments_deleted", counts.segments_deleted);
}

}  // namespace graphtag
