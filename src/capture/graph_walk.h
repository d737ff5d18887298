// Asks the driver what is in a graph, node by node: never inside a callback, and only of graphs that nobody can be destroying.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "driver/driver.h"
#include "model/annotation_file.h"
#include "model/ids.h"
#include "topology/graph_shape.h"

namespace graphtag {

// The live nodes of a graph; nothing if the driver refused. May throw std::bad_alloc.
std::optional<std::vector<NodeHandle>> list_nodes(const Driver& driver, GraphHandle graph);

// Adds a node to the kind that it is of, if it makes GPU records.
void count_node_type(NodeType type, NodeCounts& counts);

// The bodies of a conditional; empty where the driver cannot tell.
std::vector<GraphHandle> list_bodies(const Driver& driver, NodeHandle conditional);

// A graph and all that it holds.
struct WalkedGraph {
  GraphId id;
  NodeCounts own;                   // without those of held graphs
  std::uint32_t next_local_id = 0;  // one past the highest of a live node
};
struct GraphWalk {
  GraphShape shape;
  std::vector<WalkedGraph> graphs;  // the outermost first
};

// Bodies that the driver cannot tell of are asked of `bodies_of`. Nothing if the driver refused. Stops, with bodies not known, at
// depth 256. May throw std::bad_alloc.
using BodiesOf = std::function<std::vector<GraphHandle>(NodeId conditional)>;
std::optional<GraphWalk> walk_graph(const Driver& driver, GraphHandle graph, const BodiesOf& bodies_of);

}  // namespace graphtag
