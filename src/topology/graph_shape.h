// The shape of a template graph: its live nodes in creation order, and the graphs that some of them hold.
//
//   graph 1:  0 kernel   1 child graph 2   3 kernel   4 conditional, bodies 3 and 4      (2 was destroyed)
//   live     [0, 2) [3, 5)
//   holders   1 -> {2}   4 -> {3, 4}
#pragma once

#include <cstdint>
#include <vector>

#include "model/ids.h"

namespace graphtag {

// Local ids first, first + 1, ..., first + count - 1.
struct IdRange {
  LocalId first;
  std::uint32_t count = 0;
  bool operator==(const IdRange&) const = default;
};

struct GraphShape {
  // A child-graph node (one body: the child graph) or a conditional node (its bodies in order).
  struct Holder {
    LocalId node;
    bool conditional = false;
    bool bodies_known = true;  // false: a conditional of which not every body is known
    std::vector<GraphShape> bodies{};
  };

  GraphId id;
  std::vector<IdRange> live;    // ascending, so in creation order
  std::vector<Holder> holders;  // ascending by node; each is in `live`

  // Adds the next live node; nodes must be added in creation order.
  void add_node(LocalId node);
  // How many live nodes; without those of bodies.
  std::uint64_t node_count() const;
};

}  // namespace graphtag
