// The region table: the metrics of docs/report.md, for the rows that a report shows.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "join/operations.h"

namespace graphtag {

enum class RegionView : std::uint8_t {
  pattern,  // full names with digit components folded: layers.*
  tree,     // full names, inner regions too
  flat,     // full names, as tree, without indentation
};

struct RegionOptions {
  RegionView view = RegionView::pattern;
  std::optional<int> depth;                             // regions with more components are left to their ancestors
  std::vector<std::string> by;                          // annotation keys (or "graph", "stream", "device", "phase", "kind") that split rows
  std::vector<std::pair<std::string, std::string>> where;  // key = value; the same keys
  std::string include, exclude;                         // regular expressions over full region names; empty: all / none
  std::optional<OperationKind> kind;
  std::string comm = "(?i)nccl|all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|broadcast|send_?recv";  // kernel names classed as communication
  std::optional<std::pair<std::int64_t, std::int64_t>> window_ns;  // relative to the trace's first GPU record
  std::uint64_t skip_replays = 0;                       // the first N of each graph
};

struct RegionRow {
  std::string region;
  int level = 0;                                             // components - 1
  std::vector<std::pair<std::string, std::string>> by;       // key -> value as JSON text
  std::optional<std::uint64_t> calls;                        // null outside graphs
  std::optional<double> kernels_per_call;
  std::int64_t total_ns = 0, sum_ns = 0, self_ns = 0, share_ns = 0;
  double busy_frac = 0, wall_frac = 0;                       // both from share
  std::optional<double> mean_ns;
  std::optional<std::int64_t> min_ns, max_ns, p95_ns;
  std::optional<double> p50_ns;
};

struct CopyRow {
  std::string direction;
  std::uint64_t count = 0, bytes = 0;
  std::int64_t sum_ns = 0;
  std::optional<double> gb_per_s;
};

struct RegionReport {
  std::vector<RegionRow> rows;  // by share, descending
  RegionRow unattributed;       // GPU work without a region
  std::vector<CopyRow> copies;
  std::vector<std::string> comm_names;  // kernel names classed as communication
  std::int64_t window_ns = 0, sum_ns = 0, busy_ns = 0, idle_ns = 0, compute_ns = 0, exposed_comm_ns = 0, exposed_copy_ns = 0;
  double coverage_records_frac = 0, coverage_sum_frac = 0, coverage_busy_frac = 0;
  std::uint64_t replays = 0;
};

// Sorts `table.operations` by device and start, in place. Error (invalid_argument): a regular expression that does not compile.
Result<RegionReport> analyze_regions(OperationTable& table, const RegionOptions& options);

}  // namespace graphtag
