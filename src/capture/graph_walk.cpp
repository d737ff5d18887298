#include "capture/graph_walk.h"

#include <algorithm>

namespace graphtag {
namespace {

constexpr int kDeepest = 256;
// A graph that goes on growing while it is listed is given up.
constexpr int kTries = 4;

class Walker {
 public:
  Walker(const Driver& driver, const BodiesOf& bodies_of) : driver_(driver), bodies_of_(bodies_of) {}

  std::optional<GraphShape> visit(GraphHandle graph, int depth) {
    GraphShape shape;
    if (depth > kDeepest || !driver_.graph_id(graph, shape.id).ok()) return std::nullopt;
    const std::optional<std::vector<NodeHandle>> handles = list_nodes(driver_, graph);
    if (!handles) return std::nullopt;
    struct Node {
      LocalId local;
      NodeHandle handle;
    };
    std::vector<Node> nodes;
    nodes.reserve(handles->size());
    for (const NodeHandle handle : *handles) {
      NodeId id;
      if (!driver_.node_id(handle, id).ok()) return std::nullopt;
      nodes.push_back({id.local(), handle});
    }
    std::sort(nodes.begin(), nodes.end(), [](const Node& a, const Node& b) { return a.local < b.local; });

    const std::size_t index = graphs_.size();
    graphs_.push_back({shape.id, {}, nodes.empty() ? 0 : nodes.back().local.value + 1});
    for (const Node& node : nodes) {
      NodeType type{};
      if (!driver_.node_type(node.handle, type).ok()) return std::nullopt;
      count_node_type(type, graphs_[index].own);
      shape.add_node(node.local);
      if (type == NodeType::child_graph || type == NodeType::conditional) {
        shape.holders.push_back(holder({shape.id, node.local}, node.handle, type, depth));
      }
    }
    return shape;
  }

  std::vector<WalkedGraph> take_graphs() { return std::move(graphs_); }

 private:
  GraphShape::Holder holder(NodeId id, NodeHandle handle, NodeType type, int depth) {
    GraphShape::Holder held{id.local(), type == NodeType::conditional, true, {}};
    std::vector<GraphHandle> bodies;
    if (held.conditional) {
      bodies = list_bodies(driver_, handle);
      if (bodies.empty()) bodies = bodies_of_(id);
    } else if (GraphHandle child = nullptr; driver_.child_graph(handle, child).ok()) {
      bodies.push_back(child);
    }
    held.bodies_known = !bodies.empty();
    for (const GraphHandle body : bodies) {
      std::optional<GraphShape> shape = visit(body, depth + 1);
      if (!shape) {
        held.bodies_known = false;
        break;
      }
      held.bodies.push_back(*std::move(shape));
    }
    return held;
  }

  const Driver& driver_;
  const BodiesOf& bodies_of_;
  std::vector<WalkedGraph> graphs_;
};

}  // namespace

std::optional<std::vector<NodeHandle>> list_nodes(const Driver& driver, GraphHandle graph) {
  std::vector<NodeHandle> nodes;
  for (int i = 0; i < kTries; ++i) {
    std::size_t count = 0;
    if (!driver.graph_nodes(graph, nullptr, count).ok()) return std::nullopt;
    nodes.resize(count);
    if (count == 0) return nodes;
    const DriverResult result = driver.graph_nodes(graph, nodes.data(), count);
    if (result.ok()) {
      nodes.resize(count);
      return nodes;
    }
    if (result.status != DriverStatus::too_small) return std::nullopt;
  }
  return std::nullopt;
}

void count_node_type(NodeType type, NodeCounts& counts) {
  if (type == NodeType::kernel) ++counts.kernels;
  if (type == NodeType::memcpy) ++counts.memcpys;
  if (type == NodeType::memset) ++counts.memsets;
}

std::vector<GraphHandle> list_bodies(const Driver& driver, NodeHandle conditional) {
  std::size_t count = 0;
  if (!driver.conditional_bodies(conditional, nullptr, count).ok() || count == 0) return {};
  std::vector<GraphHandle> bodies(count);
  if (!driver.conditional_bodies(conditional, bodies.data(), count).ok()) return {};
  bodies.resize(count);
  return bodies;
}

std::optional<GraphWalk> walk_graph(const Driver& driver, GraphHandle graph, const BodiesOf& bodies_of) {
  Walker walker(driver, bodies_of);
  std::optional<GraphShape> shape = walker.visit(graph, 0);
  if (!shape) return std::nullopt;
  return GraphWalk{*std::move(shape), walker.take_graphs()};
}

}  // namespace graphtag
