#include "write/launch_flows.h"

#include <algorithm>
#include <utility>

namespace graphtag {

std::uint64_t LaunchFlows::add_operation(std::uint64_t correlation) {
  Arrow arrow;
  arrow.correlation = correlation;
  arrow.id = arrows_.size() + 1;
  arrows_.push_back(arrow);
  return arrow.id;
}

void LaunchFlows::all_added() {
  std::sort(arrows_.begin(), arrows_.end(), [](const Arrow& a, const Arrow& b) {
    return a.correlation != b.correlation ? a.correlation < b.correlation : a.id < b.id;
  });
}

bool LaunchFlows::claim(std::uint64_t correlation, std::vector<std::uint64_t>& ids) {
  ids.clear();
  auto* arrow = std::lower_bound(arrows_.begin(), arrows_.end(), correlation,
                                 [](const Arrow& a, std::uint64_t wanted) { return a.correlation < wanted; });
  for (; arrow != arrows_.end() && arrow->correlation == correlation; ++arrow) {
    if (arrow->claimed) return false;
    arrow->claimed = 1;
    ids.push_back(arrow->id);
  }
  return true;
}

bool LaunchFlows::claimed(std::uint64_t correlation, std::uint64_t id) const {
  const auto* arrow =
      std::lower_bound(arrows_.begin(), arrows_.end(), std::pair{correlation, id}, [](const Arrow& a, const auto& wanted) {
        return std::pair{a.correlation, std::uint64_t{a.id}} < wanted;
      });
  return arrow != arrows_.end() && arrow->correlation == correlation && arrow->id == id && arrow->claimed != 0;
}

}  // namespace graphtag
