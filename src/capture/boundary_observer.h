// Without callbacks: reads at scope boundaries how far each captured graph has grown. What is new since the last reading was created
// under what was open until now.
//
//   begin "a"      graph 3 ends at 2: nodes 0, 1 are outside every scope
//   end            graph 3 ends at 7: nodes 2..6 have "a"
//
// How far: with all_streams the highest local id among the frontiers of the named streams, since the newest node of a capture is on the
// frontier of the stream that made it; else the count of the graph's nodes, as a capture destroys none. Both are exact, if
// - all_streams is true, or the streams named hold the one on which the capture began, and counting, which takes the longer the larger the
//   graph is, is within its budget. Beyond it the frontiers of the streams that were named must do, which is approximate;
// - no other thread has a scope open at that time: its nodes and ours cannot be told apart. What is read then is approximate.
//
// A graph's handle is used only while a named stream says that it is capturing it, or in a call that hands it in: a capture that
// failed has destroyed its graph. So what comes between the last boundary in a capture and its end is known only once the graph is
// handed in, and approximate. The thread that named a stream is taken to be the one that begins captures on it.
#pragma once

#include <atomic>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "capture/graph_walk.h"
#include "capture/thread_table.h"
#include "driver/driver.h"
#include "registry/registry.h"
#include "topology/exec_numbering.h"
#include "topology/update_pairing.h"

namespace graphtag {

class BoundaryObserver {
 public:
  BoundaryObserver(Registry& registry, ThreadTable& threads) : registry_(&registry), threads_(&threads) {}

  // Nodes get scopes of this epoch: those that are made from now on, also in captures of streams that are named already.
  void start(ThreadState& thread, const Driver& driver, std::uint32_t epoch) noexcept;
  // Something else observes from now on: forgets the graphs that are being captured, and keeps the streams for a later start().
  void pause() noexcept;
  // Forgets streams and graphs; exec graphs that were linked stay known, for updates.
  void stop() noexcept;

  void set_all_streams(bool all) noexcept;
  void add_stream(ThreadState& thread, StreamHandle stream) noexcept;

  // Reads a boundary on this thread, then runs `change`, which changes what is open on it.
  template <typename Change>
  auto at_boundary(ThreadState& thread, Change change) noexcept {
    const std::lock_guard lock(mutex_);
    read(thread, Reach::waiting);
    return change();
  }
  // Where no scope changes. Other threads may be capturing meanwhile: only what this thread captures is read.
  void read_boundary(ThreadState& thread) noexcept {
    const std::lock_guard lock(mutex_);
    read(thread, Reach::own);
  }

  // `exec` was made from `graph`, or updated with it. False: the driver refused.
  bool link_exec(ThreadState& thread, const Driver& driver, GraphId exec, GraphHandle graph, bool numbering_checked) noexcept;
  // Reads a boundary first, so that the capture that the bodies belong to is known. False: another node has one of them.
  bool link_bodies(ThreadState& thread, NodeId node, std::span<const GraphHandle> bodies, std::span<const GraphId> ids) noexcept;

  std::uint64_t boundaries_read() const noexcept { return boundaries_read_.load(std::memory_order_relaxed); }
  std::uint64_t failures() const noexcept { return failures_.load(std::memory_order_relaxed); }

 private:
  struct Stream {
    StreamHandle handle = nullptr;
    ThreadKey named_by;
    std::uint64_t capture_id = 0;  // at the last reading; 0: it did not capture
    GraphHandle graph_handle = nullptr;
    GraphId graph;
    NodeHandle newest = nullptr;  // the node of its frontier, if that was one; and
    std::uint32_t end = 0;        // one past its local id
  };
  // What nodes get that are new at a reading.
  struct Tag {
    AnnotationId annotation = AnnotationId::none;
    Origin how = Origin::boundary;
  };
  struct Graph {
    GraphHandle handle = nullptr;
    ThreadKey creator;
    std::uint32_t end = 0;             // one past the last node that was given an annotation, or none
    std::uint32_t destroyed = 0;       // nodes that are missing below `end`
    bool fresh = true;                 // not read yet
    bool exact = true;                 // so was the last reading
    std::uint64_t visits = 0;          // of nodes, by counting
    bool known_before = false;         // it had nodes before this observer could see it
    std::vector<NodeId> conditionals;  // of which bodies were linked
    std::optional<Tag> tail;           // what nodes from `end` on have, once the capture is over
    // In this reading:
    bool in_reach = false;
    bool seen = false;
    std::uint32_t frontier_end = 0;
  };
  // CUDA lets nobody look at a capture to which another thread is adding, so a thread that captures reads its own captures alone. One that names no
  // stream works for one that does and waits, as the autograd engine's threads do.
  enum class Reach : std::uint8_t { own, waiting };
  struct LinkedExec {
    GraphShape shape;
    std::vector<NodePairs> nested;
  };

  // All with the lock held; what allocates may throw std::bad_alloc.
  void forget_graph(GraphId id);
  void read(ThreadState& thread, Reach reach = Reach::waiting) noexcept;
  void read_stream(Stream& stream, bool just_named);
  Graph& graph_of(Stream& stream, const CaptureInfo& info, bool just_named);
  std::uint32_t frontier_end(Stream& stream, const CaptureInfo& info);
  void read_graph(ThreadState& thread, GraphId id, Graph& graph);
  void read_bodies(ThreadState& thread, const std::vector<NodeId>& conditionals, int depth);
  // Its capture is over: remembers what its last nodes have, and those of its bodies.
  void end_graph(const ThreadState& thread, Graph& graph, int depth);
  bool may_count(Graph& graph);
  std::uint32_t count_end(Graph& graph);
  std::uint32_t highest_end(const Graph& graph);
  void grow(GraphId id, Graph& graph, std::uint32_t end, const Tag& tag);
  Tag open_now(const ThreadState& thread, const Graph& graph) const;
  void report(ThreadState& thread, const GraphWalk& walk);
  void drop_ended_graphs();

  Registry* registry_;
  ThreadTable* threads_;
  std::atomic<std::uint64_t> boundaries_read_{0}, failures_{0};

  std::mutex mutex_;  // of all below
  const Driver* driver_ = nullptr;
  std::uint32_t epoch_ = 0;
  bool all_streams_ = false;
  std::vector<Stream> streams_;
  std::map<GraphId, Graph> graphs_;  // what is known of each graph; nodes stay where they are
  std::vector<GraphId> capturing_;   // those that a named stream was capturing at the last reading
  struct Bodies {
    std::vector<GraphHandle> handles;
    std::vector<GraphId> ids;
  };
  std::map<NodeId, Bodies> bodies_;                             // conditional -> its bodies, as linked by hand
  std::map<GraphId, NodeId> holders_;                           // body -> conditional
  boost::unordered_flat_map<std::uint32_t, LinkedExec> execs_;  // exec id -> as it was linked
};

}  // namespace graphtag
