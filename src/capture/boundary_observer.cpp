#include "capture/boundary_observer.h"

#include <algorithm>

#include "base/unix_time.h"

namespace graphtag {
namespace {

constexpr int kDeepest = 256;
// Of graphs whose capture is over, and of linked exec graphs: so many are remembered.
constexpr std::size_t kRemembered = 65536;
// Counting visits every node (4 to 14 ns each). So many visits a graph may cost, and for each of its nodes so many more: 0.2 us a node at most.
constexpr std::uint64_t kFreeVisits = 65536, kVisitsANode = 16;

}  // namespace

void BoundaryObserver::start(ThreadState& thread, const Driver& driver, std::uint32_t epoch) noexcept {
  const std::lock_guard lock(mutex_);
  driver_ = &driver;
  epoch_ = epoch;
  try {
    for (Stream& stream : streams_) read_stream(stream, true);
  } catch (...) {
    failures_.fetch_add(1, std::memory_order_relaxed);
  }
  if (!streams_.empty()) read(thread);
}

void BoundaryObserver::pause() noexcept {
  const std::lock_guard lock(mutex_);
  driver_ = nullptr;
  for (Stream& stream : streams_) stream.capture_id = 0;
  for (const GraphId id : capturing_) forget_graph(id);
  capturing_.clear();
}

void BoundaryObserver::forget_graph(GraphId id) {
  const auto found = graphs_.find(id);
  if (found == graphs_.end()) return;
  const std::vector<NodeId> conditionals = std::move(found->second.conditionals);
  graphs_.erase(found);
  for (const NodeId conditional : conditionals) {
    for (const GraphId body : bodies_[conditional].ids) forget_graph(body);
  }
}

void BoundaryObserver::stop() noexcept {
  const std::lock_guard lock(mutex_);
  driver_ = nullptr;
  all_streams_ = false;
  streams_.clear();
  graphs_.clear();
  capturing_.clear();
  bodies_.clear();
  holders_.clear();
}

void BoundaryObserver::set_all_streams(bool all) noexcept {
  const std::lock_guard lock(mutex_);
  all_streams_ = all;
}

void BoundaryObserver::add_stream(ThreadState& thread, StreamHandle stream) noexcept {
  const std::lock_guard lock(mutex_);
  const auto known = std::find_if(streams_.begin(), streams_.end(), [&](const Stream& named) { return named.handle == stream; });
  if (known != streams_.end()) {
    // Named again by the thread that captures on it next.
    CaptureInfo info;
    const bool captures = driver_ != nullptr && driver_->capture_info(stream, info).ok() && info.status == CaptureStatus::active;
    if (!captures) known->named_by = thread.key();
    return;
  }
  try {
    streams_.emplace_back().handle = stream;
    streams_.back().named_by = thread.key();
    if (driver_ == nullptr) return;
    read_stream(streams_.back(), true);
  } catch (...) {
    failures_.fetch_add(1, std::memory_order_relaxed);
  }
  read(thread);
}

void BoundaryObserver::read(ThreadState& thread, Reach reach) noexcept {
  boundaries_read_.fetch_add(1, std::memory_order_relaxed);
  const auto is_own = [&](const Stream& stream) { return stream.named_by == thread.key(); };
  const bool own_only = reach == Reach::own || std::any_of(streams_.begin(), streams_.end(), is_own);
  try {
    for (const GraphId id : capturing_) {
      Graph& graph = graphs_[id];
      graph.seen = false;
      graph.in_reach = !own_only;
      graph.frontier_end = 0;
    }
    for (Stream& stream : streams_) {
      if (own_only && !is_own(stream)) continue;
      if (const auto before = graphs_.find(stream.graph); before != graphs_.end()) before->second.in_reach = true;
      read_stream(stream, false);
    }
    std::erase_if(capturing_, [&](GraphId id) {
      Graph& graph = graphs_[id];
      if (!graph.in_reach && !graph.seen) return false;
      read_graph(thread, id, graph);
      return !graph.seen;
    });
    if (graphs_.size() > kRemembered + capturing_.size()) drop_ended_graphs();
  } catch (...) {
    failures_.fetch_add(1, std::memory_order_relaxed);
  }
}

void BoundaryObserver::read_stream(Stream& stream, bool just_named) {
  CaptureInfo info;
  if (!driver_->capture_info(stream.handle, info).ok() || info.status != CaptureStatus::active) {
    stream.capture_id = 0;
    return;
  }
  Graph& graph = graph_of(stream, info, just_named);
  graph.seen = true;
  graph.frontier_end = std::max(graph.frontier_end, frontier_end(stream, info));
}

BoundaryObserver::Graph& BoundaryObserver::graph_of(Stream& stream, const CaptureInfo& info, bool just_named) {
  const bool same = stream.capture_id == info.capture_id && stream.graph_handle == info.graph;
  if (same && std::find(capturing_.begin(), capturing_.end(), stream.graph) != capturing_.end()) return graphs_[stream.graph];
  GraphId id;
  if (!driver_->graph_id(info.graph, id).ok()) failures_.fetch_add(1, std::memory_order_relaxed);
  stream.capture_id = info.capture_id;
  stream.graph_handle = info.graph;
  stream.graph = id;
  stream.newest = nullptr;
  const auto [entry, fresh] = graphs_.try_emplace(id);
  Graph& graph = entry->second;
  graph.handle = info.graph;
  if (fresh) {
    graph.creator = stream.named_by;
    // Nodes of a capture that was going on before its stream was named were not seen being made.
    graph.known_before = just_named;
    if (!just_named && id.value != 0) registry_->graph_created(id, unix_time_ns());
  }
  if (std::find(capturing_.begin(), capturing_.end(), id) == capturing_.end()) {
    graph.frontier_end = 0;
    capturing_.push_back(id);
  }
  return graph;
}

std::uint32_t BoundaryObserver::frontier_end(Stream& stream, const CaptureInfo& info) {
  if (info.frontier_size == 1 && info.frontier[0] == stream.newest) return stream.end;
  std::uint32_t end = 0;
  for (std::size_t i = 0; i < info.frontier_size; ++i) {
    NodeId id;
    if (driver_->node_id(info.frontier[i], id).ok()) {
      end = std::max(end, id.local().value + 1);
    } else {
      failures_.fetch_add(1, std::memory_order_relaxed);
    }
  }
  stream.newest = info.frontier_size == 1 ? info.frontier[0] : nullptr;
  stream.end = end;
  return end;
}

void BoundaryObserver::read_graph(ThreadState& thread, GraphId id, Graph& graph) {
  Tag tag = open_now(thread, graph);
  if (!graph.seen) {
    // The capture is over, and its graph perhaps gone.
    end_graph(thread, graph, 0);
    return;
  }
  const bool first = graph.fresh;
  const bool count = !all_streams_ && may_count(graph);
  const std::uint32_t end = count ? count_end(graph) : std::max(graph.frontier_end, graph.end);
  const bool exact = count || all_streams_;
  if (!(exact && graph.exact) && tag.how == Origin::boundary) tag.how = Origin::boundary_approximate;
  graph.exact = exact;
  if (graph.known_before && first) graph.end = end;
  graph.fresh = false;
  grow(id, graph, end, tag);
  read_bodies(thread, graph.conditionals, 0);
}

void BoundaryObserver::end_graph(const ThreadState& thread, Graph& graph, int depth) {
  if (!graph.tail) graph.tail = Tag{open_now(thread, graph).annotation, Origin::boundary_approximate};
  if (depth > kDeepest) return;
  for (const NodeId conditional : graph.conditionals) {
    for (const GraphId body : bodies_[conditional].ids) end_graph(thread, graphs_[body], depth + 1);
  }
}

// Bodies live as long as the graph that is being captured.
void BoundaryObserver::read_bodies(ThreadState& thread, const std::vector<NodeId>& conditionals, int depth) {
  if (depth > kDeepest) return;
  for (const NodeId conditional : conditionals) {
    for (const GraphId id : bodies_[conditional].ids) {
      Graph& body = graphs_[id];
      if (!body.seen) grow(id, body, highest_end(body), open_now(thread, body));
      read_bodies(thread, body.conditionals, depth + 1);
    }
  }
}

// One past the highest local id of a live node. Nodes of bodies come and go by hand, so that counting them would not do.
std::uint32_t BoundaryObserver::highest_end(const Graph& graph) {
  const std::optional<std::vector<NodeHandle>> nodes = list_nodes(*driver_, graph.handle);
  if (!nodes) failures_.fetch_add(1, std::memory_order_relaxed);
  std::uint32_t end = 0;
  for (const NodeHandle node : nodes.value_or(std::vector<NodeHandle>{})) {
    NodeId id;
    if (driver_->node_id(node, id).ok()) end = std::max(end, id.local().value + 1);
  }
  return end;
}

bool BoundaryObserver::may_count(Graph& graph) {
  const std::uint64_t nodes = std::max(graph.end, graph.frontier_end);
  if (graph.visits + nodes > kFreeVisits + kVisitsANode * nodes) return false;
  graph.visits += nodes;
  return true;
}

// One past the highest local id, by counting nodes: no node is destroyed during a capture, so only the first time their ids are asked.
std::uint32_t BoundaryObserver::count_end(Graph& graph) {
  std::size_t count = 0;
  if (!driver_->graph_nodes(graph.handle, nullptr, count).ok()) {
    failures_.fetch_add(1, std::memory_order_relaxed);
    return graph.end;
  }
  if (graph.fresh) {
    const std::uint32_t end = highest_end(graph);
    graph.destroyed = end - std::min(end, static_cast<std::uint32_t>(count));
    graph.fresh = false;
  }
  return static_cast<std::uint32_t>(count) + graph.destroyed;
}

void BoundaryObserver::grow(GraphId id, Graph& graph, std::uint32_t end, const Tag& tag) {
  if (end <= graph.end) return;
  registry_->nodes_created({id, {graph.end}}, end - graph.end, tag.annotation, tag.how);
  graph.end = end;
}

// What was open on this thread until now, laid over what is open on the thread that began the capture.
BoundaryObserver::Tag BoundaryObserver::open_now(const ThreadState& thread, const Graph& graph) const {
  const AnnotationId own = thread.scopes.current(epoch_);
  const std::uint32_t others = threads_->others_open(thread, epoch_);
  if (graph.creator == thread.key()) return {own, others == 0 ? Origin::boundary : Origin::boundary_approximate};
  const AnnotationId creators =
      graph.creator.place == nullptr ? AnnotationId::none : graph.creator.place->current_of(graph.creator.owner, epoch_);
  if (own == AnnotationId::none) {
    const bool alone = others == (creators == AnnotationId::none ? 0U : 1U);
    return {creators, alone ? Origin::boundary : Origin::boundary_approximate};
  }
  // A thread that captures a graph of its own adds to that one.
  const bool captures = std::any_of(capturing_.begin(), capturing_.end(), [&](GraphId id) {
    const auto found = graphs_.find(id);
    return found != graphs_.end() && found->second.creator == thread.key();
  });
  return {captures ? creators : registry_->merge(creators, own), Origin::boundary_approximate};
}

void BoundaryObserver::drop_ended_graphs() {
  std::erase_if(graphs_, [&](const auto& entry) {
    return std::find(capturing_.begin(), capturing_.end(), entry.first) == capturing_.end();
  });
}

bool BoundaryObserver::link_bodies(ThreadState& thread, NodeId node, std::span<const GraphHandle> handles,
                                   std::span<const GraphId> ids) noexcept {
  const std::lock_guard lock(mutex_);
  const bool all_free = std::all_of(ids.begin(), ids.end(), [&](GraphId id) {
    const auto held = holders_.find(id);
    return held == holders_.end() || held->second == node;
  });
  if (!all_free) return false;
  try {
    if (driver_ != nullptr) read(thread);
    Bodies& bodies = bodies_[node];
    for (const GraphId id : bodies.ids) holders_.erase(id);
    bodies = {{handles.begin(), handles.end()}, {ids.begin(), ids.end()}};
    const auto holding = graphs_.find(node.graph());
    const ThreadKey creator = holding == graphs_.end() ? ThreadKey{} : holding->second.creator;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const auto [entry, fresh] = graphs_.try_emplace(ids[i]);
      entry->second.handle = handles[i];
      if (fresh) {
        entry->second.creator = creator;
        registry_->graph_created(ids[i], unix_time_ns());
      }
      holders_[ids[i]] = node;
      registry_->conditional_body(node, static_cast<std::uint32_t>(i), ids[i]);
    }
    if (holding != graphs_.end()) {
      std::vector<NodeId>& conditionals = holding->second.conditionals;
      if (std::find(conditionals.begin(), conditionals.end(), node) == conditionals.end()) conditionals.push_back(node);
    }
  } catch (...) {
    failures_.fetch_add(1, std::memory_order_relaxed);
  }
  return true;
}

bool BoundaryObserver::link_exec(ThreadState& thread, const Driver& driver, GraphId exec, GraphHandle graph,
                                 bool numbering_checked) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    if (driver_ != nullptr) read(thread);
    const BodiesOf linked = [&](NodeId conditional) {
      const auto found = bodies_.find(conditional);
      return found == bodies_.end() ? std::vector<GraphHandle>{} : found->second.handles;
    };
    const std::optional<GraphWalk> walk = walk_graph(driver, graph, linked);
    if (!walk) return false;
    report(thread, *walk);

    const GraphShape& shape = walk->shape;
    const std::uint32_t next = std::max(walk->graphs.front().next_local_id, registry_->next_local_id(shape.id).value_or(0));
    if (const auto known = execs_.find(exec.value); known != execs_.end()) {
      const auto pairs = pair_for_update(known->second.shape, known->second.nested, shape);
      if (!pairs) return false;
      registry_->exec_updated(exec, *pairs, Origin::modelled);
      return true;
    }
    if (numbering_checked) {
      registry_->exec_created_unwatched(exec, shape, next, unix_time_ns());
    } else {
      registry_->exec_created(exec, shape.id, unix_time_ns(), next, {}, Origin::modelled);
    }
    if (execs_.size() >= kRemembered) execs_.clear();
    execs_[exec.value] = {shape, numbering_checked ? number_nested(shape, next).pairs : std::vector<NodePairs>{}};
    return true;
  } catch (...) {
    failures_.fetch_add(1, std::memory_order_relaxed);
    return true;
  }
}

// The last nodes of each graph in it, and the kinds of all.
void BoundaryObserver::report(ThreadState& thread, const GraphWalk& walk) {
  for (const WalkedGraph& walked : walk.graphs) {
    if (const auto found = graphs_.find(walked.id); found != graphs_.end()) {
      const Tag tag = found->second.tail.value_or(open_now(thread, found->second));
      grow(walked.id, found->second, walked.next_local_id, {tag.annotation, Origin::boundary_approximate});
    }
    registry_->set_node_counts(walked.id, walked.own);
  }
}

}  // namespace graphtag
