// What FakeCuda is made of. For this folder alone.
#pragma once

#include <atomic>
#include <mutex>
#include <unordered_set>

#include "tests/fake/fake_cuda.h"

namespace graphtag::fake {

struct Graph;

struct Node {
  Graph* graph = nullptr;
  std::uint32_t local_id = 0;
  NodeType type = NodeType::kernel;
  std::uint64_t tag = 0;
  std::vector<Node*> dependencies;
  std::vector<Graph*> bodies;  // the child graph, or a conditional's bodies
};

// A node of an exec graph, and what it was made from.
struct ExecItem {
  Node* node = nullptr;
  const Node* source = nullptr;  // in the template, as long as that lives
  std::vector<std::vector<ExecItem>> bodies;
};

struct Graph {
  std::uint32_t id = 0;
  std::uint32_t next_local_id = 0;
  std::vector<Node*> nodes;  // live ones, in creation order
  bool held = false;         // by a child-graph or conditional node
  int captures = 0;          // now
  // Of a template: the live exec graphs with conditionals made from it, of which there may be one.
  int conditional_execs = 0;
  // Of an exec graph, whose handle is that of the copy that it was made from:
  bool is_exec = false;
  Graph* source = nullptr;  // the template, if it lives
  Graph* inner = nullptr;   // the second copy
  std::vector<ExecItem> items;
};

struct Stream {
  Graph* graph = nullptr;  // null: not capturing
  bool origin = false;
  std::uint64_t capture_id = 0;
  std::vector<NodeHandle> frontier;
};

inline NodeHandle handle(const Node* node) {
  return reinterpret_cast<NodeHandle>(const_cast<Node*>(node));
}
inline GraphHandle handle(const Graph* graph) {
  return reinterpret_cast<GraphHandle>(const_cast<Graph*>(graph));
}
inline ExecHandle exec_handle(const Graph* graph) {
  return reinterpret_cast<ExecHandle>(const_cast<Graph*>(graph));
}
inline Node* to_node(NodeHandle node) {
  return reinterpret_cast<Node*>(node);
}
inline Graph* to_graph(GraphHandle graph) {
  return reinterpret_cast<Graph*>(graph);
}
inline Graph* to_graph(ExecHandle exec) {
  return reinterpret_cast<Graph*>(exec);
}
inline Stream* to_stream(StreamHandle stream) {
  return reinterpret_cast<Stream*>(stream);
}

// Objects whose addresses come back, newest first.
template <typename T>
class Pool {
 public:
  T* take() {
    if (free_.empty()) {
      all_.push_back(std::make_unique<T>());
      free_.push_back(all_.back().get());
    }
    T* object = free_.back();
    free_.pop_back();
    live_.insert(object);
    return object;
  }
  void give_back(T* object) {
    *object = T{};
    live_.erase(object);
    free_.push_back(object);
  }
  bool has(const void* object) const { return live_.count(object) != 0; }
  const std::unordered_set<const void*>& live() const { return live_; }

 private:
  std::vector<std::unique_ptr<T>> all_;
  std::vector<T*> free_;
  std::unordered_set<const void*> live_;
};

// Changes its state under `mutex`, and sends events without it.
struct Model {
  explicit Model(const Options& o) : options(o) {}

  void emit(const GraphEvent& event);
  void tell_of_call(GraphHandle graph, bool begins);
  void emit(GraphEventKind kind, const Graph* graph, const Node* node = nullptr, const Node* dependency = nullptr);

  // graphs.cpp
  Graph* new_graph(bool held);
  Node* new_node(Graph* graph, NodeType type, std::uint64_t tag);
  // A node of a template: begun, then given what it holds, then finished.
  Node* begin_node(GraphHandle graph, NodeType type, std::span<const NodeHandle> dependencies, std::uint64_t tag);
  void finish_node(Node* node);
  NodeHandle add_node(GraphHandle graph, NodeType type, std::span<const NodeHandle> dependencies, std::uint64_t tag);
  NodeHandle add_child(GraphHandle graph, GraphHandle child, std::span<const NodeHandle> dependencies, bool move);
  Conditional add_conditional(GraphHandle graph, std::size_t bodies, std::span<const NodeHandle> dependencies);
  void copy_graph(const Graph* from, Graph* to);
  void announce_destruction(const Graph* graph);
  void free_node(Node* node);
  void free_graph(Graph* graph);
  bool is_template(GraphHandle graph);  // live, and no exec graph; mutex held
  bool has_conditional(const Graph* graph);

  // execs.cpp
  void copy_innerly(const Graph* from, Graph* to);
  std::vector<ExecItem> pair_items(const Graph* source, const Graph* copy);
  void flatten(Graph* graph, Graph* image);
  void drop_idle_nodes(Graph* image);
  void add_extra_nodes(Graph* image);

  // streams.cpp
  Stream* capturing(StreamHandle stream);  // null if it does not; mutex held
  void leave_capture(std::uint64_t capture_id);

  const Options options;
  FakeActivity activity;
  std::atomic<GraphObserver*> observer{nullptr};
  std::atomic<std::uint32_t> events{0};  // GraphEventSet::bits

  std::mutex mutex;  // of all below, and of the objects in the pools
  bool taken_by_other = false;
  std::uint32_t next_graph_id = 1;
  std::uint64_t next_capture_id = 1;
  Pool<Node> nodes;
  Pool<Graph> graphs;
  Pool<Stream> streams;
};

}  // namespace graphtag::fake
