#include <algorithm>
#include <numeric>

#include "write/table.h"
#include "write/table_numbers.h"
#include "write/table_text.h"

namespace graphtag {
namespace {

constexpr std::size_t kGap = 2;              // between columns
constexpr std::size_t kLeastNameWidth = 24;  // before columns are left out

const char* color_of(Tone tone) {
  switch (tone) {
    case Tone::warning:
      return "\033[33m";
    case Tone::good:
      return "\033[32m";
    case Tone::bad:
      return "\033[31m";
    case Tone::plain:
      break;
  }
  return "";
}

class TerminalTable {
 public:
  TerminalTable(const Table& table, const TerminalStyle& style)
      : table_(table), style_(style), formats_(column_formats(table, style.unit)) {}

  std::string render();

 private:
  struct TextRow {
    std::vector<std::string> cells;
    bool footer = false;
  };
  std::string text(std::string_view raw) const { return printable(raw, {style_.utf8, false, false}); }
  void make_rows();
  void fit();
  std::size_t table_width() const;
  void paint(std::string& out, const char* color, const std::string& line) const;
  std::string line_of(const std::vector<std::string>& cells) const;
  void add_lines(std::string& out, const std::vector<Line>& lines) const;

  const Table& table_;
  const TerminalStyle& style_;
  std::vector<ColumnFormat> formats_;
  std::vector<TextRow> rows_;
  std::vector<std::size_t> shown_;    // columns
  std::vector<std::size_t> widths_;   // of all columns
  std::vector<std::size_t> dropped_;  // columns
};

void TerminalTable::make_rows() {
  for (const std::vector<TableRow>* rows : {&table_.rows, &table_.footer}) {
    for (const TableRow& row : *rows) {
      TextRow made{{}, rows == &table_.footer};
      for (std::size_t i = 0; i < table_.columns.size(); ++i) {
        std::string cell = text(format_cell(row.cells[i], table_.columns[i], formats_[i]));
        if (i == 0 && !row.label.empty()) cell = text(row.label);
        if (i == 0) cell.insert(0, static_cast<std::size_t>(row.indent) * 2, ' ');
        if (cell.empty() && !made.footer) cell = "-";
        made.cells.push_back(std::move(cell));
      }
      rows_.push_back(std::move(made));
    }
  }
}

std::size_t TerminalTable::table_width() const {
  std::size_t width = shown_.empty() ? 0 : (shown_.size() - 1) * kGap;
  for (const std::size_t column : shown_) width += widths_[column];
  return width;
}

// Leaves out columns until the rest fits beside a short name, then gives the names what is left.
void TerminalTable::fit() {
  shown_.resize(table_.columns.size());
  std::iota(shown_.begin(), shown_.end(), std::size_t{0});
  for (std::size_t i = 0; i < table_.columns.size(); ++i) {
    std::size_t width = display_width(text(formats_[i].title));
    for (const TextRow& row : rows_) width = std::max(width, display_width(row.cells[i]));
    widths_.push_back(width);
  }
  if (style_.wide || table_.columns.empty()) return;
  const std::size_t names = widths_[0];
  widths_[0] = std::min(names, kLeastNameWidth);
  while (table_width() > style_.width) {
    const auto drop = std::max_element(shown_.begin(), shown_.end(), [&](std::size_t a, std::size_t b) {
      return table_.columns[a].drop_order < table_.columns[b].drop_order;
    });
    if (table_.columns[*drop].drop_order == 0) break;
    dropped_.push_back(*drop);
    shown_.erase(drop);
  }
  std::sort(dropped_.begin(), dropped_.end());
  const std::size_t used = table_width();
  if (used < style_.width) widths_[0] = std::min(names, widths_[0] + style_.width - used);
}

void TerminalTable::paint(std::string& out, const char* color, const std::string& line) const {
  if (style_.color && *color != 0) {
    out.append(color).append(line).append("\033[0m\n");
  } else {
    out.append(line).append("\n");
  }
}

std::string TerminalTable::line_of(const std::vector<std::string>& cells) const {
  std::string line;
  for (std::size_t i = 0; i < shown_.size(); ++i) {
    const std::size_t column = shown_[i];
    const std::string cell = column == 0 ? cut_middle(cells[0], widths_[0], style_.utf8) : cells[column];
    const std::string padding(widths_[column] - std::min(widths_[column], display_width(cell)), ' ');
    if (i != 0) line.append(kGap, ' ');
    const bool is_text = table_.columns[column].quantity == Quantity::text;
    line += is_text ? cell + padding : padding + cell;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

void TerminalTable::add_lines(std::string& out, const std::vector<Line>& lines) const {
  for (const Line& line : lines) paint(out, color_of(line.tone), text(line.text));
}

std::string TerminalTable::render() {
  make_rows();
  fit();
  std::string out;
  add_lines(out, table_.header);
  if (!table_.columns.empty()) {
    if (!table_.header.empty()) out += '\n';
    std::vector<std::string> titles;
    for (const ColumnFormat& format : formats_) titles.push_back(text(format.title));
    paint(out, "\033[1m", line_of(titles));
    std::string rule;
    for (std::size_t i = 0; i < std::min(table_width(), style_.wide ? SIZE_MAX : style_.width); ++i)
      rule += style_.utf8 ? "\xE2\x94\x80" : "-";
    paint(out, "\033[2m", rule);
    bool in_footer = false;
    for (const TextRow& row : rows_) {
      if (row.footer && !in_footer) paint(out, "\033[2m", rule);
      in_footer = row.footer;
      paint(out, row.footer ? "\033[2m" : "", line_of(row.cells));
    }
  }
  if (!dropped_.empty()) {
    std::string names;
    for (const std::size_t column : dropped_) names += (names.empty() ? "" : ", ") + text(formats_[column].title);
    paint(out, "\033[2m", "columns left out for the width: " + names + " (--wide shows them)");
  }
  add_lines(out, table_.notes);
  return out;
}

}  // namespace

std::string render_terminal(const Table& table, const TerminalStyle& style) {
  return TerminalTable(table, style).render();
}

}  // namespace graphtag
