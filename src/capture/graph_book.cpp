#include "capture/graph_book.h"

#include <algorithm>
#include <utility>

namespace graphtag {

bool GraphBook::created(GraphId graph, GraphHandle handle, ThreadKey creator) {
  const std::lock_guard lock(mutex_);
  const auto [entry, fresh] = entries_.try_emplace(graph);
  if (!fresh) return false;
  entry->second.handle = handle;
  entry->second.creator = creator;
  return true;
}

void GraphBook::is_copy(GraphId graph) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(graph);
  if (found != entries_.end()) found->second.copy = true;
}

void GraphBook::is_outermost(GraphId graph) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(graph);
  if (found != entries_.end()) found->second.outermost = true;
}

void GraphBook::may_hold(NodeId node, std::span<const GraphId> graphs) {
  if (graphs.empty()) return;
  const std::lock_guard lock(mutex_);
  const auto holding = entries_.find(node.graph());
  std::uint32_t index = 0;
  for (const GraphId graph : graphs) {
    const auto found = entries_.find(graph);
    if (found == entries_.end()) continue;
    found->second.guess = Holder{node, index++, false};
    if (holding != entries_.end()) holding->second.holds.push_back(graph);
  }
}

bool GraphBook::knows(GraphId graph) const {
  const std::lock_guard lock(mutex_);
  return entries_.contains(graph);
}

bool GraphBook::is_flat(GraphId graph) const {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(graph);
  if (found == entries_.end() || !found->second.holds.empty()) return false;
  return std::all_of(entries_.begin(), entries_.end(),
                     [&](const auto& entry) { return entry.first == graph || entry.second.outermost || entry.second.confirmed; });
}

std::optional<ThreadKey> GraphBook::creator(GraphId graph) const {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(graph);
  if (found == entries_.end()) return std::nullopt;
  return found->second.creator;
}

std::optional<GraphBook::Holder> GraphBook::holder_of(const Entry& entry) {
  if (entry.confirmed) return entry.confirmed;
  if (!entry.guess || entry.outermost) return std::nullopt;
  // CUDA refuses to copy conditionals, so what was copied is a child graph.
  if (entry.copy) return Holder{entry.guess->node, 0, false};
  return Holder{entry.guess->node, entry.guess->index, true};
}

std::optional<GraphBook::Holder> GraphBook::holder(GraphId graph) const {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(graph);
  if (found == entries_.end()) return std::nullopt;
  return holder_of(found->second);
}

std::vector<GraphId> GraphBook::bodies(NodeId node) const {
  const std::lock_guard lock(mutex_);
  const auto holding = entries_.find(node.graph());
  if (holding == entries_.end()) return {};
  std::vector<std::pair<std::uint32_t, GraphId>> ordered;
  for (const GraphId graph : holding->second.holds) {
    const auto held = entries_.find(graph);
    if (held == entries_.end()) continue;
    const std::optional<Holder> holder = holder_of(held->second);
    if (holder && holder->conditional && holder->node == node) ordered.emplace_back(holder->index, graph);
  }
  std::sort(ordered.begin(), ordered.end());
  ordered.erase(std::unique(ordered.begin(), ordered.end()), ordered.end());
  std::vector<GraphId> graphs;
  graphs.reserve(ordered.size());
  for (const auto& [index, graph] : ordered) graphs.push_back(graph);
  return graphs;
}

void GraphBook::confirm(GraphId graph, const Holder& holder) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(graph);
  if (found == entries_.end() || found->second.confirmed) return;
  found->second.confirmed = holder;
  const auto holding = entries_.find(holder.node.graph());
  if (holding != entries_.end()) holding->second.holds.push_back(graph);
}

std::vector<GraphBook::Known> GraphBook::made_by(ThreadKey creator) const {
  const std::lock_guard lock(mutex_);
  std::vector<Known> known;
  for (const auto& [id, entry] : entries_) {
    if (entry.creator == creator) known.push_back({id, entry.handle});
  }
  return known;
}

void GraphBook::destroyed(GraphId graph) {
  const std::lock_guard lock(mutex_);
  std::vector<GraphId> gone{graph};
  while (!gone.empty()) {
    const GraphId next = gone.back();
    gone.pop_back();
    const auto found = entries_.find(next);
    if (found == entries_.end()) continue;
    const std::vector<GraphId> holds = std::move(found->second.holds);
    entries_.erase(found);
    for (const GraphId held : holds) {
      const auto entry = entries_.find(held);
      if (entry == entries_.end()) continue;
      const std::optional<Holder>& holder = entry->second.confirmed ? entry->second.confirmed : entry->second.guess;
      if (holder && holder->node.graph() == next && !entry->second.outermost) gone.push_back(held);
    }
  }
}

std::vector<GraphId> GraphBook::take_since(GraphId first, ThreadKey creator) {
  const std::lock_guard lock(mutex_);
  std::vector<GraphId> taken;
  for (auto entry = entries_.lower_bound(first); entry != entries_.end();) {
    if (entry->second.creator == creator) {
      taken.push_back(entry->first);
      entry = entries_.erase(entry);
    } else {
      ++entry;
    }
  }
  return taken;
}

void GraphBook::clear() {
  const std::lock_guard lock(mutex_);
  entries_.clear();
}

}  // namespace graphtag
