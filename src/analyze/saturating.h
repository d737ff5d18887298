// Sums of times that broken traces may drive beyond 64 bits: they stay at the limit.
#pragma once

#include <algorithm>
#include <cstdint>

namespace graphtag {

// Times beyond these (in ns, 146 years) are taken as these, so that the difference of two fits into 64 bits.
inline constexpr std::int64_t kTimeLimit_ns = (std::int64_t{1} << 62) - 1;

inline std::int64_t clamp_time_ns(std::int64_t time_ns) {
  return std::clamp(time_ns, -kTimeLimit_ns, kTimeLimit_ns);
}

inline void add_saturating(std::int64_t& sum, std::int64_t value) {
  if (__builtin_add_overflow(sum, value, &sum)) sum = INT64_MAX;
}

}  // namespace graphtag
