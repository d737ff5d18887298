// Records what CUPTI tells about graphs. The callbacks are thin: they ask for ids, and hand over to the registry.
//
//   node_created    id of the node; what is open on this thread, laid over what is open on the thread that made the graph
//   node_cloned     the copy gets what its original has, or is a node of an exec graph to be (capture/copy_watch.h)
//   exec_created    where each nested node went; a graph that holds none keeps its ids, so what else its instantiation tells is passed over
//   node_updated    cudaGraphExecUpdate: the exec graph's node gets what the new graph's node has
//
// Setting the parameters of one node of an exec graph changes nothing: it is the same node still.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>

#include <boost/unordered/unordered_flat_map.hpp>

#include "capture/graph_book.h"
#include "capture/node_hook.h"
#include "capture/thread_table.h"
#include "driver/driver.h"
#include "registry/registry.h"

namespace graphtag {

class CallbackObserver final : public GraphObserver {
 public:
  CallbackObserver(Registry& registry, ThreadTable& threads) : registry_(&registry), threads_(&threads) {}

  // Takes the subscription; nodes get scopes of this epoch. One thread at a time for start and stop.
  DriverResult start(const Driver& driver, std::uint32_t epoch) noexcept;
  // Gives it back. Callbacks that still run elsewhere find everything as it was.
  void stop() noexcept;

  void on_graph_event(const GraphEvent& event) noexcept override;
  void on_instantiation(GraphHandle graph, bool begins) noexcept override;

  // Asks the driver for the kinds of the nodes of all graphs that the calling thread made, counts those that make GPU records, and
  // makes sure which nodes hold graphs. Not inside a callback. Other threads' graphs are left out: they may be destroying them.
  void settle() noexcept;
  // The thread is outside CUDA's calls: what was copied on it is a node like any other.
  void flush(ThreadState& thread) noexcept;
  // Whether the instantiation of this exec graph was seen.
  bool saw_exec(GraphId exec) const noexcept;
  // `bodies` are those of `node` for certain.
  void link_bodies(NodeId node, std::span<const GraphId> bodies) noexcept;

  // Is told of each node after it is recorded; null: nobody.
  void set_node_hook(NodeHook hook) noexcept { node_hook_.store(hook, std::memory_order_release); }

  std::uint64_t failures() const noexcept { return failures_.load(std::memory_order_relaxed); }

 private:
  using Handler = void (CallbackObserver::*)(ThreadState&, const GraphEvent&);
  static const Handler kHandlers[kGraphEventKinds];

  void graph_created(ThreadState& thread, const GraphEvent& event);
  void graph_cloned(ThreadState& thread, const GraphEvent& event);
  void graph_destroy_starting(ThreadState& thread, const GraphEvent& event);
  void node_created(ThreadState& thread, const GraphEvent& event);
  void node_cloned(ThreadState& thread, const GraphEvent& event);
  void node_destroy_starting(ThreadState& thread, const GraphEvent& event);
  void node_updated(ThreadState& thread, const GraphEvent& event);
  void exec_created(ThreadState& thread, const GraphEvent& event);
  void exec_destroy_starting(ThreadState& thread, const GraphEvent& event);

  void watch_destructions(int more) noexcept;
  AnnotationId annotation_for(ThreadState& thread, GraphId graph);
  const ThreadKey& creator_of(ThreadState& thread, GraphId graph);
  void keep(const std::vector<CopyWatch::Copy>& copies);
  struct Placed {
    LocalId local;
    NodeId source;
  };
  std::vector<Placed> place(const CopyWatch::Instantiation& made, GraphId exec);
  void link_if_held(GraphId graph);
  bool link(GraphId graph, const GraphBook::Holder& holder);
  // Both add the graphs of which it came to light what holds them.
  void count_nodes(const GraphBook::Known& graph, std::vector<GraphId>& linked);
  void link_held_by(NodeHandle node, NodeType type, std::vector<GraphId>& linked);
  void place_again(const std::vector<GraphId>& linked);
  bool ask(DriverResult result) noexcept;  // counts a refusal

  Registry* registry_;
  ThreadTable* threads_;
  std::atomic<const Driver*> driver_{nullptr};
  std::atomic<std::uint32_t> epoch_{0};   // of scopes
  std::atomic<std::uint32_t> period_{0};  // counts up at each start: what a thread kept in an older one is out of date
  std::atomic<std::uint64_t> failures_{0};
  std::atomic<NodeHook> node_hook_{nullptr};
  std::atomic<bool> can_ask_exec_ids_{false};
  std::mutex events_mutex_;  // of these, and around set_events
  SubscriptionHandle subscription_ = nullptr;
  int instantiations_ = 0;  // of graphs that may hold others, now
  bool watched_ = true;     // destructions of nodes are told
  GraphBook book_;

  struct Exec {
    ExecHandle handle = nullptr;
    GraphId template_graph;
    std::uint32_t template_ids = 0;
    std::vector<NodePairs> nested;
    boost::unordered_flat_map<std::uint32_t, NodeId> updated;  // exec-local id -> the node that replaced it last
  };
  mutable std::mutex execs_mutex_;
  // Both under execs_mutex_.
  boost::unordered_flat_map<std::uint32_t, Exec> execs_;             // exec id -> as it was instantiated in this window
  boost::unordered_flat_map<std::uint32_t, std::uint32_t> counted_;  // graph id -> its next local id when its nodes were counted
};

}  // namespace graphtag
