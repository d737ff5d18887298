// Unions, sums and calls of regions: what needs each record at its node and all nodes above.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <vector>

#include "analyze/call_times.h"
#include "analyze/record_classes.h"
#include "analyze/region_tree.h"
#include "analyze/union_length.h"
#include "model/gpu_operation.h"

namespace graphtag {

class CallSweep {
 public:
  struct RowSums {
    std::uint64_t records = 0;  // of the subtree
    UnionLength total;
    std::int64_t sum_ns = 0;
    std::int64_t self_ns = 0;
    std::uint64_t kernels_in_calls = 0;
    std::uint32_t device_stamp = 0;  // of the last record: `total` restarts with each device
  };

  CallSweep(const RegionTree& tree, std::size_t replays);

  // A device begins. Then expect() for each of its records, then add() for each: so a replay's calls are closed with its last record.
  void begin_device() { ++device_stamp_; }
  void expect(std::uint32_t replay) {
    if (replay != kNoReplay) ++records_left_[replay];
  }
  // By start.
  void add(std::int64_t start_ns, std::int64_t end_ns, const RecordClass& record_class, std::uint32_t replay, bool is_kernel);

  // After the last add().
  void finish() { times_.sort(); }

  const RowSums& row(std::uint32_t row) const { return rows_[row]; }
  const CallTimes& times() const { return times_; }

 private:
  struct Call {
    UnionLength time;
    std::uint32_t node;
    std::uint32_t next;  // call of the same replay
  };
  // The open call that a node saw last: nearly always the one that the next record belongs to.
  struct LastCall {
    std::uint32_t replay = kNoReplay;
    std::uint32_t call = 0;
  };
  Call& call_of(std::uint32_t node, std::uint32_t replay);
  std::uint32_t open_call(std::uint32_t node, std::uint32_t replay);
  void close_replay(std::uint32_t replay);

  const RegionTree* tree_;
  std::vector<RowSums> rows_;
  std::vector<LastCall> last_calls_;         // index: node
  std::vector<std::uint32_t> records_left_;  // index: replay
  std::vector<std::uint32_t> open_calls_;    // index: replay -> its newest call, kNoCall
  std::vector<Call> calls_;                  // open ones, and free slots
  std::vector<std::uint32_t> free_;          // slots
  // replay << 32 | node -> open call that is not its node's last one
  boost::unordered_flat_map<std::uint64_t, std::uint32_t> displaced_;
  CallTimes times_;
  std::uint32_t device_stamp_ = 0;
};

}  // namespace graphtag
