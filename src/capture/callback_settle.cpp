// What the callback observer asks the driver outside callbacks: the kinds of nodes, and which of them hold graphs.
#include <algorithm>
#include <optional>

#include "base/unix_time.h"
#include "capture/callback_observer.h"
#include "capture/graph_walk.h"

namespace graphtag {

void CallbackObserver::flush(ThreadState& thread) noexcept {
  if (!thread.copies.has_pending()) return;
  try {
    keep(thread.copies.take_all());
  } catch (...) {
    failures_.fetch_add(1, std::memory_order_relaxed);
  }
}

void CallbackObserver::settle() noexcept {
  ThreadState* thread = threads_->current();
  if (thread == nullptr) return;
  flush(*thread);
  try {
    std::vector<GraphId> linked;
    for (const GraphBook::Known& graph : book_.made_by(thread->key())) count_nodes(graph, linked);
    if (!linked.empty()) place_again(linked);
  } catch (...) {
    failures_.fetch_add(1, std::memory_order_relaxed);
  }
}

void CallbackObserver::count_nodes(const GraphBook::Known& graph, std::vector<GraphId>& linked) {
  const std::uint32_t next = registry_->next_local_id(graph.id).value_or(0);
  {
    const std::lock_guard lock(execs_mutex_);
    const auto [counted, fresh] = counted_.try_emplace(graph.id.value, next);
    if (!fresh && counted->second == next) return;
    counted->second = next;
  }
  const Driver& driver = *driver_.load(std::memory_order_acquire);
  const std::optional<std::vector<NodeHandle>> nodes = list_nodes(driver, graph.handle);
  if (!nodes) {
    failures_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  NodeCounts counts;
  for (const NodeHandle node : *nodes) {
    NodeType type{};
    if (!ask(driver.node_type(node, type))) continue;
    count_node_type(type, counts);
    if (type == NodeType::child_graph || type == NodeType::conditional) link_held_by(node, type, linked);
  }
  registry_->set_node_counts(graph.id, counts);
}

void CallbackObserver::link_held_by(NodeHandle node, NodeType type, std::vector<GraphId>& linked) {
  const Driver& driver = *driver_.load(std::memory_order_acquire);
  NodeId holder;
  if (!ask(driver.node_id(node, holder))) return;
  const auto add = [&](GraphId graph, const GraphBook::Holder& held_by) {
    if (link(graph, held_by)) linked.push_back(graph);
  };
  if (type == NodeType::child_graph) {
    GraphHandle child = nullptr;
    GraphId id;
    if (ask(driver.child_graph(node, child)) && ask(driver.graph_id(child, id))) add(id, {holder, 0, false});
    return;
  }
  const std::vector<GraphHandle> bodies = list_bodies(driver, node);
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    GraphId id;
    if (ask(driver.graph_id(bodies[i], id))) add(id, {holder, static_cast<std::uint32_t>(i), true});
  }
  if (!bodies.empty()) return;
  for (const GraphId body : book_.bodies(holder)) {
    const std::optional<GraphBook::Holder> known = book_.holder(body);
    if (known) add(body, *known);
  }
}

// Exec graphs with nodes of these graphs were placed before the link was known.
void CallbackObserver::place_again(const std::vector<GraphId>& linked) {
  const std::lock_guard lock(execs_mutex_);
  for (const auto& [id, exec] : execs_) {
    const bool concerned = std::any_of(exec.nested.begin(), exec.nested.end(), [&](const NodePairs& nested) {
      return std::find(linked.begin(), linked.end(), nested.source.graph()) != linked.end();
    });
    if (!concerned) continue;
    registry_->exec_created({id}, exec.template_graph, unix_time_ns(), exec.template_ids, exec.nested, Origin::callback);
    for (const auto& [local, source] : exec.updated) {
      const NodePairs pair{{local}, source, 1};
      registry_->exec_updated({id}, {&pair, 1}, Origin::updated);
    }
  }
}

bool CallbackObserver::saw_exec(GraphId exec) const noexcept {
  const std::lock_guard lock(execs_mutex_);
  return execs_.contains(exec.value);
}

void CallbackObserver::link_bodies(NodeId node, std::span<const GraphId> bodies) noexcept {
  try {
    std::vector<GraphId> linked;
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      if (link(bodies[i], {node, static_cast<std::uint32_t>(i), true})) linked.push_back(bodies[i]);
    }
    if (!linked.empty()) place_again(linked);
  } catch (...) {
    failures_.fetch_add(1, std::memory_order_relaxed);
  }
}

}  // namespace graphtag
