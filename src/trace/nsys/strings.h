// The texts of an export by their numbers, quoted as JSON: StringIds is read as far as it is asked for.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <string>
#include <string_view>

#include "trace/nsys/database.h"
#include "trace/problems.h"

namespace graphtag::nsys {

class Strings {
 public:
  static Result<Strings> open(Database& database, Problems& problems);

  // Empty if there is no such text. Lives until the next call. Errors: the file is damaged.
  Result<std::string_view> text(std::int64_t id);
  // The same as a JSON string; of a text that is not there "?", which is noted as a problem of the row `row` of `table`.
  Result<std::string_view> quoted(std::optional<std::int64_t> id, std::string_view table, std::uint64_t row);

 private:
  Strings(Rows rows, Problems& problems) : rows_(std::move(rows)), problems_(&problems) {}

  Rows rows_;
  Problems* problems_;
  boost::unordered_flat_map<std::int64_t, std::string> quoted_;  // what was asked for lately
  std::size_t quoted_bytes_ = 0;
};

}  // namespace graphtag::nsys
