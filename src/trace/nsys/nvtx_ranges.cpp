#include "trace/nsys/nvtx_ranges.h"

#include <nlohmann/json.hpp>

#include "base/utf8.h"
#include "trace/nsys/export_facts.h"

namespace graphtag::nsys {
namespace {

// A program has a handful.
constexpr std::size_t kNamesKept = std::size_t{1} << 16;
// Below what an annotation may have.
constexpr int kPayloadNesting = 32;

}  // namespace

std::vector<std::string> nvtx_keys() {
  return {"name", "nvtx_domain", "nvtx_category", "nvtx_payload", "graphtag.path"};
}

Result<Rows> nvtx_rows(Database& database, const std::string& rest) {
  return database.rows("NVTX_EVENTS",
                       {"start", "end", "eventType", "globalTid", "text", "textId", "domainId", "category", "uint64Value",
                        "int64Value", "doubleValue", "uint32Value", "int32Value", "floatValue", "jsonText", "jsonTextId"},
                       rest);
}

Result<std::optional<std::string>> NvtxTexts::text_of(const Rows& row, int text, int text_id) {
  if (const auto own = row.text(text)) return std::optional<std::string>(valid_utf8(*own));
  const auto id = row.integer(text_id);
  if (!id) return std::optional<std::string>();
  const Result<std::string_view> shared = strings_.text(*id);
  if (!shared) return shared.error();
  return shared->empty() ? std::optional<std::string>() : std::optional<std::string>(valid_utf8(*shared));
}

Result<void> NvtxTexts::read(std::optional<std::int64_t> process) {
  if (!database_.has("NVTX_EVENTS", "eventType")) return {};
  Result<Rows> rows =
      nvtx_rows(database_, "WHERE [eventType] IN (" + std::to_string(nvtx_category) + "," + std::to_string(nvtx_domain) +
                               ") AND " + is_of_process(database_, "NVTX_EVENTS", "globalTid", process));
  if (!rows) return rows.error();
  for (;;) {
    const Result<bool> more = rows->next();
    if (!more) return more.error();
    if (!*more) return {};
    Result<std::optional<std::string>> text = text_of(*rows, NvtxColumns::text, NvtxColumns::text_id);
    if (!text) return text.error();
    if (!*text) continue;
    const std::int64_t domain = rows->integer(NvtxColumns::domain).value_or(0);
    if (rows->integer(NvtxColumns::event_type) == nvtx_domain) {
      if (domains_.size() < kNamesKept) domains_.emplace(domain, **text);
    } else if (const auto category = rows->integer(NvtxColumns::category); category && categories_.size() < kNamesKept) {
      categories_.emplace(std::pair{domain, *category}, **text);
    }
  }
}

// One of the columns has a value, if any. Old exporters write 0 into those that have none.
Result<Json> NvtxTexts::payload_of(const Rows& row) {
  std::vector<Json> values;
  if (const auto value = row.integer(NvtxColumns::uint64_value)) values.emplace_back(static_cast<std::uint64_t>(*value));
  for (const int column : {NvtxColumns::int64_value, NvtxColumns::uint32_value, NvtxColumns::int32_value}) {
    if (const auto value = row.integer(column)) values.emplace_back(*value);
  }
  for (const int column : {NvtxColumns::double_value, NvtxColumns::float_value}) {
    if (const auto value = row.real(column)) values.emplace_back(*value);
  }
  Result<std::optional<std::string>> json = text_of(row, NvtxColumns::json_text, NvtxColumns::json_text_id);
  if (!json) return json.error();
  if (*json) {
    JsonLimits limits;
    limits.nesting = kPayloadNesting;
    Result<Json> parsed = parse_json(**json, {}, limits);
    return parsed ? *std::move(parsed) : Json(**json);
  }
  if (values.size() == 1) return std::move(values.front());
  for (Json& value : values) {
    if (value.get<double>() != 0) return std::move(value);
  }
  return Json();
}

Result<Json> NvtxTexts::annotation(const Rows& row) {
  Json object = Json::object();
  Result<std::optional<std::string>> name = text_of(row, NvtxColumns::text, NvtxColumns::text_id);
  if (!name) return name.error();
  if (*name) object["name"] = **std::move(name);
  const std::int64_t domain = row.integer(NvtxColumns::domain).value_or(0);
  if (const auto found = domains_.find(domain); found != domains_.end()) object["nvtx_domain"] = found->second;
  if (const auto category = row.integer(NvtxColumns::category); category && *category != 0) {
    const auto found = categories_.find({domain, *category});
    if (found != categories_.end()) {
      object["nvtx_category"] = found->second;
    } else {
      object["nvtx_category"] = *category;
    }
  }
  Result<Json> payload = payload_of(row);
  if (!payload) return payload.error();
  if (!payload->is_null()) object["nvtx_payload"] = *std::move(payload);
  return object;
}

}  // namespace graphtag::nsys
