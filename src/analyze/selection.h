// Which records are measured, and what part of each: --kind, --skip-replays, --window. (--where is decided once a class of records: RecordClasses.)
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "join/operations.h"

namespace graphtag {

inline constexpr std::int64_t kWindowOpen = INT64_MAX;

struct SelectionOptions {
  // key = value, all of which must hold: annotation keys, or graph, stream, device, phase, kind, rank (these six win over annotation keys of the same
  // name). Of a string the value is its text, of other JSON values their JSON.
  std::vector<std::pair<std::string, std::string>> where;
  std::optional<OperationKind> kind;
  // Start and end relative to the trace's first GPU record; kWindowOpen: to the end of its last one.
  std::optional<std::pair<std::int64_t, std::int64_t>> window_ns;
  std::uint64_t skip_replays = 0;  // the first N of each graph
};

struct Interval {
  std::int64_t start_ns = 0, end_ns = 0;  // half-open, times clamped as by clamp_time_ns
};

class Selection {
 public:
  // `options` and `table` must live as long. Error (invalid_argument): the window ends before it starts.
  static Result<Selection> create(const OperationTable& table, const SelectionOptions& options);

  // Whether --kind and --skip-replays let it through.
  bool passes(const GpuOperation& operation) const {
    if (options_->kind && operation.kind != *options_->kind) return false;
    return operation.replay == kNoReplay || !skipped_[operation.replay];
  }
  // The part inside the window, if any.
  std::optional<Interval> clip(const GpuOperation& operation) const;

  std::int64_t base_ns() const { return base_ns_; }  // start of the trace's first GPU record; 0 if it has none
  // On the trace's own clock; nothing: from the first start to the last end of each device.
  const std::optional<Interval>& window() const { return window_; }

 private:
  Selection(const OperationTable& table, const SelectionOptions& options);

  const SelectionOptions* options_;
  std::vector<bool> skipped_;  // index: replay
  std::int64_t base_ns_ = 0;
  std::optional<Interval> window_;
};

}  // namespace graphtag
