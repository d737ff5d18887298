// Cells as people read them: one unit and one number of decimals for a column.
#pragma once

#include <string>
#include <vector>

#include "write/table.h"

namespace graphtag {

struct ColumnFormat {
  std::string title;   // with the unit: "total ms", "%busy"
  double divisor = 1;  // cell / divisor is shown
  int decimals = 0;
};

// For each column. Units are chosen so that the greatest value of a unit group is at least 1, or as asked for.
std::vector<ColumnFormat> column_formats(const Table& table, TimeUnit unit);

// Empty where there is nothing. Not made printable yet.
std::string format_cell(const Cell& cell, const Column& column, const ColumnFormat& format);

// A JSON value for people: strings without quotes, null empty, of objects "key value, key value".
std::string plain_json(const std::string& json);

}  // namespace graphtag
