#include "analyze/instant_sweep.h"

#include <algorithm>

#include "analyze/saturating.h"

namespace graphtag {
namespace {

constexpr std::uint32_t kNoSlot = 0xffffffff;

}  // namespace

// Ends the stretch since the last change of the active set.
void InstantSweep::close_instant(std::int64_t now_ns) {
  const std::int64_t length_ns = now_ns - now_ns_;
  now_ns_ = now_ns;
  if (length_ns == 0 || ends_.empty()) return;
  const std::uint64_t active = ends_.size();
  const auto length = static_cast<std::uint64_t>(length_ns);
  quotients_ += length / active;
  shares_[records_[first_].row] += length % active;
  add_saturating(budget_.busy_ns, length_ns);
  if (active_attributed_ != 0) add_saturating(budget_.attributed_ns, length_ns);
  if (active_by_activity_[static_cast<int>(Activity::compute)] != 0) {
    add_saturating(budget_.compute_ns, length_ns);
  } else if (active_by_activity_[static_cast<int>(Activity::comm)] != 0) {
    add_saturating(budget_.exposed_comm_ns, length_ns);
  } else {
    add_saturating(budget_.exposed_copy_ns, length_ns);
  }
}

void InstantSweep::retire(std::uint32_t slot) {
  const Record& record = records_[slot];
  shares_[record.row] += quotients_;
  --active_by_activity_[static_cast<int>(record.activity)];
  active_attributed_ -= record.attributed ? 1 : 0;
  (record.previous == kNoSlot ? first_ : records_[record.previous].next) = record.next;
  (record.next == kNoSlot ? last_ : records_[record.next].previous) = record.previous;
  free_.push_back(slot);
}

void InstantSweep::advance(std::int64_t now_ns) {
  const auto later = [](const End& a, const End& b) { return a.end_ns > b.end_ns; };
  while (!ends_.empty() && ends_.front().end_ns <= now_ns) {
    close_instant(ends_.front().end_ns);
    std::pop_heap(ends_.begin(), ends_.end(), later);
    retire(ends_.back().slot);
    ends_.pop_back();
  }
  close_instant(now_ns);
}

void InstantSweep::add(std::int64_t start_ns, std::int64_t end_ns, std::uint32_t row, Activity activity, bool attributed) {
  if (ends_.empty()) now_ns_ = start_ns;
  advance(start_ns);
  std::uint32_t slot = 0;
  if (free_.empty()) {
    slot = static_cast<std::uint32_t>(records_.size());
    records_.emplace_back();
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  records_[slot] = {last_, kNoSlot, row, activity, attributed};
  (last_ == kNoSlot ? first_ : records_[last_].next) = slot;
  last_ = slot;
  shares_[row] -= quotients_;
  ++active_by_activity_[static_cast<int>(activity)];
  active_attributed_ += attributed ? 1 : 0;
  ends_.push_back({end_ns, slot});
  std::push_heap(ends_.begin(), ends_.end(), [](const End& a, const End& b) { return a.end_ns > b.end_ns; });
}

void InstantSweep::finish_device() {
  advance(INT64_MAX);
}

}  // namespace graphtag
