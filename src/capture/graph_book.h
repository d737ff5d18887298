// The graphs that came up while a window is open, as callbacks tell of them: who made them, and which nodes hold them.
//
// No callback names a holder. It is guessed from the order of events (capture/copy_watch.h), and counts once the graph's nodes are
// seen inside another graph's instantiation or update, or once the node's type was asked:
//
//   graph_created 4  graph_created 5  node_created 3:7     4 and 5 are the bodies of conditional 3:7
//   graph_created 6, a copy           node_created 3:8     6 is the child graph in 3:8
//   graph_created 8                   node_created 3:9     3:9 is a kernel, 8 a graph of its own: a wrong guess, never asked for
//
// Locked inside; touched when graphs come and go, not when nodes do.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "capture/scope_stack.h"
#include "driver/driver.h"
#include "model/ids.h"

namespace graphtag {

// A thread, for as long as it lives.
struct ThreadKey {
  const ThreadScopes* place = nullptr;
  std::uint32_t owner = 0;
  bool operator==(const ThreadKey&) const = default;
};

// What allocates may throw std::bad_alloc.
class GraphBook {
 public:
  // False: it was known.
  bool created(GraphId graph, GraphHandle handle, ThreadKey creator);
  void is_copy(GraphId graph);
  // It was instantiated by itself, so nothing holds it.
  void is_outermost(GraphId graph);
  // `node` was created while, or right after, `graphs` were.
  void may_hold(NodeId node, std::span<const GraphId> graphs);
  bool knows(GraphId graph) const;
  // Whether no node of `graph` holds a graph, for certain. It is not where another graph is about that could have been moved into it.
  bool is_flat(GraphId graph) const;
  std::optional<ThreadKey> creator(GraphId graph) const;

  struct Holder {
    NodeId node;
    std::uint32_t index = 0;
    bool conditional = false;
  };
  // Which node holds `graph`, if one does.
  std::optional<Holder> holder(GraphId graph) const;
  // The graphs that `node` holds if it is a conditional, in order.
  std::vector<GraphId> bodies(NodeId node) const;
  // `graph` is held for certain.
  void confirm(GraphId graph, const Holder& holder);

  struct Known {
    GraphId id;
    GraphHandle handle;
  };
  std::vector<Known> made_by(ThreadKey creator) const;

  // Takes out the graph and those that it holds.
  void destroyed(GraphId graph);
  // Takes out the graphs from `first` on that `creator` made, and returns them.
  std::vector<GraphId> take_since(GraphId first, ThreadKey creator);
  void clear();

 private:
  struct Entry {
    GraphHandle handle = nullptr;
    ThreadKey creator;
    bool copy = false;
    bool outermost = false;
    std::optional<Holder> guess;  // `conditional` is not decided in it
    std::optional<Holder> confirmed;
    std::vector<GraphId> holds;  // graphs that its nodes hold, or may
  };
  static std::optional<Holder> holder_of(const Entry& entry);

  mutable std::mutex mutex_;
  std::map<GraphId, Entry> entries_;
};

}  // namespace graphtag
