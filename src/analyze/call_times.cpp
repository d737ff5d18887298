#include "analyze/call_times.h"

#include <algorithm>
#include <boost/sort/spreadsort/integer_sort.hpp>

namespace graphtag {
namespace {

constexpr std::uint64_t kLong = 0xffffffff;

}  // namespace

void CallTimes::add(std::uint32_t row, std::int64_t time_ns) {
  const auto time = static_cast<std::uint64_t>(time_ns);
  if (time >= kLong) long_.emplace_back(row, time_ns);
  packed_.push_back(std::uint64_t{row} << 32 | std::min(time, kLong));
}

void CallTimes::sort() {
  boost::sort::spreadsort::integer_sort(packed_.begin(), packed_.end());
  std::sort(long_.begin(), long_.end());
}

CallStatistics CallTimes::statistics(std::size_t begin, std::size_t end) const {
  const auto row = static_cast<std::uint32_t>(packed_[begin] >> 32);
  const std::size_t calls = end - begin;
  const auto first_long = std::lower_bound(long_.begin(), long_.end(), std::pair{row, std::int64_t{0}});
  const auto last_long = std::lower_bound(first_long, long_.end(), std::pair{row + 1, std::int64_t{0}});
  const std::size_t short_calls = calls - static_cast<std::size_t>(last_long - first_long);
  const auto value = [&](std::size_t rank) {
    if (rank < short_calls) return static_cast<std::int64_t>(packed_[begin + rank] & kLong);
    return first_long[static_cast<std::ptrdiff_t>(rank - short_calls)].second;
  };

  long double sum = 0;  // holds 64-bit integers exactly
  for (std::size_t rank = 0; rank < calls; ++rank) sum += static_cast<long double>(value(rank));
  CallStatistics statistics;
  statistics.calls = calls;
  statistics.mean_ns = static_cast<double>(sum / static_cast<long double>(calls));
  const std::int64_t middle = value(calls / 2);
  statistics.p50_ns = calls % 2 == 1 ? static_cast<double>(middle)
                                     : (static_cast<double>(value(calls / 2 - 1)) + static_cast<double>(middle)) / 2;
  statistics.p95_ns = value((95 * calls + 99) / 100 - 1);
  statistics.min_ns = value(0);
  statistics.max_ns = value(calls - 1);
  return statistics;
}

}  // namespace graphtag
