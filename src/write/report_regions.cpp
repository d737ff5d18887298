#include "write/report_regions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "analyze/region_order.h"
#include "write/report_parts.h"

namespace graphtag {
namespace {

constexpr std::size_t kRowsForPeople = 30;
constexpr std::size_t kCommNamesShown = 3;

template <typename T>
Cell optional_cell(const std::optional<T>& value) {
  if (!value) return {};
  if constexpr (std::is_integral_v<T>) {
    return static_cast<std::int64_t>(*value);
  } else {
    return *value;
  }
}

// A column, and what it holds of a row.
struct RegionColumn {
  Column column;
  Cell (*cell)(const RegionRow&);
};

// In the order in which JSON, TSV and CSV have them; after `region` come the keys of --by.
const std::vector<RegionColumn>& metric_columns() {
  static const std::vector<RegionColumn> kColumns = {
      {{"calls", "calls", Quantity::count, 0, 4}, [](const RegionRow& row) { return optional_cell(row.calls); }},
      {{"kernels_per_call", "kernels/call", Quantity::real, 0, 7},
       [](const RegionRow& row) { return optional_cell(row.kernels_per_call); }},
      {{"total_ns", "total", Quantity::time_ns, 1, 2}, [](const RegionRow& row) { return Cell{row.total_ns}; }},
      {{"sum_ns", "sum", Quantity::time_ns, 1, 8}, [](const RegionRow& row) { return Cell{row.sum_ns}; }},
      {{"self_ns", "self", Quantity::time_ns, 1, 11}, [](const RegionRow& row) { return Cell{row.self_ns}; }},
      {{"share_ns", "share", Quantity::time_ns, 1, 12}, [](const RegionRow& row) { return Cell{row.share_ns}; }},
      {{"busy_frac", "%busy", Quantity::fraction, 0, 3}, [](const RegionRow& row) { return optional_cell(row.busy_frac); }},
      {{"wall_frac", "%wall", Quantity::fraction, 0, 0}, [](const RegionRow& row) { return optional_cell(row.wall_frac); }},
      {{"mean_ns", "mean", Quantity::time_ns, 2, 6}, [](const RegionRow& row) { return optional_cell(row.mean_ns); }},
      {{"p50_ns", "p50", Quantity::time_ns, 2, 1}, [](const RegionRow& row) { return optional_cell(row.p50_ns); }},
      {{"p95_ns", "p95", Quantity::time_ns, 2, 5}, [](const RegionRow& row) { return optional_cell(row.p95_ns); }},
      {{"min_ns", "min", Quantity::time_ns, 2, 10}, [](const RegionRow& row) { return optional_cell(row.min_ns); }},
      {{"max_ns", "max", Quantity::time_ns, 2, 9}, [](const RegionRow& row) { return optional_cell(row.max_ns); }}};
  return kColumns;
}

// An annotation key that is called like a column gets a name of its own.
std::string by_column_key(const std::string& key) {
  const auto& metrics = metric_columns();
  const bool taken = key == "region" || std::any_of(metrics.begin(), metrics.end(),
                                                    [&](const RegionColumn& metric) { return metric.column.key == key; });
  return taken ? "annotation." + key : key;
}

class RegionPrinter {
 public:
  RegionPrinter(const RegionReport& report, const OperationTable& table, const ReportContext& context, const ReportStyle& style)
      : report_(report),
        table_(table),
        context_(context),
        style_(style),
        for_people_(style.format == TableFormat::table || style.format == TableFormat::md) {}

  Result<Rendered> render();

 private:
  void make_columns();
  Result<void> choose_rows();
  Cell cell_of(const RegionRow& row, std::size_t column) const;
  void fill_rows();
  std::vector<Line> summary() const;
  void fill_footer();
  void fill_notes();
  std::string json(const std::vector<ReportWarning>& warnings) const;
  Table copies() const;

  const RegionReport& report_;
  const OperationTable& table_;
  const ReportContext& context_;
  const ReportStyle& style_;
  const bool for_people_;
  Table printed_;
  std::vector<RegionRow> rows_;  // that are shown
};

void RegionPrinter::make_columns() {
  printed_.columns = {{"region", "region", Quantity::text, 0, 0}};
  const std::size_t by = report_.by.size();
  for (std::size_t i = 0; i < by; ++i)
    printed_.columns.push_back({by_column_key(report_.by[i]), report_.by[i], Quantity::text, 0, 0});
  for (const RegionColumn& metric : metric_columns()) printed_.columns.push_back(metric.column);
}

Cell RegionPrinter::cell_of(const RegionRow& row, std::size_t column) const {
  if (column == 0) return row.region;
  if (column <= row.by.size()) return JsonText{row.by[column - 1].second};
  return metric_columns()[column - 1 - row.by.size()].cell(row);
}

Result<void> RegionPrinter::choose_rows() {
  const bool is_tree = report_.view == RegionView::tree;
  const auto weight = [is_tree](const RegionRow& row) { return is_tree ? row.subtree_share_ns : row.share_ns; };
  const double least_ns = style_.min_percent / 100 * static_cast<double>(report_.busy_ns);
  for (const RegionRow& row : report_.rows) {
    if (static_cast<double>(weight(row)) >= least_ns) rows_.push_back(row);
  }
  if (!style_.sort.empty()) {
    Result<SortKey> key = parse_sort(printed_.columns, style_.sort);
    if (!key) return std::move(key).error();
    sort_rows(rows_, report_.view, [&](const RegionRow& a, const RegionRow& b) {
      return cell_before(cell_of(a, key->column), cell_of(b, key->column), key->ascending);
    });
  }
  const std::size_t top = style_.top.value_or(for_people_ ? kRowsForPeople : kAllRows);
  if (rows_.size() <= top) return {};
  if (is_tree) {
    // The heaviest subtrees, so that no row is shown without the rows above it.
    std::vector<std::size_t> order(rows_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return std::pair(-weight(rows_[a]), rows_[a].level) < std::pair(-weight(rows_[b]), rows_[b].level);
    });
    order.resize(top);
    std::sort(order.begin(), order.end());
    std::vector<RegionRow> kept;
    kept.reserve(top);
    for (const std::size_t i : order) kept.push_back(std::move(rows_[i]));
    rows_ = std::move(kept);
  }
  rows_.resize(top);
  return {};
}

void RegionPrinter::fill_rows() {
  std::vector<std::pair<std::uint32_t, std::size_t>> above;  // open rows of the tree: id -> index of row
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const RegionRow& row = rows_[i];
    TableRow made;
    for (std::size_t column = 0; column < printed_.columns.size(); ++column) made.cells.push_back(cell_of(row, column));
    if (report_.view == RegionView::tree) {
      while (!above.empty() && above.back().first != row.parent) above.pop_back();
      made.indent = static_cast<int>(above.size());
      if (!above.empty()) made.label = row.region.substr(rows_[above.back().second].region.size() + 1);
      above.emplace_back(row.id, i);
    }
    printed_.rows.push_back(std::move(made));
  }
}

std::vector<Line> RegionPrinter::summary() const {
  const auto of_window = [&](std::int64_t part_ns) {
    return percent(report_.window_ns > 0 ? std::optional(static_cast<double>(part_ns) / static_cast<double>(report_.window_ns))
                                         : std::nullopt);
  };
  const auto offset = [](std::int64_t time_ns) { return (time_ns < 0 ? "-" : "+") + duration(std::abs(time_ns)); };
  std::vector<Line> lines;
  lines.push_back({fmt::format("window: {} ({} to {}{}); {} replays, {} GPU records", duration(report_.window_ns),
                               offset(report_.window_start_ns), offset(report_.window_end_ns),
                               report_.devices > 1 ? fmt::format(", sum of {} devices", report_.devices) : "", report_.replays,
                               report_.records),
                   Tone::plain});
  lines.push_back({fmt::format("busy: {} of the window; compute {} + exposed communication {} + exposed copies {} + idle {}",
                               of_window(report_.busy_ns), of_window(report_.compute_ns), of_window(report_.exposed_comm_ns),
                               of_window(report_.exposed_copy_ns), of_window(report_.idle_ns)),
                   Tone::plain});
  lines.push_back({fmt::format("named: {} of records, {} of their time, {} of busy time", percent(report_.coverage_records_frac),
                               percent(report_.coverage_sum_frac), percent(report_.coverage_busy_frac)),
                   Tone::plain});
  return lines;
}

// Rows that make %wall sum up to 100.
void RegionPrinter::fill_footer() {
  std::int64_t others_ns = report_.busy_ns - report_.unattributed.share_ns;
  for (const RegionRow& row : rows_) others_ns -= row.share_ns;
  const auto of = [](std::int64_t part_ns, std::int64_t whole_ns) -> Cell {
    if (whole_ns <= 0) return {};
    return static_cast<double>(part_ns) / static_cast<double>(whole_ns);
  };
  const std::size_t hidden = report_.rows.size() - rows_.size();
  if (hidden != 0 || others_ns != 0) {
    printed_.footer.push_back(
        footer_row(printed_.columns, hidden == 0 ? "others" : fmt::format("others ({} row{})", hidden, hidden == 1 ? "" : "s"),
                   {{"share_ns", others_ns},
                    {"busy_frac", of(others_ns, report_.busy_ns)},
                    {"wall_frac", of(others_ns, report_.window_ns)}}));
  }
  const RegionRow& unattributed = report_.unattributed;
  printed_.footer.push_back(footer_row(printed_.columns, "unattributed",
                                       {{"total_ns", unattributed.total_ns},
                                        {"sum_ns", unattributed.sum_ns},
                                        {"self_ns", unattributed.self_ns},
                                        {"share_ns", unattributed.share_ns},
                                        {"busy_frac", optional_cell(unattributed.busy_frac)},
                                        {"wall_frac", optional_cell(unattributed.wall_frac)}}));
  printed_.footer.push_back(footer_row(printed_.columns, "idle",
                                       {{"total_ns", report_.idle_ns}, {"wall_frac", of(report_.idle_ns, report_.window_ns)}}));
}

void RegionPrinter::fill_notes() {
  if (!report_.comm_names.empty()) {
    std::string names;
    for (std::size_t i = 0; i < std::min(kCommNamesShown, report_.comm_names.size()); ++i)
      names += (i == 0 ? "" : ", ") + report_.comm_names[i];
    if (report_.comm_names.size() > kCommNamesShown)
      names += fmt::format(" and {} more (--format json lists all)", report_.comm_names.size() - kCommNamesShown);
    printed_.notes.push_back({"classed as communication (--comm): " + names, Tone::plain});
  }
  if (style_.format == TableFormat::tsv || style_.format == TableFormat::csv) {
    printed_.notes.push_back({fmt::format("unattributed: {} of the window; idle: {}", percent(report_.unattributed.wall_frac),
                                          duration(report_.idle_ns)),
                              Tone::plain});
  }
}

Table RegionPrinter::copies() const {
  Table table;
  table.columns = {{"direction", "copies", Quantity::text, 0, 0},
                   {"count", "count", Quantity::count, 0, 0},
                   {"bytes", "", Quantity::bytes, 0, 0},
                   {"sum_ns", "sum", Quantity::time_ns, 1, 0},
                   {"gb_per_s", "GB/s", Quantity::real, 0, 0}};
  for (const CopyRow& copy : report_.copies) {
    table.rows.push_back({{copy.direction, static_cast<std::int64_t>(copy.count), static_cast<std::int64_t>(copy.bytes),
                           copy.sum_ns, optional_cell(copy.gb_per_s)},
                          0,
                          {}});
  }
  return table;
}

std::string RegionPrinter::json(const std::vector<ReportWarning>& warnings) const {
  Json root = json_envelope("graphtag.report/1", table_, context_, warnings, report_.base_ns);
  Json& totals = root["totals"];
  totals["window_ns"] = report_.window_ns;
  totals["window_start_ns"] = report_.window_start_ns;
  totals["window_end_ns"] = report_.window_end_ns;
  totals["sum_ns"] = report_.sum_ns;
  totals["busy_ns"] = report_.busy_ns;
  totals["idle_ns"] = report_.idle_ns;
  totals["compute_ns"] = report_.compute_ns;
  totals["exposed_comm_ns"] = report_.exposed_comm_ns;
  totals["exposed_copy_ns"] = report_.exposed_copy_ns;
  totals["unattributed_share_ns"] = report_.unattributed.share_ns;
  totals["coverage"] = coverage_json(report_.coverage_records_frac, report_.coverage_sum_frac, report_.coverage_busy_frac);
  totals["records"] = report_.records;
  totals["devices"] = report_.devices;
  totals["replays"] = report_.replays;
  totals["short_replays"] = report_.short_replays;
  root["rows"] = table_rows_json(printed_);
  root["copies"] = table_rows_json(copies());
  root["comm_names"] = report_.comm_names;
  return dump_json(root) + "\n";
}

Result<Rendered> RegionPrinter::render() {
  make_columns();
  if (Result<void> chosen = choose_rows(); !chosen) return std::move(chosen).error();
  fill_rows();
  fill_footer();
  std::vector<std::string> columns = style_.columns;
  if (columns.empty() && for_people_) {
    for (const Column& column : printed_.columns) {
      if (column.key != "share_ns") columns.push_back(column.key);
    }
  }
  if (!columns.empty()) {
    if (Result<void> chosen = choose_columns(printed_, columns); !chosen) return std::move(chosen).error();
  }
  const Doubts doubts{table_.replays.size(),
                      report_.short_replays,
                      report_.graph_level_replays,
                      !table_.operations.empty(),
                      report_.records != 0,
                      report_.coverage_records_frac.value_or(0) > 0,
                      false};
  const std::vector<ReportWarning> warnings = all_warnings(table_, doubts, context_);
  if (style_.format == TableFormat::json) return Rendered{json(warnings), {}};
  printed_.header = header_lines(table_, context_, summary(), warnings);
  fill_notes();
  Rendered rendered = render_text(printed_, style_);
  if (for_people_ && !report_.copies.empty()) rendered.text += "\n" + render_text(copies(), style_).text;
  return rendered;
}

}  // namespace

Result<Rendered> render_report(const RegionReport& report, const OperationTable& table, const ReportContext& context,
                               const ReportStyle& style) {
  return RegionPrinter(report, table, context, style).render();
}

}  // namespace graphtag
