#include "trace/nsys/strings.h"

#include <utility>

#include "trace/event_builder.h"

namespace graphtag::nsys {
namespace {

constexpr std::size_t kKeptBytes = std::size_t{8} << 20;
// Kernel names of templates come to some kilobytes.
constexpr std::size_t kTextBytes = std::size_t{1} << 20;

}  // namespace

Result<Strings> Strings::open(Database& database, Problems& problems) {
  Result<Rows> rows = database.look_up("StringIds", "id", "value");
  if (!rows) return rows.error();
  return Strings(*std::move(rows), problems);
}

Result<std::string_view> Strings::text(std::int64_t id) {
  rows_.restart(id);
  const Result<bool> more = rows_.next();
  if (!more) return more.error();
  return *more ? rows_.text(0).value_or(std::string_view()).substr(0, kTextBytes) : std::string_view();
}

Result<std::string_view> Strings::quoted(std::optional<std::int64_t> id, std::string_view table, std::uint64_t row) {
  constexpr std::string_view kMissing = "\"?\"";
  if (!id) {
    problems_->add(ProblemKind::missing_string, row, std::string(table) + " names no text");
    return kMissing;
  }
  if (const auto found = quoted_.find(*id); found != quoted_.end()) return std::string_view(found->second);
  const Result<std::string_view> value = text(*id);
  if (!value) return value.error();
  if (value->empty()) {
    problems_->add(ProblemKind::missing_string, row,
                   std::string(table) + " names text " + std::to_string(*id) + ", which StringIds does not have");
    return kMissing;
  }
  if (quoted_bytes_ > kKeptBytes) {
    quoted_.clear();
    quoted_bytes_ = 0;
  }
  std::string& kept = quoted_[*id];
  append_json_string(kept, *value);
  quoted_bytes_ += kept.size() + 64;
  return std::string_view(kept);
}

}  // namespace graphtag::nsys
