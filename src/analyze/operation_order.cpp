#include "analyze/operation_order.h"

#include <boost/sort/pdqsort/pdqsort.hpp>
#include <tuple>

namespace graphtag {

bool starts_before(const GpuOperation& a, const GpuOperation& b) {
  if (a.device != b.device) return a.device < b.device;
  if (a.start_ns != b.start_ns) return a.start_ns < b.start_ns;
  return std::tie(a.stream, a.end_ns, a.replay, a.local_id, a.annotation, a.name) <
         std::tie(b.stream, b.end_ns, b.replay, b.local_id, b.annotation, b.name);
}

// Traces are nearly in order, which this sort makes use of.
void sort_by_start(GrowArray<GpuOperation>& operations) {
  boost::sort::pdqsort(operations.begin(), operations.end(), starts_before);
}

}  // namespace graphtag
