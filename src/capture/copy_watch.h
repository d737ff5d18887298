// Tells nodes that a program creates from those that the driver creates while it copies a graph: for cudaGraphClone, for a child
// graph, and inside cudaGraphInstantiate. All three look alike until they end, as seen on an H200 (tests/golden/h200/callback_order.txt):
//
//   graph_created 3                    a copy of graph 1 begins, or anything else
//   node_created 3:0                   may be a node of the program's: recorded, and undecided
//   node_cloned  3:0 <- 1:0            it was a copy; graph 3 is one, so later node_created in it are passed over
//   node_created 3:1  node_cloned 3:2 <- 1:2     the id changes in between: copies get the local ids of their originals
//   then  graph_cloned 3 <- 1          cudaGraphClone: the copies are nodes like any other
//   or    node_created 7:4             graph 3 is the child graph that 7:4 holds, and 7:4 the program's: likewise
//   or    exec_created 3               the copies are the nodes of exec graph 3, those of nested graphs with new ids
//
// A graph that comes up is held by the next node that is created in a graph with a lower id, if it is held at all: bodies and child
// graphs are made while their node is, in a graph that exists.
//
// Where node_cloned comes before node_created (no driver that was seen does that), the node itself tells.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "driver/driver.h"
#include "model/ids.h"

namespace graphtag {

// For one thread alone. All that are not noexcept may throw std::bad_alloc.
class CopyWatch {
 public:
  struct Copy {
    NodeHandle node;
    NodeId id;  // when it was cloned
    NodeId original;
  };

  void graph_created(GraphId graph);
  void graph_destroyed(GraphId graph) noexcept;
  // Whether node_created of this graph needs no look at anything else.
  bool is_settled(GraphId graph) const noexcept { return graph == settled_; }
  struct Created {
    bool copy = false;           // of a node of another graph: pass it over
    std::vector<GraphId> holds;  // graphs that the node may hold
  };
  Created node_created(NodeHandle node, NodeId id);
  // Before node_cloned of `node`: if another node was undecided, it was the program's.
  void node_cloning(NodeHandle node);
  // The graphs that the node may hold, by the id that it has now.
  std::vector<GraphId> node_cloned(const Copy& copy);
  // `id`: its last one. While a graph is instantiated the driver replaces some of the copied nodes, and the new node takes the id over,
  // so a copy that is gone still says where its original went.
  void node_destroyed(NodeHandle node, NodeId id);

  // Copies that turned out to be nodes like any other, ascending by id; each is handed out once.
  bool has_decided() const noexcept { return !decided_.empty(); }
  std::vector<Copy> take_decided();
  // cudaGraphClone made `graph`, and whatever is nested in it.
  std::vector<Copy> take_clone(GraphId graph);
  // The thread is not in a call that copies: nothing is undecided.
  bool has_pending() const noexcept { return undecided_ || !nodes_.empty(); }
  std::vector<Copy> take_all();
  // Ends an instantiation. What was copied before it into graphs older than `exec` is in `older`; `replaced` are copies that are gone,
  // by their last ids in `exec`.
  struct Instantiation {
    std::vector<Copy> nodes;
    std::vector<Copy> replaced;
    std::vector<Copy> older;
  };
  Instantiation take_instantiation(GraphId exec);
  // The copy of `template_graph` that is being made an exec graph; nothing if it has no nodes.
  std::optional<GraphId> copy_of(GraphId template_graph) const noexcept;

 private:
  struct Fresh {
    GraphId graph;
    bool started = false;  // a node of the program's was created in it, so it is held by none that comes
  };
  void decide();
  bool is_copy(GraphId graph) const noexcept;
  template <typename Wanted>
  std::vector<Copy> take(Wanted wanted);

  GraphId settled_;
  std::vector<Fresh> fresh_;                           // in the order in which they came up
  std::vector<GraphId> copies_;                        // graphs that are being copied into
  boost::unordered_flat_map<NodeHandle, Copy> nodes_;  // copied node -> what it is a copy of
  std::vector<Copy> gone_;                             // copies destroyed since they were made, by their last ids
  bool clones_first_ = false;                          // node_cloned comes before node_created here
  NodeHandle last_ = nullptr;                          // the node of the last node_created
  NodeId last_id_;
  std::vector<GraphId> last_holds_;
  bool undecided_ = false;        // it is the first of its graph: perhaps a copy
  std::vector<GraphId> decided_;  // copied graphs, known to be held by a node of the program's
};

}  // namespace graphtag
