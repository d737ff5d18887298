#include <fmt/format.h>

#include <cmath>

#include "write/table.h"
#include "write/table_numbers.h"
#include "write/table_text.h"

namespace graphtag {
namespace {

// The exact value, but for times, which are whole ns.
std::string raw_cell(const Cell& cell, const Column& column) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* integer = std::get_if<std::int64_t>(&cell)) return fmt::format("{}", *integer);
  if (const auto* json = std::get_if<JsonText>(&cell)) {
    return json->json.front() == '{' ? json->json : plain_json(json->json);
  }
  const auto* real = std::get_if<double>(&cell);
  if (real == nullptr || !std::isfinite(*real)) return {};
  return column.quantity == Quantity::time_ns ? fmt::format("{}", std::llround(*real)) : fmt::format("{}", *real);
}

template <typename Escape>
std::string render(const Table& table, char separator, Escape&& escape) {
  std::string out;
  const auto end_cell = [&](std::size_t i) { out += i + 1 == table.columns.size() ? '\n' : separator; };
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    out += escape(table.columns[i].key);
    end_cell(i);
  }
  for (const TableRow& row : table.rows) {
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      out += escape(raw_cell(row.cells[i], table.columns[i]));
      end_cell(i);
    }
  }
  return out;
}

}  // namespace

std::string render_tsv(const Table& table) {
  return render(table, '\t', [](const std::string& text) { return printable(text, {true, true, false}); });
}

std::string render_csv(const Table& table) {
  return render(table, ',', [](const std::string& text) {
    std::string safe = printable(text, {true, false, true});
    if (safe.find_first_of(",\"\n\r") == std::string::npos) return safe;
    std::string quoted = "\"";
    for (const char c : safe) quoted.append(c == '"' ? 2 : 1, c);
    return quoted + '"';
  });
}

}  // namespace graphtag
