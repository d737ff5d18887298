// From CUPTI's clock to Unix time, and which times a record of this recording can have.
#pragma once

#include <cstdint>

#include "driver/driver.h"

namespace graphtag {

// One instant on both clocks.
struct ClockPair {
  std::int64_t unix_ns = 0;
  std::uint64_t cupti_ns = 0;
};
// Of a few tries the one between whose two readings of Unix time the least passed. False: CUPTI does not tell the time.
bool read_clocks(const Driver& driver, ClockPair& pair) noexcept;

class RecordClock {
 public:
  // The recording begins at this instant.
  void begin(const ClockPair& pair) noexcept {
    begin_ = pair;
    now_ns_ = pair.cupti_ns;
  }
  // Records that are read from here on were made before this instant.
  void advance(std::uint64_t cupti_ns) noexcept { now_ns_ = cupti_ns; }
  const ClockPair& beginning() const noexcept { return begin_; }

  std::uint64_t to_unix(std::uint64_t cupti_ns) const noexcept {
    return cupti_ns - begin_.cupti_ns + static_cast<std::uint64_t>(begin_.unix_ns);
  }

  struct Times {
    std::uint64_t start_ns = 0, end_ns = 0;  // Unix time
    bool bad = false;                        // then both are the same: the start if that can be, else now
  };
  // What the times of a record come to: bad if one is missing, if it ends before it starts, or lies outside of the recording.
  Times place(std::uint64_t start_ns, std::uint64_t end_ns) const noexcept {
    const bool start_fits = fits(start_ns);
    if (start_fits && fits(end_ns) && start_ns <= end_ns) return {to_unix(start_ns), to_unix(end_ns), false};
    const std::uint64_t at = to_unix(start_fits ? start_ns : now_ns_);
    return {at, at, true};
  }

 private:
  // CUPTI brings the clocks of GPU and host together to some microseconds.
  static constexpr std::uint64_t kSlackNs = 10'000'000;
  bool fits(std::uint64_t time_ns) const noexcept {
    return time_ns != 0 && time_ns + kSlackNs >= begin_.cupti_ns && time_ns <= now_ns_ + kSlackNs;
  }

  ClockPair begin_;
  std::uint64_t now_ns_ = 0;  // on CUPTI's clock
};

}  // namespace graphtag
