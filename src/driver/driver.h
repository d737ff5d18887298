// CUDA and CUPTI as a table of functions over plain types: the real one finds the libraries late (driver/real_driver.h), a fake
// one models CUDA graphs in tests (tests/fake/). No vendor struct leaves this folder.
//
//   capture/ ──▶ Driver ──▶ libcuda.so.1, libcupti.so.12 or .13     ids, nodes, frontiers
//   capture/ ◀── GraphObserver ◀── CUPTI's resource callbacks       what happens to graphs, as it happens
//   record/  ◀─▶ Activity (driver/activity.h)                       records of what the GPUs did
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "driver/activity.h"
#include "driver/driver_result.h"
#include "model/ids.h"

namespace graphtag {

// CUDA's handles, as distinct types; never dereferenced. An address comes back after its owner was destroyed: ids do not.
using GraphHandle = struct OpaqueGraph*;    // CUgraph
using NodeHandle = struct OpaqueNode*;      // CUgraphNode
using ExecHandle = struct OpaqueExec*;      // CUgraphExec
using StreamHandle = struct OpaqueStream*;  // CUstream; null is the legacy default stream

// CUgraphNodeType. Drivers may return numbers beyond these.
enum class NodeType : std::int32_t {
  kernel = 0,
  memcpy = 1,
  memset = 2,
  host = 3,
  child_graph = 4,
  empty = 5,
  event_wait = 6,
  event_record = 7,
  semaphore_signal = 8,
  semaphore_wait = 9,
  memory_alloc = 10,
  memory_free = 11,
  batch_memory_op = 12,
  conditional = 13,
  memcpy_batch = 14,
};

enum class CaptureStatus : std::int32_t { none = 0, active = 1, invalidated = 2 };  // CUstreamCaptureStatus

// The state of a stream's capture. The frontier: the nodes that the stream's next node would depend on. It belongs to the driver
// and is valid until the next call on the stream.
struct CaptureInfo {
  CaptureStatus status = CaptureStatus::none;
  std::uint64_t capture_id = 0;  // unique in the process, one a capture, shared by its streams
  GraphHandle graph = nullptr;
  const NodeHandle* frontier = nullptr;
  std::size_t frontier_size = 0;
};

// What CUPTI's resource callbacks tell about graphs, and which handles each has. The order in which they come (CUDA 13.0, one
// line a call; all of it is in tests/golden/h200/callback_order.txt):
//
//   add a kernel       node_create_starting, dependency_created ..., node_created
//   add a child graph  node_create_starting, COPY of the child, node_created (of the holder)
//   add a conditional  node_create_starting, graph_created of each body in order, node_created (of the conditional)
//   clone              COPY, graph_cloned
//   instantiate        COPY (of which the exec graph is made, and which has its id), then a second, inner copy of which only
//                      graph_created, node_create_starting and node_created of holders are told, exec_create_starting; graphs and
//                      nodes of the copy that the exec graph does without are destroyed, nodes of the driver's own are created
//                      in it; exec_created
//   destroy a graph    graph_destroy_starting, node_destroy_starting ..., of graphs held the same behind their holder
//   destroy an exec    exec_destroy_starting, then as destroy a graph, of both copies
//   COPY               graph_created, then for each node: node_create_starting, the COPYs of graphs that it holds, node_created,
//                      node_cloned
//
// In a COPY a node's id is final from node_cloned on (in node_created it counts up as if no node had ever been destroyed), but
// nested nodes of an instantiation get theirs only by exec_created; until then they answer with the copy's. Nodes that allocate
// or free memory have no node_created in a COPY. An update tells of nodes whose parameters change (node_updated, for kernels then
// also node_params_set with the template's node), not of those that stay the same.
enum class GraphEventKind : std::uint8_t {
  graph_created,                // graph
  graph_destroy_starting,       // graph
  graph_cloned,                 // graph, original_graph
  node_create_starting,         // graph, node; the node has no id yet
  node_created,                 // graph, node
  node_destroy_starting,        // graph, node
  dependency_created,           // graph, node, dependency
  dependency_destroy_starting,  // graph, node, dependency
  exec_create_starting,         // graph: the template
  exec_created,                 // graph: the template; exec
  exec_destroy_starting,        // exec
  node_cloned,                  // graph, node, original_graph, original_node
  node_updated,                 // CUPTI 13.0 and newer: exec, node of the exec graph, original_node of the new graph
  node_params_set,  // CUPTI 13.0 and newer: exec, node of the exec graph, original_graph and original_node of the template
};
constexpr std::size_t kGraphEventKinds = 14;

// A set of kinds, one bit each.
struct GraphEventSet {
  std::uint32_t bits = 0;
  constexpr GraphEventSet() = default;
  constexpr GraphEventSet(std::initializer_list<GraphEventKind> kinds) {
    for (const GraphEventKind kind : kinds) bits |= std::uint32_t{1} << static_cast<unsigned>(kind);
  }
  constexpr GraphEventSet with(GraphEventKind kind) const {
    GraphEventSet more = *this;
    more.bits |= std::uint32_t{1} << static_cast<unsigned>(kind);
    return more;
  }
  constexpr bool contains(GraphEventKind kind) const { return (bits >> static_cast<unsigned>(kind) & 1) != 0; }
  bool operator==(const GraphEventSet&) const = default;
};

// One callback. Handles that the kind does not name are null. It lives until the observer returns.
struct GraphEvent {
  GraphEventKind kind = GraphEventKind::graph_created;
  GraphHandle graph = nullptr;
  GraphHandle original_graph = nullptr;
  NodeHandle node = nullptr;
  NodeHandle original_node = nullptr;
  NodeHandle dependency = nullptr;
  ExecHandle exec = nullptr;
};

// Gets the callbacks, on the thread that makes the CUDA call, several threads at once. Inside, only Driver::node_id, graph_id and
// exec_id may be called. A callback may still be running on another thread when unsubscribe() returns, so an observer is never
// destroyed.
class GraphObserver {
 public:
  virtual void on_graph_event(const GraphEvent& event) noexcept = 0;
  // This thread begins or ends a call that instantiates `graph`; what it is told in between is that call's doing. An end may be missing
  // if the subscription ended meanwhile. Where CUPTI does not tell of calls, neither comes.
  virtual void on_instantiation(GraphHandle graph, bool begins) noexcept = 0;

 protected:
  ~GraphObserver() = default;
};

// A subscription to CUPTI, of which a process has one at a time.
using SubscriptionHandle = struct OpaqueSubscription*;

// The functions behind a Driver. Each gets the table's own `self`; none is null: what a driver lacks returns
// DriverStatus::missing.
struct DriverTable {
  DriverResult (*node_id)(void* self, NodeHandle node, NodeId* id) noexcept;
  DriverResult (*graph_id)(void* self, GraphHandle graph, GraphId* id) noexcept;
  DriverResult (*exec_id)(void* self, ExecHandle exec, GraphId* id) noexcept;
  DriverResult (*graph_nodes)(void* self, GraphHandle graph, NodeHandle* nodes, std::size_t* count) noexcept;
  DriverResult (*node_type)(void* self, NodeHandle node, NodeType* type) noexcept;
  DriverResult (*child_graph)(void* self, NodeHandle node, GraphHandle* child) noexcept;
  DriverResult (*conditional_bodies)(void* self, NodeHandle node, GraphHandle* bodies, std::size_t* count) noexcept;
  DriverResult (*capture_info)(void* self, StreamHandle stream, CaptureInfo* info) noexcept;
  DriverResult (*subscribe)(void* self, GraphObserver* observer, GraphEventSet events, SubscriptionHandle* subscription) noexcept;
  DriverResult (*set_events)(void* self, SubscriptionHandle subscription, GraphEventSet events) noexcept;
  DriverResult (*unsubscribe)(void* self, SubscriptionHandle subscription) noexcept;
  DriverResult (*device_count)(void* self, int* count) noexcept;
  DriverResult (*device_uuid)(void* self, int device, std::uint8_t* uuid) noexcept;  // 16 bytes
  DriverResult (*device_name)(void* self, int device, char* name, std::size_t capacity) noexcept;
  DriverResult (*timestamp_ns)(void* self, std::uint64_t* time_ns) noexcept;
  const ActivityTable* activity;
};

// A table and its state: cheap to copy. All calls are safe from several threads unless said; none throws, allocates or prints.
class Driver {
 public:
  constexpr Driver(const DriverTable& table, void* self) : table_(&table), self_(self) {}
  bool operator==(const Driver&) const = default;

  // Ids, as CUPTI writes them into records. Safe at any time after creation, inside callbacks too; 0.13 us each.
  DriverResult node_id(NodeHandle node, NodeId& id) const noexcept { return table_->node_id(self_, node, &id); }
  DriverResult graph_id(GraphHandle graph, GraphId& id) const noexcept { return table_->graph_id(self_, graph, &id); }
  // Missing in the CUPTI of CUDA 12.0: there the upper half of a node's id, asked of a node of the exec graph, says the same.
  DriverResult exec_id(ExecHandle exec, GraphId& id) const noexcept { return table_->exec_id(self_, exec, &id); }

  // The rest is never to be called inside a callback.

  // The live nodes of a graph. With `nodes` null: their count alone (13.5 ns a node). Else up to `count` are written and `count`
  // becomes how many were; too_small if there are more.
  DriverResult graph_nodes(GraphHandle graph, NodeHandle* nodes, std::size_t& count) const noexcept {
    return table_->graph_nodes(self_, graph, nodes, &count);
  }
  DriverResult node_type(NodeHandle node, NodeType& type) const noexcept { return table_->node_type(self_, node, &type); }
  DriverResult child_graph(NodeHandle node, GraphHandle& child) const noexcept {
    return table_->child_graph(self_, node, &child);
  }
  // The bodies of a conditional, in order; `count` as in graph_nodes. Missing before CUDA 13.2.
  DriverResult conditional_bodies(NodeHandle node, GraphHandle* bodies, std::size_t& count) const noexcept {
    return table_->conditional_bodies(self_, node, bodies, &count);
  }
  // Status `failed` on the legacy stream while another stream of its context captures; the capture goes on unharmed.
  DriverResult capture_info(StreamHandle stream, CaptureInfo& info) const noexcept {
    return table_->capture_info(self_, stream, &info);
  }

  // Takes the CUPTI subscription and sends `events` to the observer; kinds that this CUPTI does not know are passed over. busy:
  // somebody else has it.
  DriverResult subscribe(GraphObserver& observer, GraphEventSet events, SubscriptionHandle& subscription) const noexcept {
    return table_->subscribe(self_, &observer, events, &subscription);
  }
  // set_events and unsubscribe: one thread at a time for one subscription.
  DriverResult set_events(SubscriptionHandle subscription, GraphEventSet events) const noexcept {
    return table_->set_events(self_, subscription, events);
  }
  DriverResult unsubscribe(SubscriptionHandle subscription) const noexcept { return table_->unsubscribe(self_, subscription); }

  // Never initialises CUDA: not_ready before the program has.
  DriverResult device_count(int& count) const noexcept { return table_->device_count(self_, &count); }
  DriverResult device_uuid(int device, std::uint8_t (&uuid)[16]) const noexcept {
    return table_->device_uuid(self_, device, uuid);
  }
  // With a NUL; cut at `capacity`.
  DriverResult device_name(int device, char* name, std::size_t capacity) const noexcept {
    return table_->device_name(self_, device, name, capacity);
  }
  // CUPTI's clock, of which the times in activity records are.
  DriverResult timestamp_ns(std::uint64_t& time_ns) const noexcept { return table_->timestamp_ns(self_, &time_ns); }

  Activity activity() const noexcept { return {*table_->activity, self_}; }

 private:
  const DriverTable* table_;
  void* self_;
};

}  // namespace graphtag
