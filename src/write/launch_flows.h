// The arrows from a launch on the host to the GPU operations that it started: they share a correlation id.
#pragma once

#include <cstdint>
#include <vector>

#include "base/grow_array.h"

namespace graphtag {

// One launch has as many arrows as operations, and each arrow an id of its own, since a Perfetto flow that ends once is over:
//
//   cudaGraphLaunch, correlation 12    flow_ids 1 2 3
//   kernels of correlation 12          terminating_flow_ids 1 | 2 | 3
//
// 16 bytes an operation.
class LaunchFlows {
 public:
  // The id of the arrow that may end at an operation.
  std::uint64_t add_operation(std::uint64_t correlation);

  // Once, before the calls below.
  void all_added();
  // The arrows of a launch, into `ids`. Only the first launch of a correlation gets them: false for the others.
  bool claim(std::uint64_t correlation, std::vector<std::uint64_t>& ids);
  // Whether a launch has claimed this arrow: only then it has a start.
  bool claimed(std::uint64_t correlation, std::uint64_t id) const;

 private:
  struct Arrow {
    std::uint64_t correlation = 0;
    std::uint64_t id : 63 = 0;
    std::uint64_t claimed : 1 = 0;
  };
  GrowArray<Arrow> arrows_;
};

}  // namespace graphtag
