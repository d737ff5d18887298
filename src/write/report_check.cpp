#include "write/report_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "write/report_parts.h"

namespace graphtag {
namespace {

Cell count(std::uint64_t value) {
  return static_cast<std::int64_t>(value);
}

Cell part(double value, double whole) {
  if (whole <= 0) return {};
  return value / whole;
}

std::string unnamed_json(const std::map<Origin, std::uint64_t>& unnamed) {
  Json object = Json::object();
  for (const auto& reason : unnamed) object[std::string(to_string(reason.first))] = reason.second;
  return dump_json(object);
}

Table graph_table(const CheckReport& report) {
  Table table;
  table.columns = {{"graph", "graph", Quantity::count, 0, 0},
                   {"label", "label", Quantity::text, 0, 6},
                   {"replays", "replays", Quantity::count, 0, 0},
                   {"nodes_expected", "expected", Quantity::count, 0, 0},
                   {"nodes_seen_min", "seen min", Quantity::count, 0, 0},
                   {"nodes_seen_max", "max", Quantity::count, 0, 5},
                   {"short_replays", "short", Quantity::count, 0, 3},
                   {"records", "records", Quantity::count, 0, 2},
                   {"named", "named", Quantity::count, 0, 0},
                   {"records_frac", "%records", Quantity::fraction, 0, 4},
                   {"sum_frac", "%time", Quantity::fraction, 0, 0},
                   {"ambiguous", "ambiguous", Quantity::count, 0, 7},
                   {"unnamed", "unnamed", Quantity::text, 0, 1}};
  for (const GraphCheck& graph : report.graphs) {
    table.rows.push_back({{count(graph.replays.graph.value), JsonText{graph.label}, count(graph.replays.replays),
                           count(graph.replays.nodes_expected), count(graph.replays.nodes_seen_min),
                           count(graph.replays.nodes_seen_max), count(graph.replays.short_replays), count(graph.records),
                           count(graph.named), part(static_cast<double>(graph.named), static_cast<double>(graph.records)),
                           part(static_cast<double>(graph.named_sum_ns), static_cast<double>(graph.sum_ns)),
                           count(graph.ambiguous), JsonText{unnamed_json(graph.unnamed)}},
                          0,
                          {}});
  }
  table.footer.push_back(footer_row(
      table.columns, "outside",
      {{"records", count(report.outside_records)},
       {"named", count(report.outside_named)},
       {"records_frac", part(static_cast<double>(report.outside_named), static_cast<double>(report.outside_records))},
       {"sum_frac", part(static_cast<double>(report.outside_named_sum_ns), static_cast<double>(report.outside_sum_ns))}}));
  return table;
}

// Keeps the first rows; the footer says how many more there are.
void cut_rows(Table& table, std::size_t top) {
  if (table.rows.size() <= top) return;
  const std::size_t hidden = table.rows.size() - top;
  table.rows.resize(top);
  table.footer.insert(table.footer.begin(),
                      footer_row(table.columns, fmt::format("others ({} graph{})", hidden, hidden == 1 ? "" : "s")));
}

Doubts doubts_of(const CheckReport& report, const OperationTable& table) {
  Doubts doubts{report.replays,
                report.short_replays,
                0,
                !table.operations.empty(),
                report.outside_records != 0,
                report.outside_named != 0,
                true};
  for (const GraphCheck& graph : report.graphs) {
    if (graph.replays.nodes_seen_max == 0) doubts.graph_level_replays += graph.replays.replays;
    doubts.has_selected = doubts.has_selected || graph.records != 0;
    doubts.has_names = doubts.has_names || graph.named != 0;
  }
  return doubts;
}

const char* verdict_word(CheckVerdict verdict) {
  switch (verdict) {
    case CheckVerdict::failed:
      return "failed";
    case CheckVerdict::cannot_judge:
      return "cannot judge";
    case CheckVerdict::passed:
      break;
  }
  return "passed";
}

std::string json(const CheckReport& report, const Table& printed, const OperationTable& table, const ReportContext& context,
                 const std::vector<ReportWarning>& warnings) {
  Json root = json_envelope("graphtag.check/1", table, context, warnings, report.base_ns);
  Json& totals = root["totals"];
  totals["sum_ns"] = report.sum_ns;
  totals["busy_ns"] = report.busy_ns;
  totals["coverage"] = coverage_json(report.coverage_records_frac, report.coverage_sum_frac, report.coverage_busy_frac);
  totals["replays"] = report.replays;
  totals["short_replays"] = report.short_replays;
  totals["outside_records"] = report.outside_records;
  totals["outside_named"] = report.outside_named;
  const bool has_gate = !report.verdict_reason.empty();
  root["verdict"] = has_gate ? Json(verdict_word(report.verdict)) : Json(nullptr);
  root["verdict_reason"] = has_gate ? Json(report.verdict_reason) : Json(nullptr);
  root["rows"] = table_rows_json(printed);
  return dump_json(root) + "\n";
}

}  // namespace

Result<Rendered> render_check(const CheckReport& report, const OperationTable& table, const ReportContext& context,
                              const ReportStyle& style) {
  Table printed = graph_table(report);
  if (!style.sort.empty()) {
    Result<SortKey> key = parse_sort(printed.columns, style.sort);
    if (!key) return std::move(key).error();
    std::stable_sort(printed.rows.begin(), printed.rows.end(), [&](const TableRow& a, const TableRow& b) {
      return cell_before(a.cells[key->column], b.cells[key->column], key->ascending);
    });
  }
  if (style.top) cut_rows(printed, *style.top);
  if (!style.columns.empty()) {
    if (Result<void> chosen = choose_columns(printed, style.columns); !chosen) return std::move(chosen).error();
  }
  const std::vector<ReportWarning> warnings = all_warnings(table, doubts_of(report, table), context);
  if (style.format == TableFormat::json) return Rendered{json(report, printed, table, context, warnings), {}};

  std::vector<Line> summary = {
      {fmt::format("named: {} of records, {} of their time, {} of busy time", percent(report.coverage_records_frac),
                   percent(report.coverage_sum_frac), percent(report.coverage_busy_frac)),
       Tone::plain}};
  printed.header = header_lines(table, context, std::move(summary), warnings);
  if (!report.verdict_reason.empty()) {
    const Tone tone = report.verdict == CheckVerdict::passed   ? Tone::good
                      : report.verdict == CheckVerdict::failed ? Tone::bad
                                                               : Tone::warning;
    printed.notes.push_back({report.verdict_reason, tone});
  }
  return render_text(printed, style);
}

}  // namespace graphtag
