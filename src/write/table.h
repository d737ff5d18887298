// Tables of any kind, and the formats that they are printed in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/json.h"

namespace graphtag {

// What a column's numbers mean. Cells hold times in ns, fractions as 0 .. 1, sizes in bytes; a format for people chooses a unit for the whole column.
enum class Quantity : std::uint8_t { text, count, real, time_ns, fraction, bytes };

struct Column {
  std::string key;    // in tsv, csv and json, and what users call it: "total_ns"
  std::string title;  // in table and md, without the unit: "total"
  Quantity quantity = Quantity::text;
  int unit_group = 0;  // time columns of one group share a unit
  int drop_order = 0;  // where the width does not suffice the highest is left out first; 0: never
};

struct JsonText {
  std::string json;
};
// Nothing: unknown, or does not apply.
using Cell = std::variant<std::monostate, std::string, std::int64_t, double, JsonText>;

struct TableRow {
  std::vector<Cell> cells;  // as many as columns
  int indent = 0;           // table: of the first cell
  std::string label;        // table: instead of the first cell, where that says more than is needed. Empty: the cell
};

enum class Tone : std::uint8_t { plain, warning, good, bad };

struct Line {
  std::string text;
  Tone tone = Tone::plain;
};

struct Table {
  std::vector<Line> header;  // above
  std::vector<Column> columns;
  std::vector<TableRow> rows;
  std::vector<TableRow> footer;  // rows that sum up; in table and md alone
  std::vector<Line> notes;       // below
};

enum class TimeUnit : std::uint8_t { automatic, ns, us, ms, s };

struct TerminalStyle {
  std::size_t width = 100;
  bool wide = false;   // any width: no name is cut, no column left out
  bool utf8 = true;    // else ASCII alone
  bool color = false;  // ANSI escapes
  TimeUnit unit = TimeUnit::automatic;
};

// For people. Names are cut in the middle, their last component kept; columns left out are named below.
std::string render_terminal(const Table& table, const TerminalStyle& style);
// GitHub's Markdown.
std::string render_markdown(const Table& table, TimeUnit unit);
// A line of keys, then all rows; integer ns, fractions 0 .. 1, empty where unknown. Tabs, line feeds, other control characters and backslashes in names are
// escaped with a backslash.
std::string render_tsv(const Table& table);
// The same, quoted as in RFC 4180; control characters but line feeds and tabs are escaped.
std::string render_csv(const Table& table);
// An array of objects; null where unknown.
Json table_rows_json(const Table& table);

}  // namespace graphtag
