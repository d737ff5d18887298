#include "analyze/selection.h"

#include <algorithm>
#include <tuple>

#include "analyze/saturating.h"

namespace graphtag {
namespace {

// The first `count` replays of each graph, by their first records.
std::vector<bool> skipped_replays(const OperationTable& table, std::uint64_t count) {
  std::vector<bool> skipped(table.replays.size());
  if (count == 0) return skipped;
  std::vector<std::int64_t> first_ns(table.replays.size(), INT64_MAX);
  for (const GpuOperation& operation : table.operations) {
    if (operation.replay != kNoReplay) first_ns[operation.replay] = std::min(first_ns[operation.replay], operation.start_ns);
  }
  std::vector<std::uint32_t> order(table.replays.size());
  for (std::uint32_t replay = 0; replay < order.size(); ++replay) order[replay] = replay;
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::tie(table.replays[a].graph, first_ns[a], a) < std::tie(table.replays[b].graph, first_ns[b], b);
  });
  std::uint64_t rank = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    rank = i != 0 && table.replays[order[i]].graph == table.replays[order[i - 1]].graph ? rank + 1 : 0;
    skipped[order[i]] = rank < count;
  }
  return skipped;
}

}  // namespace

Result<Selection> Selection::create(const OperationTable& table, const SelectionOptions& options) {
  if (options.window_ns && options.window_ns->first > options.window_ns->second)
    return Error{ErrorCode::invalid_argument, "--window ends before it starts: give its start, then its end", {}, {}};
  return Selection(table, options);
}

Selection::Selection(const OperationTable& table, const SelectionOptions& options)
    : options_(&options), skipped_(skipped_replays(table, options.skip_replays)) {
  if (table.operations.empty()) {
    if (options.window_ns) window_ = Interval{};
    return;
  }
  base_ns_ = INT64_MAX;
  std::int64_t last_ns = INT64_MIN;
  for (const GpuOperation& operation : table.operations) {
    base_ns_ = std::min(base_ns_, clamp_time_ns(operation.start_ns));
    last_ns = std::max(last_ns, clamp_time_ns(operation.end_ns));
  }
  if (!options.window_ns) return;
  window_ = Interval{base_ns_, base_ns_};
  add_saturating(window_->start_ns, options.window_ns->first);
  if (options.window_ns->second == kWindowOpen) {
    window_->end_ns = std::max(window_->start_ns, last_ns);
  } else {
    add_saturating(window_->end_ns, options.window_ns->second);
  }
}

std::optional<Interval> Selection::clip(const GpuOperation& operation) const {
  const Interval whole{clamp_time_ns(operation.start_ns), clamp_time_ns(operation.end_ns)};
  if (!window_) return whole;
  const Interval inside{std::max(whole.start_ns, window_->start_ns), std::min(whole.end_ns, window_->end_ns)};
  if (inside.start_ns < inside.end_ns) return inside;
  const bool is_instant = whole.start_ns == whole.end_ns;
  const bool is_open = options_->window_ns->second == kWindowOpen;  // then its end is the last record's, which is inside
  if (is_instant && whole.start_ns >= window_->start_ns && (is_open || whole.start_ns < window_->end_ns)) return whole;
  return {};
}

}  // namespace graphtag
