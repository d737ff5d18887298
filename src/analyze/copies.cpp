#include "analyze/copies.h"

#include <algorithm>
#include <string_view>
#include <tuple>

#include "analyze/saturating.h"

namespace graphtag {
namespace {

// "Memcpy HtoD (Pinned -> Device)": HtoD.
std::string direction_of(std::string_view name, OperationKind kind) {
  if (kind == OperationKind::memset) return "memset";
  constexpr std::string_view kPrefix = "Memcpy ";
  if (name.substr(0, kPrefix.size()) != kPrefix) return "memcpy";
  name.remove_prefix(kPrefix.size());
  return std::string(name.substr(0, name.find(' ')));
}

}  // namespace

void CopySums::add(const GpuOperation& operation, std::int64_t inside_ns) {
  if (of_name_.size() <= operation.name) of_name_.resize(names_->size());
  std::uint32_t& index = of_name_[operation.name];
  if (index == 0) {
    const std::string direction = direction_of((*names_)[operation.name], operation.kind);
    auto found = std::find_if(sums_.begin(), sums_.end(), [&](const Sums& sums) { return sums.row.direction == direction; });
    if (found == sums_.end()) {
      found = sums_.insert(found, Sums{});
      found->row.direction = direction;
    }
    index = static_cast<std::uint32_t>(found - sums_.begin()) + 1;
  }
  Sums& sums = sums_[index - 1];
  ++sums.row.count;
  sums.row.bytes += operation.bytes;
  add_saturating(sums.row.sum_ns, inside_ns);
  if (operation.bytes == 0) return;
  sums.known_bytes += operation.bytes;
  add_saturating(sums.known_time_ns, clamp_time_ns(operation.end_ns) - clamp_time_ns(operation.start_ns));
}

std::vector<CopyRow> CopySums::rows() const {
  std::vector<CopyRow> rows;
  for (const Sums& sums : sums_) {
    rows.push_back(sums.row);
    // A byte in a nanosecond is 1e9 bytes in a second.
    if (sums.known_time_ns > 0)
      rows.back().gb_per_s = static_cast<double>(sums.known_bytes) / static_cast<double>(sums.known_time_ns);
  }
  std::sort(rows.begin(), rows.end(),
            [](const CopyRow& a, const CopyRow& b) { return std::tie(b.sum_ns, a.direction) < std::tie(a.sum_ns, b.direction); });
  return rows;
}

}  // namespace graphtag
