// A model of CUDA graphs in this process, for tests without a GPU: it hands out ids, copies, instantiates, captures and calls
// back as an H200 of driver 580.159 was seen to (tests/golden/), and says which record each node of an exec graph makes.
//
//   FakeCuda cuda;
//   cuda.driver()                                               graphtag's side: ids, frontiers, callbacks
//   GraphHandle g = cuda.graph_create();                        the program's side
//   NodeHandle k = cuda.add_node(g, NodeType::kernel, {}, 7);
//   ExecHandle x = cuda.instantiate(g);
//   cuda.replay(x)  -> {exec id:0, kernel, 7}                   resolve(record.id) must be what the test knows of 7
//
// Several threads may use one FakeCuda, each its own graphs and streams; callbacks run without a lock. Failing calls return null
// or false, as CUDA's return an error, and change nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "driver/driver.h"
#include "tests/fake/fake_activity.h"

namespace graphtag::fake {

struct Model;

struct Options {
  int devices = 1;
  bool has_exec_id = true;           // cuptiGetGraphExecId; not in CUDA 12.0 to 12.2
  bool has_node_params = false;      // cuGraphNodeGetParams; CUDA 13.2 and newer
  bool has_callbacks = true;         // cuptiSubscribe and its like
  bool tells_calls = true;           // the beginning and end of instantiations
  bool clone_before_create = false;  // node_cloned and graph_cloned come before the clone's graph_created and node_created
  bool has_activity = true;          // CUPTI's activity records
  bool extra_nodes = true;           // instantiation adds nodes of the driver's own where there are conditionals
};

// What a replay makes a profiler write.
struct Record {
  NodeId id;
  NodeType type = NodeType::kernel;
  std::uint64_t tag = 0;  // what the test gave the node
  bool operator==(const Record&) const = default;
};

struct Conditional {
  NodeHandle node = nullptr;
  std::vector<GraphHandle> bodies;
};

// A point in a stream, as cudaEventRecord makes it.
struct Event {
  std::uint64_t capture_id = 0;
  std::vector<NodeHandle> frontier;
};

class FakeCuda {
 public:
  explicit FakeCuda(Options options = {});
  ~FakeCuda();
  FakeCuda(const FakeCuda&) = delete;
  FakeCuda& operator=(const FakeCuda&) = delete;

  Driver driver();
  FakeActivity& activity();

  // Another tool takes or releases the one CUPTI subscription; false if it is not there to take, or not its own.
  bool take_subscription();
  bool release_subscription();
  bool has_subscriber() const;  // graphtag's, not the other tool's

  // --- graphs built by hand. `tag` is the node's identity, which travels with copies of it.
  GraphHandle graph_create();
  NodeHandle add_node(GraphHandle graph, NodeType type, std::span<const NodeHandle> dependencies, std::uint64_t tag);
  // Copies `child`, or with `move` takes it over. Null if it holds a conditional.
  NodeHandle add_child(GraphHandle graph, GraphHandle child, std::span<const NodeHandle> dependencies, bool move = false);
  Conditional add_conditional(GraphHandle graph, std::size_t bodies, std::span<const NodeHandle> dependencies);
  // False while the node's graph is being captured.
  bool destroy_node(NodeHandle node);
  bool destroy_graph(GraphHandle graph);
  GraphHandle clone(GraphHandle graph);  // null if it holds a conditional

  // --- exec graphs
  ExecHandle instantiate(GraphHandle graph);        // null for the second live one of a graph with conditionals
  bool update(ExecHandle exec, GraphHandle graph);  // false if the shapes differ
  // Of a node of a template: cuGraphKernelNodeSetParams.
  bool set_template_params(NodeHandle node, std::uint64_t tag);
  bool set_params(ExecHandle exec, NodeHandle template_node, std::uint64_t tag);
  bool destroy_exec(ExecHandle exec);
  // The records of one replay, in creation order, nested ones in their holder's place; `runs(node, body)` says whether a
  // conditional's body does.
  std::vector<Record> replay(ExecHandle exec, const std::function<bool(NodeHandle node, std::size_t body)>& runs = nullptr);

  // --- capture
  StreamHandle stream_create();
  bool begin_capture(StreamHandle stream);
  bool begin_capture_to_graph(StreamHandle stream, GraphHandle graph, std::span<const NodeHandle> dependencies);
  // Adds a node behind the stream's frontier; null if the stream does not capture.
  NodeHandle launch(StreamHandle stream, NodeType type, std::uint64_t tag);
  NodeHandle launch_child(StreamHandle stream, GraphHandle child);
  Conditional launch_conditional(StreamHandle stream, std::size_t bodies);
  Event record_event(StreamHandle stream);
  // Puts the stream behind the event: one that does not capture joins the event's capture.
  bool wait_event(StreamHandle stream, const Event& event);
  // Null if the stream did not begin the capture, or work on another stream was not joined: then the graph is destroyed.
  GraphHandle end_capture(StreamHandle stream);

  // Sends any event to the subscriber, for orders that no call makes.
  void emit(const GraphEvent& event);

 private:
  ExecHandle instantiate_in_call(GraphHandle graph);

  friend struct FakeCalls;
  friend struct Model;

  std::unique_ptr<Model> model_;
};

}  // namespace graphtag::fake
