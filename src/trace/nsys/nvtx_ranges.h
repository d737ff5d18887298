// The NVTX ranges of an export as annotations.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "trace/nsys/database.h"
#include "trace/nsys/strings.h"

namespace graphtag::nsys {

// Values of NVTX_EVENTS.eventType.
enum NvtxEvent : std::int64_t {
  nvtx_category = 33,
  nvtx_mark = 34,
  nvtx_push_pop = 59,
  nvtx_start_end = 60,
  nvtx_domain = 75,
};

// The keys of annotations made of ranges.
std::vector<std::string> nvtx_keys();

// Columns of a range, in this order, for Database::rows().
struct NvtxColumns {
  enum : int {
    start,
    end,
    event_type,
    global_tid,
    text,
    text_id,
    domain,
    category,
    uint64_value,
    int64_value,
    double_value,
    uint32_value,
    int32_value,
    float_value,
    json_text,
    json_text_id,
    row
  };
};
Result<Rows> nvtx_rows(Database& database, const std::string& rest);

// What a row says, beside its time.
class NvtxTexts {
 public:
  NvtxTexts(Database& database, Strings& strings) : database_(database), strings_(strings) {}
  // The names of domains and categories, whose ids are a process's own. Errors: the file is damaged.
  Result<void> read(std::optional<std::int64_t> process);

  // {"name": ..., "nvtx_domain": ..., "nvtx_category": ..., "nvtx_payload": ...}, of what is there. Of a text that is not there "name" is missing.
  Result<Json> annotation(const Rows& row);

 private:
  Result<Json> payload_of(const Rows& row);
  Result<std::optional<std::string>> text_of(const Rows& row, int text, int text_id);

  Database& database_;
  Strings& strings_;
  boost::unordered_flat_map<std::int64_t, std::string> domains_;                              // id -> name
  boost::unordered_flat_map<std::pair<std::int64_t, std::int64_t>, std::string> categories_;  // domain, id -> name
};

}  // namespace graphtag::nsys
