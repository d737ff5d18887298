// Where instantiation puts the nodes of child graphs and conditional bodies, on drivers on which this rule was checked
// (CUDA 13.0).
//
// Top-level nodes keep their local ids. Nested ones are counted on from the template's next local id:
//   own(g)     the live nodes of g get the next ids, in creation order
//   nested(g)  for each node of g that holds graphs, in creation order: own() of each of its bodies in order, then
//              nested() of its bodies in REVERSE order
//
//   graph 1 (next id 3):  0 kernel   1 conditional {2, 3}   2 kernel
//     graph 2:            0 kernel   1 child graph 4                       4: 0 kernel
//     graph 3:            0 child graph 5   2 kernel  (1 was destroyed)    5: 0 kernel   1 kernel
//
//   exec-local id   0    1    2    3    4    5    6    7    8    9
//   node           1:0  1:1  1:2  2:0  2:1  3:0  3:2  5:0  5:1  4:0
#pragma once

#include <cstdint>
#include <vector>

#include "topology/graph_shape.h"
#include "topology/node_pairs.h"

namespace graphtag {

struct NestedNumbering {
  std::vector<NodePairs> pairs;  // exec-local id -> node of a nested graph; ascending by id
  std::uint32_t end = 0;         // one past the last id that is known
  bool complete = true;          // false: a conditional's bodies are not known, and nothing can be said of the ids from `end` on
};

// Numbers the nested nodes of an exec graph of `graph`, whose next node would get `next_local_id`. Stops, incomplete, where ids
// would pass 32 bits or holders nest deeper than 256.
NestedNumbering number_nested(const GraphShape& graph, std::uint32_t next_local_id);

}  // namespace graphtag
