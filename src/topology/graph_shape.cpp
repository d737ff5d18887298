#include "topology/graph_shape.h"

namespace graphtag {

void GraphShape::add_node(LocalId node) {
  if (!live.empty() && live.back().first.value + live.back().count == node.value) {
    ++live.back().count;
    return;
  }
  live.push_back({node, 1});
}

std::uint64_t GraphShape::node_count() const {
  std::uint64_t count = 0;
  for (const IdRange& range : live) count += range.count;
  return count;
}

}  // namespace graphtag
