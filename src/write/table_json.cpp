#include <cmath>
#include <nlohmann/json.hpp>

#include "base/utf8.h"
#include "write/table.h"

namespace graphtag {
namespace {

constexpr double kExact = 9007199254740992;  // 2^53: integers up to it are doubles

std::string valid_utf8(const std::string& text) {
  std::string valid;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = utf8_length(text, i);
    valid += length == 0 ? kReplacementCharacter : std::string_view(text).substr(i, length);
    i += length == 0 ? 1 : length;
  }
  return valid;
}

Json cell_json(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return valid_utf8(*text);
  if (const auto* integer = std::get_if<std::int64_t>(&cell)) return *integer;
  if (const auto* json = std::get_if<JsonText>(&cell)) {
    Result<Json> parsed = parse_json(json->json);
    return parsed ? std::move(*parsed) : Json(nullptr);
  }
  const auto* real = std::get_if<double>(&cell);
  if (real == nullptr || !std::isfinite(*real)) return nullptr;
  if (*real == std::floor(*real) && std::abs(*real) < kExact) return static_cast<std::int64_t>(*real);
  return *real;
}

}  // namespace

Json table_rows_json(const Table& table) {
  Json rows = Json::array();
  for (const TableRow& row : table.rows) {
    Json object = Json::object();
    for (std::size_t i = 0; i < table.columns.size(); ++i) object[valid_utf8(table.columns[i].key)] = cell_json(row.cells[i]);
    rows.push_back(std::move(object));
  }
  return rows;
}

}  // namespace graphtag
