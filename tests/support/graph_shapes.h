// Graphs' shapes by hand.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "topology/graph_shape.h"

namespace graphtag::test {

// The graph `id` with these live nodes, of which `holders` hold others.
inline GraphShape shape(std::uint32_t id, std::vector<std::uint32_t> nodes, std::vector<GraphShape::Holder> holders = {}) {
  GraphShape graph;
  graph.id = {id};
  for (const std::uint32_t node : nodes) graph.add_node({node});
  graph.holders = std::move(holders);
  return graph;
}

inline NodeId node(std::uint32_t graph, std::uint32_t local) {
  return {GraphId{graph}, LocalId{local}};
}

}  // namespace graphtag::test
