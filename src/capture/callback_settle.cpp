// What the callback observer asks the driver outside callbacks: the kinds of nodes, and which of them hold graphs.
#include <optional>

#include "capture/callback_observer.h"
#include "capture/graph_walk.h"
#include "capture/unix_time.h"

namespace graphtag {

void CallbackObserver::settle() noexcept {
  ThreadState* thread = threads_->current();
  if (thread == nullptr) return;
  try {
    keep(thread->copies.take_all());
    bool linked = false;
    for (const GraphBook::Known& graph : book_.made_by(thread->key())) linked |= count_nodes(graph);
    if (linked) place_again();
  } catch (...) {
    failures_.fetch_add(1, std::memory_order_relaxed);
  }
}

// True: a link came to light.
bool CallbackObserver::count_nodes(const GraphBook::Known& graph) {
  const std::uint32_t next = registry_->next_local_id(graph.id).value_or(0);
  {
    const std::lock_guard lock(execs_mutex_);
    const auto [counted, fresh] = counted_.try_emplace(graph.id.value, next);
    if (!fresh && counted->second == next) return false;
    counted->second = next;
  }
  const Driver& driver = *driver_.load(std::memory_order_acquire);
  const std::optional<std::vector<NodeHandle>> nodes = list_nodes(driver, graph.handle);
  if (!nodes) {
    failures_.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  NodeCounts counts;
  bool linked = false;
  for (const NodeHandle node : *nodes) {
    NodeType type{};
    if (!ask(driver.node_type(node, type))) continue;
    count_node_type(type, counts);
    if (type == NodeType::child_graph || type == NodeType::conditional) linked |= link_held_by(node, type);
  }
  registry_->set_node_counts(graph.id, counts);
  return linked;
}

bool CallbackObserver::link_held_by(NodeHandle node, NodeType type) {
  const Driver& driver = *driver_.load(std::memory_order_acquire);
  NodeId holder;
  if (!ask(driver.node_id(node, holder))) return false;
  bool linked = false;
  if (type == NodeType::child_graph) {
    GraphHandle child = nullptr;
    GraphId id;
    if (ask(driver.child_graph(node, child)) && ask(driver.graph_id(child, id))) linked = link(id, {holder, 0, false});
    return linked;
  }
  const std::vector<GraphHandle> bodies = list_bodies(driver, node);
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    GraphId id;
    if (ask(driver.graph_id(bodies[i], id))) linked |= link(id, {holder, static_cast<std::uint32_t>(i), true});
  }
  if (bodies.empty()) {
    for (const GraphId body : book_.bodies(holder)) {
      const std::optional<GraphBook::Holder> known = book_.holder(body);
      if (known) linked |= link(body, *known);
    }
  }
  return linked;
}

// Exec graphs were placed before a link was known.
void CallbackObserver::place_again() {
  const std::lock_guard lock(execs_mutex_);
  for (const auto& [id, exec] : execs_) {
    if (exec.nested.empty()) continue;
    registry_->exec_created({id}, exec.template_graph, unix_time_ns(), exec.template_ids, exec.nested, Origin::callback);
  }
}

bool CallbackObserver::saw_exec(GraphId exec) const noexcept {
  const std::lock_guard lock(execs_mutex_);
  return execs_.contains(exec.value);
}

void CallbackObserver::link_bodies(NodeId node, std::span<const GraphId> bodies) noexcept {
  try {
    bool linked = false;
    for (std::size_t i = 0; i < bodies.size(); ++i) linked |= link(bodies[i], {node, static_cast<std::uint32_t>(i), true});
    if (linked) place_again();
  } catch (...) {
    failures_.fetch_add(1, std::memory_order_relaxed);
  }
}

}  // namespace graphtag
