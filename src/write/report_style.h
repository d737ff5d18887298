// How a report is printed, and what it is about: the same for every command that prints tables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "write/table.h"

namespace graphtag {

enum class TableFormat : std::uint8_t { table, tsv, csv, json, md };
std::optional<TableFormat> table_format_from_string(std::string_view text);

inline constexpr std::size_t kAllRows = SIZE_MAX;

struct ReportStyle {
  TableFormat format = TableFormat::table;
  TerminalStyle terminal;            // format table; its unit also of md
  std::vector<std::string> columns;  // keys, in the order wanted, also without _ns or _frac; empty: those of the format
  std::string sort;                  // "COLUMN", "COLUMN:asc", "COLUMN:desc"; empty: by share
  std::optional<std::size_t> top;    // rows; nothing: 30 in table and md, else all
  double min_percent = 0;            // rows with less of the busy time are left to "others"
};

struct ReportInput {
  std::string path;                   // as it was given
  std::optional<std::string> sha256;  // hexadecimal; not of a trace
};

struct ReportWarning {
  std::string code;                  // "short-replays"
  std::vector<std::string> affects;  // names of columns or totals
  std::string message;               // in words
};

struct ReportContext {
  std::string tool;                     // "graphtag 0.1.0"
  std::vector<ReportInput> inputs;      // the trace, then its annotation files
  std::vector<ReportWarning> warnings;  // the caller's own
};

struct Rendered {
  std::string text;
  std::string notes;  // what the format has no place for (tsv, csv): for stderr
};

}  // namespace graphtag
