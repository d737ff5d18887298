#include "write/report_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "analyze/saturating.h"
#include "write/table_text.h"

namespace graphtag {
namespace {

bool ends_with(const std::string& text, std::string_view end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

std::string short_key(const std::string& key) {
  for (const std::string_view suffix : {"_ns", "_frac"}) {
    if (ends_with(key, suffix)) return key.substr(0, key.size() - suffix.size());
  }
  return key;
}

std::string counted(std::uint64_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string why_nothing_named(const OperationTable& table, const Doubts& doubts) {
  if (table.annotations.empty() && table.read.info.annotations != nullptr) {
    return "no GPU record has a name: no range was open when the nodes of the graphs were created, as far as the trace knows; "
           "record "
           "their capture as well, with ranges, or give annotations with -a";
  }
  return std::string("no GPU record has a name: the annotations are of another run, or were recorded after the capture") +
         (doubts.has_reasons ? "" : " (see graphtag check)");
}

// Events left out that are neither the cut-off one nor the gzip stream's end, which have warnings of their own.
std::uint64_t bad_events(const Problems& problems) {
  return problems.left_out() - problems[ProblemKind::truncated].count - problems[ProblemKind::damaged_gzip].count;
}

void add_name_warnings(const OperationTable& table, const Doubts& doubts, std::vector<ReportWarning>& warnings) {
  if (!doubts.has_records) {
    warnings.push_back({"no-gpu-records", {"rows", "totals"}, "the trace has no GPU records: profile with CUDA activities on"});
  } else if (!doubts.has_selected) {
    warnings.push_back({"nothing-selected",
                        {"rows", "totals"},
                        "the trace has GPU records, but none passes --where, --kind, --window and --skip-replays"});
  } else if (!table.has_annotations()) {
    warnings.push_back(
        {"no-annotations",
         {"rows", "coverage"},
         "no annotations: give the annotation file of the traced run with -a (record one at capture), or an annotated trace"});
  } else if (!doubts.has_names) {
    warnings.push_back({"nothing-named", {"rows", "coverage"}, why_nothing_named(table, doubts)});
  }
  if (doubts.graph_level_replays != 0) {
    warnings.push_back({"graph-level-trace",
                        {"rows", "coverage", "calls"},
                        counted(doubts.graph_level_replays, "replay") +
                            " without node ids: the profiler recorded whole graphs; have it trace nodes"});
  }
  for (const std::string& file : table.passed_over)
    warnings.push_back({"annotations-passed-over", {"coverage"}, "annotation file passed over: " + file});
  if (table.ambiguity) warnings.push_back({"annotations-ambiguous", {"rows", "coverage"}, *table.ambiguity});
}

void add_loss_warnings(const OperationTable& table, const Doubts& doubts, std::vector<ReportWarning>& warnings) {
  const Problems& problems = table.read.problems;
  if (doubts.short_replays != 0) {
    warnings.push_back(
        {"short-replays",
         {"idle_ns", "busy_ns", "window_ns", "calls", "kernels_per_call"},
         fmt::format("{} of {} show fewer nodes than expected: records were dropped, so idle time and overlap are unreliable",
                     doubts.short_replays, counted(doubts.replays, "replay"))});
  }
  if (problems[ProblemKind::truncated].count != 0)
    warnings.push_back({"truncated", {"window_ns", "calls"}, "the trace is cut off: what follows its end is missing"});
  if (problems[ProblemKind::damaged_gzip].count != 0)
    warnings.push_back({"damaged-gzip", {"window_ns", "calls"}, "the trace's gzip stream is damaged: what follows is missing"});
  if (bad_events(problems) != 0)
    warnings.push_back(
        {"bad-events", {"rows", "totals"}, counted(bad_events(problems), "event") + " of the trace left out: not readable"});
  if (table.bad_times != 0)
    warnings.push_back({"bad-times", {"rows", "totals"}, counted(table.bad_times, "GPU record") + " left out: no usable time"});
}

std::string problems_line(const Problems& problems) {
  std::string line;
  for (std::size_t i = 0; i < kProblemKinds; ++i) {
    const auto kind = static_cast<ProblemKind>(i);
    if (problems[kind].count == 0) continue;
    line += fmt::format("{}{} {} ({})", line.empty() ? "" : ", ", problems[kind].count, to_string(kind),
                        leaves_out(kind) ? "left out" : "kept");
  }
  return line;
}

}  // namespace

std::optional<TableFormat> table_format_from_string(std::string_view text) {
  constexpr std::array kNames = {std::pair{"table", TableFormat::table}, std::pair{"tsv", TableFormat::tsv},
                                 std::pair{"csv", TableFormat::csv}, std::pair{"json", TableFormat::json},
                                 std::pair{"md", TableFormat::md}};
  for (const auto& name : kNames) {
    if (text == name.first) return name.second;
  }
  return {};
}

Json problems_json(const Problems& problems) {
  Json list = Json::array();
  for (std::size_t i = 0; i < kProblemKinds; ++i) {
    const auto kind = static_cast<ProblemKind>(i);
    const Problems::Entry& entry = problems[kind];
    if (entry.count == 0) continue;
    Json item = Json::object();
    item["kind"] = to_string(kind);
    item["count"] = entry.count;
    item["first_offset"] = entry.offsets.empty() ? Json(nullptr) : Json(entry.offsets.front());
    item["example"] = entry.example;
    list.push_back(std::move(item));
  }
  return list;
}

std::vector<ReportWarning> all_warnings(const OperationTable& table, const Doubts& doubts, const ReportContext& context) {
  std::vector<ReportWarning> warnings = context.warnings;
  add_name_warnings(table, doubts, warnings);
  add_loss_warnings(table, doubts, warnings);
  return warnings;
}

std::vector<Line> header_lines(const OperationTable& table, const ReportContext& context, std::vector<Line> lines,
                               const std::vector<ReportWarning>& warnings) {
  std::vector<Line> header;
  const TraceInfo& info = table.read.info;
  for (std::size_t i = 0; i < context.inputs.size(); ++i) {
    std::string line = (i == 0 ? "trace: " : "annotations: ") + context.inputs[i].path;
    if (i == 0 && !info.producer.empty()) line += " (" + info.producer + ")";
    header.push_back({line, Tone::plain});
  }
  std::string devices;
  for (const std::int64_t device : table.devices) {
    const bool has_name = device >= 0 && static_cast<std::size_t>(device) < info.device_names.size();
    devices += (devices.empty() ? "" : ", ") +
               fmt::format("{}{}", device, has_name ? " " + info.device_names[static_cast<std::size_t>(device)] : "");
  }
  if (!devices.empty())
    header.push_back({"GPU: " + devices + (info.rank ? fmt::format("; rank {}", *info.rank) : ""), Tone::plain});
  std::move(lines.begin(), lines.end(), std::back_inserter(header));
  if (const std::string problems = problems_line(table.read.problems); !problems.empty())
    header.push_back({"problems in the trace: " + problems, Tone::plain});
  for (const ReportWarning& warning : warnings) header.push_back({"warning: " + warning.message, Tone::warning});
  return header;
}

Json json_envelope(const std::string& schema, const OperationTable& table, const ReportContext& context,
                   const std::vector<ReportWarning>& warnings, std::int64_t base_ns) {
  Json root = Json::object();
  root["schema"] = schema;
  root["tool"] = context.tool;
  root["inputs"] = Json::array();
  for (const ReportInput& input : context.inputs) {
    Json item = Json::object();
    item["path"] = input.path;
    item["sha256"] = input.sha256 ? Json(*input.sha256) : Json(nullptr);
    root["inputs"].push_back(std::move(item));
  }
  std::int64_t base = clamp_time_ns(table.read.info.base_time_ns.value_or(0));
  add_saturating(base, base_ns);
  root["base_ns"] = std::to_string(base);
  root["warnings"] = Json::array();
  for (const ReportWarning& warning : warnings) {
    Json item = Json::object();
    item["code"] = warning.code;
    item["affects"] = warning.affects;
    item["message"] = warning.message;
    root["warnings"].push_back(std::move(item));
  }
  root["totals"] = Json::object();
  root["totals"]["bad_events"] = table.read.problems.left_out();
  root["totals"]["problems"] = problems_json(table.read.problems);
  return root;
}

Json coverage_json(std::optional<double> records, std::optional<double> sum, std::optional<double> busy) {
  const auto fraction = [](std::optional<double> value) { return value ? Json(*value) : Json(nullptr); };
  Json coverage = Json::object();
  coverage["records_frac"] = fraction(records);
  coverage["sum_frac"] = fraction(sum);
  coverage["busy_frac"] = fraction(busy);
  return coverage;
}

Result<std::size_t> find_column(const std::vector<Column>& columns, const std::string& name, const char* option) {
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].key == name) return i;
  }
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (short_key(columns[i].key) == name || columns[i].title == name) return i;
  }
  std::string known;
  std::set<std::string> shown;
  for (const Column& column : columns) shown.insert(column.key);
  for (const Column& column : columns) {
    // Short where that is this column's alone.
    const std::string shorter = short_key(column.key);
    known += (known.empty() ? "" : ", ") + (shown.insert(shorter).second ? shorter : column.key);
  }
  return Error{ErrorCode::invalid_argument, std::string(option) + " '" + name + "': no such column; choose of " + known, {}, {}};
}

Result<SortKey> parse_sort(const std::vector<Column>& columns, const std::string& text) {
  std::string name = text;
  std::optional<bool> ascending;
  for (const auto& [suffix, value] : {std::pair{":asc", true}, std::pair{":desc", false}}) {
    if (!ends_with(text, suffix)) continue;
    name = text.substr(0, text.rfind(':'));
    ascending = value;
  }
  Result<std::size_t> column = find_column(columns, name, "--sort");
  if (!column) return std::move(column).error();
  return SortKey{*column, ascending.value_or(columns[*column].quantity == Quantity::text)};
}

bool cell_before(const Cell& a, const Cell& b, bool ascending) {
  const auto is_unknown = [](const Cell& cell) {
    const auto* json = std::get_if<JsonText>(&cell);
    return std::holds_alternative<std::monostate>(cell) || (json != nullptr && json->json == "null");
  };
  if (is_unknown(a) || is_unknown(b)) return !is_unknown(a);
  const auto number = [](const Cell& cell) -> std::optional<double> {
    if (const auto* integer = std::get_if<std::int64_t>(&cell)) return static_cast<double>(*integer);
    if (const auto* real = std::get_if<double>(&cell)) return *real;
    if (const auto* json = std::get_if<JsonText>(&cell)) {
      const Result<Json> value = parse_json(json->json);
      if (value && value->is_number()) return value->get<double>();
    }
    return {};
  };
  const auto text = [](const Cell& cell) -> std::string {
    if (const auto* string = std::get_if<std::string>(&cell)) return *string;
    const auto* json = std::get_if<JsonText>(&cell);
    return json != nullptr ? json->json : std::string();
  };
  const std::optional<double> x = number(a);
  const std::optional<double> y = number(b);
  if (x && y) return ascending ? *x < *y : *x > *y;
  if (x || y) return x.has_value() == ascending;
  return ascending ? text(a) < text(b) : text(a) > text(b);
}

TableRow footer_row(const std::vector<Column>& columns, std::string label,
                    const std::vector<std::pair<const char*, Cell>>& cells) {
  TableRow row{std::vector<Cell>(columns.size()), 0, label};
  row.cells[0] = std::move(label);
  for (const auto& cell : cells) {
    const auto column = std::find_if(columns.begin(), columns.end(), [&](const Column& each) { return each.key == cell.first; });
    row.cells[static_cast<std::size_t>(column - columns.begin())] = cell.second;
  }
  return row;
}

Result<void> choose_columns(Table& table, const std::vector<std::string>& names) {
  std::vector<std::size_t> chosen;
  chosen.reserve(names.size());
  for (const std::string& name : names) {
    Result<std::size_t> column = find_column(table.columns, name, "--columns");
    if (!column) return std::move(column).error();
    chosen.push_back(*column);
  }
  std::vector<Column> columns;
  columns.reserve(chosen.size());
  for (const std::size_t column : chosen) columns.push_back(table.columns[column]);
  for (std::vector<TableRow>* rows : {&table.rows, &table.footer}) {
    for (TableRow& row : *rows) {
      std::vector<Cell> cells;
      cells.reserve(chosen.size());
      for (const std::size_t column : chosen) cells.push_back(row.cells[column]);
      if (!chosen.empty() && chosen.front() != 0) {
        row.indent = 0;
        row.label.clear();
      }
      row.cells = std::move(cells);
    }
  }
  table.columns = std::move(columns);
  return {};
}

Rendered render_text(const Table& table, const ReportStyle& style) {
  switch (style.format) {
    case TableFormat::md:
      return {render_markdown(table, style.terminal.unit), {}};
    case TableFormat::tsv:
    case TableFormat::csv: {
      Rendered rendered{style.format == TableFormat::tsv ? render_tsv(table) : render_csv(table), {}};
      for (const std::vector<Line>* lines : {&table.header, &table.notes}) {
        for (const Line& line : *lines) rendered.notes += printable(line.text) + "\n";
      }
      return rendered;
    }
    case TableFormat::table:
    case TableFormat::json:
      break;
  }
  return {render_terminal(table, style.terminal), {}};
}

std::string percent(std::optional<double> fraction) {
  return fraction ? fmt::format("{:.1f}%", *fraction * 100) : "n/a";
}

std::string duration(std::int64_t time_ns) {
  constexpr std::array kUnits = {std::pair{1e9, "s"}, std::pair{1e6, "ms"}, std::pair{1e3, "us"}};
  for (const auto& unit : kUnits) {
    if (static_cast<double>(time_ns) >= unit.first)
      return fmt::format("{:.4g} {}", static_cast<double>(time_ns) / unit.first, unit.second);
  }
  return fmt::format("{} ns", time_ns);
}

}  // namespace graphtag
