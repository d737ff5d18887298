#include "join/open_ranges.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace graphtag {

void visit_open_ranges(std::vector<HostRange>& ranges, std::span<const HostPoint> points,
                       const std::function<void(std::size_t, std::span<const std::uint32_t>)>& visit) {
  std::stable_sort(ranges.begin(), ranges.end(), [](const HostRange& a, const HostRange& b) {
    return std::tie(a.thread, a.start_ns, b.end_ns) < std::tie(b.thread, b.start_ns, a.end_ns);
  });
  std::vector<std::uint32_t> order(points.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::tie(points[a].thread, points[a].time_ns, a) < std::tie(points[b].thread, points[b].time_ns, b);
  });

  std::vector<std::uint32_t> open;
  std::uint32_t next = 0;
  const auto close = [&](std::uint32_t thread, std::int64_t time_ns) {
    std::erase_if(open, [&](std::uint32_t i) { return ranges[i].thread != thread || ranges[i].end_ns <= time_ns; });
  };
  for (const std::uint32_t i : order) {
    const HostPoint& point = points[i];
    for (; next < ranges.size(); ++next) {
      const HostRange& range = ranges[next];
      if (std::tie(range.thread, range.start_ns) > std::tie(point.thread, point.time_ns)) break;
      close(range.thread, range.start_ns);
      if (range.end_ns > range.start_ns && open.size() < kOpenRanges) open.push_back(next);
    }
    close(point.thread, point.time_ns);
    visit(i, open);
  }
}

}  // namespace graphtag
