#include "record/record_clock.h"

#include "base/unix_time.h"

namespace graphtag {

bool read_clocks(const Driver& driver, ClockPair& pair) noexcept {
  constexpr int kTries = 5;
  std::int64_t shortest = INT64_MAX;
  for (int i = 0; i < kTries; ++i) {
    std::uint64_t cupti_ns = 0;
    const std::int64_t before = unix_time_ns();
    if (!driver.timestamp_ns(cupti_ns).ok()) return false;
    const std::int64_t between = unix_time_ns() - before;
    if (between < 0 || between >= shortest) continue;
    shortest = between;
    pair = {before + between / 2, cupti_ns};
  }
  return shortest != INT64_MAX;
}

}  // namespace graphtag
