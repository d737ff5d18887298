#include "write/table_numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

namespace graphtag {
namespace {

struct Unit {
  const char* name;
  double divisor;
};
constexpr std::array kTimeUnits = {Unit{"ns", 1}, Unit{"us", 1e3}, Unit{"ms", 1e6}, Unit{"s", 1e9}};
constexpr std::array kByteUnits = {Unit{"B", 1}, Unit{"kB", 1e3}, Unit{"MB", 1e6}, Unit{"GB", 1e9}, Unit{"TB", 1e12}};

std::optional<double> number(const Cell& cell) {
  if (const auto* integer = std::get_if<std::int64_t>(&cell)) return static_cast<double>(*integer);
  if (const auto* real = std::get_if<double>(&cell)) return *real;
  return {};
}

struct Extent {
  double greatest = 0;
  bool whole = true;  // all are integers
};

Extent extent_of(const Table& table, std::size_t column) {
  Extent extent;
  for (const std::vector<TableRow>* rows : {&table.rows, &table.footer}) {
    for (const TableRow& row : *rows) {
      const std::optional<double> value = number(row.cells[column]);
      if (!value) continue;
      extent.greatest = std::max(extent.greatest, std::abs(*value));
      extent.whole = extent.whole && *value == std::floor(*value);
    }
  }
  return extent;
}

template <std::size_t n>
Unit fitting(const std::array<Unit, n>& units, double greatest) {
  Unit chosen = units[0];
  for (const Unit& unit : units) {
    if (greatest >= unit.divisor) chosen = unit;
  }
  return chosen;
}

// Four digits of the greatest value.
int decimals_for(double greatest) {
  return greatest >= 1000 ? 0 : greatest >= 100 ? 1 : greatest >= 10 ? 2 : 3;
}

}  // namespace

std::vector<ColumnFormat> column_formats(const Table& table, TimeUnit unit) {
  std::map<int, double> greatest_of_group;  // of time columns
  std::vector<Extent> extents;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    extents.push_back(extent_of(table, i));
    if (table.columns[i].quantity != Quantity::time_ns) continue;
    double& greatest = greatest_of_group[table.columns[i].unit_group];
    greatest = std::max(greatest, extents[i].greatest);
  }
  std::vector<ColumnFormat> formats;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const Column& column = table.columns[i];
    ColumnFormat format{column.title, 1, 0};
    if (column.quantity == Quantity::time_ns || column.quantity == Quantity::bytes) {
      Unit chosen = column.quantity == Quantity::bytes ? fitting(kByteUnits, extents[i].greatest)
                                                       : fitting(kTimeUnits, greatest_of_group[column.unit_group]);
      if (column.quantity == Quantity::time_ns && unit != TimeUnit::automatic)
        chosen = kTimeUnits[static_cast<std::size_t>(unit) - 1];
      format.divisor = chosen.divisor;
      format.title += (format.title.empty() ? "" : " ") + std::string(chosen.name);
      const double greatest = column.quantity == Quantity::bytes ? extents[i].greatest : greatest_of_group[column.unit_group];
      if (chosen.divisor > 1) format.decimals = decimals_for(greatest / chosen.divisor);
      if (chosen.divisor == 1 && !extents[i].whole) format.decimals = 1;
    } else if (column.quantity == Quantity::fraction) {
      format.divisor = 0.01;
      format.decimals = 1;
    } else if (column.quantity == Quantity::real) {
      format.decimals = extents[i].whole ? 0 : 2;
    }
    formats.push_back(std::move(format));
  }
  return formats;
}

std::string format_cell(const Cell& cell, const Column& column, const ColumnFormat& format) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* json = std::get_if<JsonText>(&cell)) return plain_json(json->json);
  const std::optional<double> value = number(cell);
  if (!value) return {};
  if (column.quantity == Quantity::count) return fmt::format("{}", static_cast<std::int64_t>(*value));
  return fmt::format("{:.{}f}", *value / format.divisor, format.decimals);
}

std::string plain_json(const std::string& json) {
  const Result<Json> parsed = parse_json(json);
  if (!parsed) return json;
  const auto plain = [](const Json& value) {
    if (value.is_string()) return value.get<std::string>();
    return value.is_null() ? std::string() : dump_json(value);
  };
  if (!parsed->is_object()) return plain(*parsed);
  std::string text;
  for (const auto& member : parsed->items()) text += (text.empty() ? "" : ", ") + member.key() + " " + plain(member.value());
  return text;
}

}  // namespace graphtag
