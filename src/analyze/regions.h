// The region table: the metrics of docs/report.md, for the rows that a report shows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyze/selection.h"
#include "join/operations.h"

namespace graphtag {

enum class RegionView : std::uint8_t {
  pattern,  // full names, components that are digits folded: layers.*
  tree,     // full names, each region after its parent
  flat,     // full names, by share
};

struct RegionOptions : SelectionOptions {
  RegionView view = RegionView::pattern;
  std::optional<int> depth;  // regions with more components count as work of their ancestor with so many; at least 1
  // Keys that split rows: annotation keys, or graph, stream, device, phase, kind, rank (these six win over annotation keys of the same name).
  std::vector<std::string> by;
  std::string include,
      exclude;  // regular expressions (Perl's) found in full region names; which rows there are, not what is measured. Empty: all, none
  // Kernel names classed as communication.
  std::string comm =
      "(?i)nccl|rccl|nvshmem|all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|send_?recv|cross_device_reduce|deep_ep";
};

// Name of the row for records whose annotation has no name.
inline constexpr const char* kNoNameRegion = "(unnamed)";
// More components than these stay together as the last one: a bound on what a hostile name costs.
inline constexpr std::size_t kMaxRegionDepth = 128;

struct RegionRow {
  std::uint32_t id = 0;      // a number of this row in its report
  std::uint32_t parent = 0;  // id of the nearest row above it in the tree, its own id if there is none
  std::string region;
  int level = 0;                                        // components - 1
  std::vector<std::pair<std::string, std::string>> by;  // key -> value as JSON text; null where the annotation lacks the key
  std::optional<std::uint64_t> calls;                   // null outside graphs
  std::optional<double> kernels_per_call;
  std::int64_t total_ns = 0;                   // union of the subtree
  std::int64_t sum_ns = 0;                     // of the subtree's records
  std::int64_t self_ns = 0;                    // sum of the records that are directly in the region
  std::int64_t share_ns = 0;                   // of the same records, each instant split equally over what is active
  std::int64_t subtree_share_ns = 0;           // the region's and all its inner regions' share
  std::optional<double> busy_frac, wall_frac;  // both from share; null where nothing is busy, or the window is empty
  std::optional<double> mean_ns, p50_ns;       // per call
  std::optional<std::int64_t> min_ns, max_ns, p95_ns;
};

// One direction of memcpy ("HtoD"; "memcpy" where the profiler does not say), or "memset".
struct CopyRow {
  std::string direction;
  std::uint64_t count = 0, bytes = 0;
  std::int64_t sum_ns = 0;         // inside the window
  std::optional<double> gb_per_s;  // 1e9 bytes a second: all bytes by all time of the copies whose size is known, window or not
};

struct RegionReport {
  RegionView view = RegionView::pattern;
  std::vector<std::string> by;  // as asked for
  std::vector<RegionRow> rows;  // by share, descending; RegionView::tree: in tree order, siblings by subtree_share_ns, descending
  RegionRow unattributed;       // GPU work without an annotation
  std::vector<CopyRow> copies;  // by time, descending
  std::vector<std::string> comm_names;                  // kernel names classed as communication, sorted
  std::int64_t base_ns = 0;                             // start of the trace's first GPU record, on the trace's own clock
  std::int64_t window_start_ns = 0, window_end_ns = 0;  // relative to base_ns; of all devices
  std::uint64_t records = 0, devices = 0;               // selected
  std::int64_t window_ns = 0, sum_ns = 0, busy_ns = 0, idle_ns = 0, compute_ns = 0, exposed_comm_ns = 0, exposed_copy_ns = 0;
  std::optional<double> coverage_records_frac, coverage_sum_frac, coverage_busy_frac;  // null where there is nothing to cover
  std::uint64_t replays = 0;                                                           // with a selected record
  // Of the whole trace: replays that show fewer nodes than expected (GraphReplays), and such whose records have no node ids.
  std::uint64_t short_replays = 0, graph_level_replays = 0;
};

// Selects records (where, kind, skip_replays), clips them to the window, and measures them as if the trace held nothing else. Sorts
// `table.operations` in place; beside them memory goes to rows, 8 bytes a call, and 36 bytes a record that is active at one time.
// Errors (invalid_argument): a regular expression that does not compile or costs too much; a depth below 1; a window that ends before it starts; a key
// of by or where that nothing in the trace has.
Result<RegionReport> analyze_regions(OperationTable& table, const RegionOptions& options);

}  // namespace graphtag
