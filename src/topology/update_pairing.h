// Which node of a new graph replaces which node of an exec graph in cudaGraphExecUpdate, where nobody watched the update.
//
// The update demands graphs of one shape, so the k-th live node stands for the k-th live node; nested ones likewise, wherever the
// exec graph numbered them.
//
//   exec graph of 1:  0 kernel  1 child graph 2 {0 kernel, 1 kernel}  2 kernel     its ids: 0 1 2, nested 3 4
//   new graph 7:      0 kernel  2 child graph 8 {0 kernel, 1 kernel}  3 kernel     (1 was destroyed)
//   pairs             0 <- 7:0   1 <- 7:2   2 <- 7:3   3 <- 8:0   4 <- 8:1
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "topology/graph_shape.h"
#include "topology/node_pairs.h"

namespace graphtag {

// exec-local id -> node of `updated` or of a graph in it; ascending by id. `nested` says where the exec graph put the nested
// nodes of its template `built_from` (from number_nested, or as seen). Nothing if the shapes differ, or if a body of either is
// not known.
std::optional<std::vector<NodePairs>> pair_for_update(const GraphShape& built_from, const std::vector<NodePairs>& nested,
                                                      const GraphShape& updated);

}  // namespace graphtag
