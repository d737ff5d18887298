#include <algorithm>

#include "write/table.h"
#include "write/table_numbers.h"
#include "write/table_text.h"

namespace graphtag {
namespace {

// Plain text of a paragraph.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : printable(text)) {
    if (std::string_view("\\`*_{}[]<>#|~&").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

// A name as code: fenced by more backticks than it holds in a row.
std::string code(const std::string& text) {
  if (text.empty()) return {};
  std::string content;
  std::size_t run = 0;
  std::size_t longest = 0;
  for (const char c : printable(text)) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
    if (c == '|') content += '\\';  // a table's cells are split before code is seen
    content += c;
  }
  const std::string fence(longest + 1, '`');
  const std::string space = longest != 0 || content.front() == ' ' || content.back() == ' ' ? " " : "";
  return fence + space + content + space + fence;
}

void add_lines(std::string& out, const std::vector<Line>& lines) {
  for (const Line& line : lines) out += "- " + escaped(line.text) + "\n";
}

}  // namespace

std::string render_markdown(const Table& table, TimeUnit unit) {
  const std::vector<ColumnFormat> formats = column_formats(table, unit);
  std::string out;
  add_lines(out, table.header);
  if (!table.columns.empty()) {
    if (!out.empty()) out += '\n';
    out += '|';
    for (const ColumnFormat& format : formats) out += " " + escaped(format.title) + " |";
    out += "\n|";
    for (const Column& column : table.columns) out += column.quantity == Quantity::text ? " --- |" : " ---: |";
    out += '\n';
    for (const std::vector<TableRow>* rows : {&table.rows, &table.footer}) {
      for (const TableRow& row : *rows) {
        out += '|';
        for (std::size_t i = 0; i < table.columns.size(); ++i) {
          const std::string cell = format_cell(row.cells[i], table.columns[i], formats[i]);
          const bool is_name = table.columns[i].quantity == Quantity::text && rows == &table.rows;
          out += " " + (is_name ? code(cell) : escaped(cell)) + " |";
        }
        out += '\n';
      }
    }
  }
  if (!table.notes.empty()) out += '\n';
  add_lines(out, table.notes);
  return out;
}

}  // namespace graphtag
