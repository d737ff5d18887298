// What the printed reports have in common: warnings about the trace, the choice of columns, the envelope of JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "join/operations.h"
#include "write/report_style.h"

namespace graphtag {

// What reports found out that makes their numbers doubtful.
struct Doubts {
  std::uint64_t replays = 0, short_replays = 0, graph_level_replays = 0;
  bool has_records = false;   // the trace
  bool has_selected = false;  // of them some are selected
  bool has_names = false;     // some record has an annotation
  bool has_reasons = false;   // the report itself says why records have none
};

// The caller's warnings, then those about the trace.
std::vector<ReportWarning> all_warnings(const OperationTable& table, const Doubts& doubts, const ReportContext& context);

// "trace", "annotations", "GPU", "problems" lines, and one line a warning after `lines`.
std::vector<Line> header_lines(const OperationTable& table, const ReportContext& context, std::vector<Line> lines,
                               const std::vector<ReportWarning>& warnings);

// [{"kind":, "count":, "first_offset":, "example":}], one a kind of problem.
Json problems_json(const Problems& problems);

// {"schema":, "tool":, "inputs":, "base_ns":, "warnings":, "totals": with bad_events and problems}: the caller adds the rest. `base_ns` as in RegionReport.
Json json_envelope(const std::string& schema, const OperationTable& table, const ReportContext& context,
                   const std::vector<ReportWarning>& warnings, std::int64_t base_ns);

// "coverage" of the totals: fractions, or null where there is nothing to be a fraction of.
Json coverage_json(std::optional<double> records, std::optional<double> sum, std::optional<double> busy);

// Index of the column that a user calls `name`: its key, its key without _ns or _frac, or its title. Error: lists the columns.
Result<std::size_t> find_column(const std::vector<Column>& columns, const std::string& name, const char* option);

struct SortKey {
  std::size_t column = 0;
  bool ascending = false;
};
// "COLUMN", "COLUMN:asc", "COLUMN:desc"; without a direction numbers descend and text ascends.
Result<SortKey> parse_sort(const std::vector<Column>& columns, const std::string& text);
// Whether `a` comes before `b`. What is not known comes last either way.
bool cell_before(const Cell& a, const Cell& b, bool ascending);

// A row of the footer: a label, and the cells of some columns, by key.
TableRow footer_row(const std::vector<Column>& columns, std::string label,
                    const std::vector<std::pair<const char*, Cell>>& cells = {});

// Keeps the columns of style.columns, in that order.
Result<void> choose_columns(Table& table, const std::vector<std::string>& names);

// The formats but JSON.
Rendered render_text(const Table& table, const ReportStyle& style);

// "38.5%", "n/a".
std::string percent(std::optional<double> fraction);
// "1.234 ms": the fitting unit.
std::string duration(std::int64_t time_ns);

}  // namespace graphtag
