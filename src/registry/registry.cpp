#include "registry/registry.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "registry/registry_state.h"
#include "topology/exec_numbering.h"

namespace graphtag {
namespace {

constexpr std::uint32_t kEndOfIds = std::numeric_limits<std::uint32_t>::max();
// Nodes in a row in one update. Overrides are kept one a node, and no graph has so many.
constexpr std::uint32_t kMostUpdated = 1 << 24;

Error no_memory() {
  return {ErrorCode::too_large, "not enough memory", {}, {}};
}

// One change an id, ascending; of several the last one counts.
void sort_changes(std::vector<ExecTable::Override>& changes) {
  std::stable_sort(changes.begin(), changes.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const bool is_last = i + 1 == changes.size() || changes[i + 1].first != changes[i].first;
    if (is_last) changes[kept++] = changes[i];
  }
  changes.erase(changes.begin() + static_cast<std::ptrdiff_t>(kept), changes.end());
}

}  // namespace

Registry::Registry(const RegistryLimits& limits) : state_(std::make_unique<State>(limits)) {}
Registry::~Registry() = default;

Result<AnnotationId> Registry::annotation(Json object) noexcept {
  try {
    return state_->annotations.intern(std::move(object));
  } catch (...) {
    count_one(state_->ledger.lost);
    return no_memory();
  }
}

AnnotationId Registry::name(std::string_view name) noexcept {
  AnnotationId id = AnnotationId::none;
  state_->guarded([&] { id = state_->annotations.name(name, state_->cache()); });
  return id;
}

AnnotationId Registry::merge(AnnotationId outer, AnnotationId inner) noexcept {
  AnnotationId id = AnnotationId::none;
  state_->guarded([&] { id = state_->annotations.merge(outer, inner, state_->cache()); });
  return id;
}

const Annotation& Registry::operator[](AnnotationId id) const noexcept {
  return state_->annotations[id];
}

bool Registry::knows(AnnotationId id) const noexcept {
  return state_->annotations.knows(id);
}

void Registry::graph_created(GraphId graph, std::int64_t time_ns) noexcept {
  state_->guarded([&] {
    if (const auto log = state_->graph(graph)) return log->mark_created(time_ns);
    count_one(state_->ledger.lost);
  });
}

void Registry::node_created(NodeId node, AnnotationId annotation, Origin how) noexcept {
  const Tag tag = state_->tag_of(annotation, how);
  const bool is_last_id = node.local().value == kEndOfIds;  // has no next
  if (ThreadCache* const cache = state_->cache(); cache != nullptr && !is_last_id) {
    const std::shared_ptr<GraphLog>& log = cache->slot(node.graph());
    if (log && log->id() == node.graph() && log->is_open() && log->append(node.local(), tag)) return;
  }
  state_->guarded([&] { state_->record(node, 1, tag); });
}

void Registry::nodes_created(NodeId first, std::uint32_t count, AnnotationId annotation, Origin how) noexcept {
  state_->guarded([&] { state_->record(first, count, state_->tag_of(annotation, how)); });
}

void Registry::node_cloned(NodeId clone, NodeId original) noexcept {
  state_->guarded([&] {
    const auto log = state_->graphs.find(original.graph());
    state_->record(clone, 1, log ? log->at(original.local()) : Tag{Origin::captured_before_start});
  });
}

void Registry::graph_cloned(GraphId clone, GraphId original, std::int64_t time_ns, Origin how) noexcept {
  graph_created(clone, time_ns);
  state_->guarded([&] {
    const auto log = state_->graphs.find(original);
    if (!log) return;
    for (const TagSpan& span : log->spans(0, log->next_local_id())) {
      state_->record({clone, {span.first}}, span.end - span.first, qualified(span.tag, how));
    }
  });
}

void Registry::child_graph(NodeId holder, GraphId child) noexcept {
  state_->guarded([&] { state_->link(holder, {.holder = holder.local(), .held = child}); });
}

void Registry::conditional_body(NodeId holder, std::uint32_t index, GraphId body) noexcept {
  state_->guarded([&] { state_->link(holder, {.holder = holder.local(), .index = index, .conditional = true, .held = body}); });
}

std::vector<Registry::Link> Registry::links(GraphId graph) const noexcept {
  std::vector<Link> links;
  state_->guarded([&] {
    if (const auto log = state_->graphs.find(graph)) links = log->links();
  });
  return links;
}

std::optional<std::uint32_t> Registry::next_local_id(GraphId graph) const noexcept {
  const auto log = state_->graphs.find(graph);
  return log ? std::optional(log->next_local_id()) : std::nullopt;
}

void Registry::set_node_counts(GraphId graph, const NodeCounts& own) noexcept {
  state_->guarded([&] {
    if (const auto log = state_->graphs.find(graph)) log->set_node_counts(own);
  });
}

Result<void> Registry::set_label(GraphId graph_or_exec, const Json& label) noexcept {
  try {
    std::shared_ptr<GraphLog> log = state_->graphs.find(graph_or_exec);
    if (const auto table = state_->execs.find(graph_or_exec)) log = table->built_from();
    if (log && log->set_label(label)) return {};
    return Error{ErrorCode::not_found,
                 "no live graph with id " + std::to_string(graph_or_exec.value) + "; label a graph that was captured in a window",
                 {},
                 {}};
  } catch (...) {
    count_one(state_->ledger.lost);
    return no_memory();
  }
}

void Registry::graph_destroyed(GraphId graph, std::int64_t time_ns) noexcept {
  state_->guarded([&] {
    const std::lock_guard lock(state_->lifecycle);
    std::vector<GraphId> destroyed = {graph};
    while (!destroyed.empty()) {
      const GraphId id = destroyed.back();
      destroyed.pop_back();
      const auto log = state_->graphs.find(id);
      if (!log || !log->close(time_ns)) continue;
      for (const Link& link : log->links()) destroyed.push_back(link.held);
      if (log->live_execs == 0) state_->retire(*log, false);
    }
  });
  if (ThreadCache* const cache = state_->cache(); cache != nullptr && cache->slot(graph) && cache->slot(graph)->id() == graph) {
    cache->slot(graph).reset();
  }
}

void Registry::exec_created(GraphId exec, GraphId template_graph, std::int64_t time_ns, std::optional<std::uint32_t> template_ids,
                            std::span<const NodePairs> nested, Origin how) noexcept {
  state_->guarded([&] { state_->make_exec(exec, template_graph, time_ns, template_ids, nested, how); });
}

void Registry::exec_created_unwatched(GraphId exec, const GraphShape& shape, std::uint32_t next_local_id,
                                      std::int64_t time_ns) noexcept {
  state_->guarded([&] {
    state_->link_held(shape, 0);
    const NestedNumbering numbering = number_nested(shape, next_local_id);
    state_->make_exec(exec, shape.id, time_ns, next_local_id, numbering.pairs, Origin::modelled);
  });
}

void Registry::exec_updated(GraphId exec, std::span<const NodePairs> pairs, Origin how) noexcept {
  state_->guarded([&] {
    const auto table = state_->execs.find(exec);
    if (!table) return;
    const std::uint32_t known_end = table->known_end();  // beyond it there is no name to take away
    std::vector<ExecTable::Override> changes;
    for (const NodePairs& entry : pairs) {
      const std::uint32_t first = entry.source.local().value;
      const std::uint32_t offset = entry.first.value - first;  // modulo 2^32
      const auto add = [&](const TagSpan& span) {
        for (std::uint32_t id = span.first; id < span.end; ++id) {
          if (span.tag.is_none() && id + offset >= known_end) break;
          changes.push_back({id + offset, qualified(span.tag, how)});
        }
      };
      if (entry.count > kMostUpdated || entry.count > kEndOfIds - std::max(entry.first.value, first)) {
        count_one(state_->ledger.lost);
        continue;
      }
      const auto log = state_->graphs.find(entry.source.graph());
      if (!log) {
        add({first, first + entry.count, Tag{Origin::captured_before_start}});
        continue;
      }
      const Tag outer = state_->holders_tag(log->holder());
      for (TagSpan span : log->spans(first, entry.count)) {
        span.tag = state_->laid_over(outer, span.tag);
        add(span);
      }
    }
    sort_changes(changes);
    table->update(changes);
  });
}

void Registry::exec_node_updated(NodeId exec_node, AnnotationId annotation) noexcept {
  state_->guarded([&] {
    const auto table = state_->execs.find(exec_node.graph());
    if (!table) return;
    const ExecTable::Override change{exec_node.local().value, state_->tag_of(annotation, Origin::updated)};
    table->update({&change, 1});
  });
}

void Registry::exec_destroyed(GraphId exec, std::int64_t time_ns) noexcept {
  state_->guarded([&] {
    const std::lock_guard lock(state_->lifecycle);
    const auto table = state_->execs.find(exec);
    if (!table || !table->close(time_ns)) return;
    state_->retire(*table, true);
    state_->release_template(table->built_from());
  });
}

Resolution Registry::resolve(NodeId node, std::optional<std::int64_t> start_ns) const noexcept {
  Tag tag{node.graph().value == 0 ? Origin::no_node_id : Origin::unknown_graph};
  state_->guarded([&] {
    if (const auto table = state_->execs.find(node.graph())) {
      const std::optional<std::int64_t> destroyed_ns = table->destroyed_ns();
      const bool is_stale = start_ns && destroyed_ns && *destroyed_ns < *start_ns;
      if (is_stale) count_one(state_->ledger.stale);
      tag = is_stale ? Tag{Origin::stale_id} : table->at(node.local());
    } else if (const auto log = state_->graphs.find(node.graph())) {
      tag = state_->laid_over(state_->shown_holders_tag(*log), log->at(node.local()));
    }
  });
  return {tag.annotation(), tag.origin()};
}

RegistryCounters Registry::counters() const noexcept {
  RegistryCounters counters;
  const Ledger& ledger = state_->ledger;
  state_->guarded([&] {
    const std::lock_guard lock(state_->lifecycle);
    for (const auto& log : state_->graphs.all()) {
      ++(log->is_open() ? counters.graphs : counters.retired_graphs);
      counters.runs += log->run_count();
    }
    for (const auto& table : state_->execs.all()) {
      ++(table->is_open() ? counters.execs : counters.retired_execs);
      counters.runs += table->run_count();
    }
    counters.retired_bytes = state_->retired.bytes();
  });
  counters.live_bytes = ledger.live_bytes.load(std::memory_order_relaxed);
  counters.annotations = state_->annotations.size();
  counters.annotation_bytes = state_->annotations.bytes();
  counters.dropped = ledger.dropped.load(std::memory_order_relaxed);
  counters.stale = ledger.stale.load(std::memory_order_relaxed);
  counters.late = ledger.late.load(std::memory_order_relaxed);
  counters.lost = ledger.lost.load(std::memory_order_relaxed);
  return counters;
}

void Registry::set_retired_limit(std::size_t bytes) noexcept {
  state_->guarded([&] {
    const std::lock_guard lock(state_->lifecycle);
    state_->retired_limit_bytes = bytes;
    state_->drop_retired();
  });
}

void Registry::forget() noexcept {
  state_->guarded([&] {
    const std::lock_guard lock(state_->lifecycle);
    state_->retired.clear();
    for (const auto& table : state_->execs.all()) state_->forget_locked(table->id());
    for (const auto& log : state_->graphs.all()) state_->forget_locked(log->id());
  });
}

void Registry::forget(GraphId graph_or_exec) noexcept {
  state_->guarded([&] {
    const std::lock_guard lock(state_->lifecycle);
    state_->forget_locked(graph_or_exec);
  });
}

}  // namespace graphtag
