#include "analyze/call_sweep.h"

#include <utility>
namespace graphtag {
namespace {

constexpr std::uint32_t kNoCall = 0xffffffff;

std::uint64_t key(std::uint32_t replay, std::uint32_t node) {
  return std::uint64_t{replay} << 32 | node;
}

}  // namespace

CallSweep::CallSweep(const RegionTree& tree, std::size_t replays)
    : tree_(&tree),
      rows_(tree.rows().size()),
      last_calls_(tree.nodes().size()),
      records_left_(replays),
      open_calls_(replays, kNoCall) {}

std::uint32_t CallSweep::open_call(std::uint32_t node, std::uint32_t replay) {
  if (!displaced_.empty()) {
    const auto found = displaced_.find(key(replay, node));
    if (found != displaced_.end()) {
      const std::uint32_t call = found->second;
      displaced_.erase(found);
      return call;
    }
  }
  std::uint32_t call = 0;
  if (free_.empty()) {
    call = static_cast<std::uint32_t>(calls_.size());
    calls_.emplace_back();
  } else {
    call = free_.back();
    free_.pop_back();
  }
  calls_[call] = {{}, node, std::exchange(open_calls_[replay], call)};
  return call;
}

CallSweep::Call& CallSweep::call_of(std::uint32_t node, std::uint32_t replay) {
  LastCall& last = last_calls_[node];
  if (last.replay == replay) return calls_[last.call];
  const std::uint32_t call = open_call(node, replay);
  if (last.replay != kNoReplay) displaced_.emplace(key(last.replay, node), last.call);
  last = {replay, call};
  return calls_[call];
}

void CallSweep::close_replay(std::uint32_t replay) {
  for (std::uint32_t call = std::exchange(open_calls_[replay], kNoCall); call != kNoCall; call = calls_[call].next) {
    const std::uint32_t node = calls_[call].node;
    times_.add(tree_->nodes()[node].row, calls_[call].time.length_ns());
    if (last_calls_[node].replay == replay) {
      last_calls_[node].replay = kNoReplay;
    } else {
      displaced_.erase(key(replay, node));
    }
    free_.push_back(call);
  }
}

void CallSweep::add(std::int64_t start_ns, std::int64_t end_ns, const RecordClass& record_class, std::uint32_t replay,
                    bool is_kernel) {
  const std::int64_t length_ns = end_ns - start_ns;
  add_saturating(rows_[record_class.row].self_ns, length_ns);
  const auto count = [&](std::uint32_t row) {
    RowSums& sums = rows_[row];
    if (std::exchange(sums.device_stamp, device_stamp_) != device_stamp_) sums.total.restart();
    ++sums.records;
    sums.total.add(start_ns, end_ns);
    add_saturating(sums.sum_ns, length_ns);
    return &sums;
  };
  if (record_class.node == kNoNode) count(record_class.row);
  for (std::uint32_t node = record_class.node; node != kNoNode; node = tree_->nodes()[node].parent) {
    const std::uint32_t row = tree_->nodes()[node].row;
    if (row == kNoRow) continue;
    RowSums* sums = count(row);
    if (replay == kNoReplay) continue;
    if (is_kernel) ++sums->kernels_in_calls;
    call_of(node, replay).time.add(start_ns, end_ns);
  }
  if (replay != kNoReplay && --records_left_[replay] == 0) close_replay(replay);
}

}  // namespace graphtag
