// The times of all calls of all rows, in 8 bytes each, and their statistics.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/grow_array.h"

namespace graphtag {

struct CallStatistics {
  std::uint64_t calls = 0;  // at least 1
  double mean_ns = 0;
  double p50_ns = 0;        // of an even number the mean of the middle two
  std::int64_t p95_ns = 0;  // rank ceil(0.95 n)
  std::int64_t min_ns = 0, max_ns = 0;
};

class CallTimes {
 public:
  void add(std::uint32_t row, std::int64_t time_ns);
  // Once, after the last add(): in place.
  void sort();
  // Then: gives each row that has calls to `take`, ascending.
  template <typename Take>
  void for_each_row(Take&& take) const {
    for (std::size_t begin = 0; begin < packed_.size();) {
      std::size_t end = begin;
      while (end < packed_.size() && packed_[end] >> 32 == packed_[begin] >> 32) ++end;
      take(static_cast<std::uint32_t>(packed_[begin] >> 32), statistics(begin, end));
      begin = end;
    }
  }

 private:
  CallStatistics statistics(std::size_t begin, std::size_t end) const;

  GrowArray<std::uint64_t> packed_;                           // row << 32 | ns; all ones in the lower half: see long_
  std::vector<std::pair<std::uint32_t, std::int64_t>> long_;  // row -> ns, of calls of 4.29 s and more
};

}  // namespace graphtag
