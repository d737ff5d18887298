// Which node became which: of a clone, of an exec graph, of an update. Pairs that count up together are kept as one entry.
//
//   exec graph's local ids   5  6  7 | 8  9
//   nodes of graph 3         0  1  2 |        {5, 3:0, 3}
//   nodes of graph 4                 | 2  3   {8, 4:2, 2}
#pragma once

#include <cstdint>
#include <vector>

#include "model/ids.h"

namespace graphtag {

// `count` nodes of one graph with local ids first, first + 1, ... that stand for the nodes source, source + 1, ... of another.
struct NodePairs {
  LocalId first;
  NodeId source;
  std::uint32_t count = 1;
  bool operator==(const NodePairs&) const = default;
};

// Adds `count` pairs at the end of `pairs`, lengthening its last entry where they go on from it.
inline void append_pairs(std::vector<NodePairs>& pairs, LocalId first, NodeId source, std::uint32_t count = 1) {
  if (!pairs.empty()) {
    NodePairs& last = pairs.back();
    const bool follows = last.first.value + last.count == first.value && last.source.graph() == source.graph() &&
                         last.source.local().value + last.count == source.local().value;
    if (follows) {
      last.count += count;
      return;
    }
  }
  pairs.push_back({first, source, count});
}

}  // namespace graphtag
