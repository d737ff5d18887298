// The time that intervals cover together.
#pragma once

#include <cstdint>

#include "analyze/saturating.h"

namespace graphtag {

// The length of a union of half-open intervals that come by start.
class UnionLength {
 public:
  void add(std::int64_t start_ns, std::int64_t end_ns) {
    if (end_ns <= covered_to_ns_) return;
    add_saturating(length_ns_, end_ns - (start_ns > covered_to_ns_ ? start_ns : covered_to_ns_));
    covered_to_ns_ = end_ns;
  }
  // The next interval may start at any time.
  void restart() { covered_to_ns_ = INT64_MIN; }
  std::int64_t length_ns() const { return length_ns_; }

 private:
  std::int64_t covered_to_ns_ = INT64_MIN;
  std::int64_t length_ns_ = 0;
};

}  // namespace graphtag
