// How many nodes of each graph the replays show: what tells that records are missing.
#pragma once

#include <cstdint>
#include <vector>

#include "join/operations.h"

namespace graphtag {

// Whether the record says which node of a graph it is of.
bool shows_node(const GpuOperation& operation);

struct GraphReplays {
  GraphId graph;  // the exec graph
  std::uint64_t replays = 0;
  // Distinct nodes that made a record in one replay: a node that a loop in a body ran again counts once, a record without a node id not at all.
  std::uint64_t nodes_seen_min = 0, nodes_seen_max = 0;
  // By the annotation file (without conditional bodies, which may not run), else the most seen in one replay.
  std::uint64_t nodes_expected = 0;
  std::uint64_t short_replays = 0;  // that show fewer nodes than expected; none if no replay shows any
};

// Ascending by graph id. Expects table.operations as sort_by_start leaves them, and leaves them so. With `only` (index: replay) of those replays
// alone, all of their records looked at.
std::vector<GraphReplays> count_replay_nodes(OperationTable& table, const std::vector<bool>* only = nullptr);

}  // namespace graphtag
