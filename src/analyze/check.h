// How much of a trace has names, and why the rest has none: what `graphtag check` shows.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analyze/replay_nodes.h"
#include "analyze/selection.h"
#include "join/operations.h"

namespace graphtag {

struct GraphCheck {
  GraphReplays replays;
  std::string label;                        // the annotation file's, as JSON text; "null" if there is none
  std::uint64_t records = 0;                // GPU records of all replays
  std::uint64_t named = 0;                  // that have an annotation
  std::uint64_t ambiguous = 0;              // named ones whose provenance is no exact one: boundary-approximate, modelled
  std::map<Origin, std::uint64_t> unnamed;  // reason -> records
  std::int64_t sum_ns = 0, named_sum_ns = 0;
};

// What a gate (--min-time) says.
enum class CheckVerdict : std::uint8_t { passed, failed, cannot_judge };
constexpr int exit_code(CheckVerdict verdict) {
  return verdict == CheckVerdict::passed ? 0 : verdict == CheckVerdict::failed ? 1 : 4;
}

struct CheckReport {
  std::vector<GraphCheck> graphs;                        // ascending by exec graph id
  std::uint64_t outside_records = 0, outside_named = 0;  // GPU records outside graphs
  std::int64_t outside_sum_ns = 0, outside_named_sum_ns = 0;
  std::uint64_t replays = 0, short_replays = 0;
  std::int64_t base_ns = 0;  // start of the trace's first GPU record, on the trace's own clock
  std::int64_t sum_ns = 0, busy_ns = 0;
  // Of all GPU records, as in a region report; null where there is nothing to cover.
  std::optional<double> coverage_records_frac, coverage_sum_frac, coverage_busy_frac;
  CheckVerdict verdict = CheckVerdict::passed;  // without a gate: passed
  std::string verdict_reason;                   // in words; empty without a gate
};

struct CheckOptions : SelectionOptions {
  std::optional<double> min_time;  // 0 .. 1: the least coverage_sum_frac that passes
};

// Counts the selected records, clipped to the window. Replays are those that have one, and their nodes those of all their records. Sorts
// `table.operations` in place. Errors (invalid_argument): a key of `where` that nothing in `table` has; a window that ends before it starts. The gate cannot judge where nothing has a name, or records are missing: replays that are short, a trace that is cut
// off or damaged, records without a time.
Result<CheckReport> check_operations(OperationTable& table, const CheckOptions& options);

}  // namespace graphtag
