#include "registry/registry_state.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace graphtag {
namespace {

constexpr int kDeepest = 256;  // of graphs held by nodes of graphs

std::uint64_t next_number() {
  static std::atomic<std::uint64_t> numbers{0};
  return ++numbers;
}

bool fits(LocalId first, std::uint32_t count) {
  return count > 0 && count <= std::numeric_limits<std::uint32_t>::max() - first.value;
}

}  // namespace

Registry::State::State(const RegistryLimits& limits)
    : number(next_number()),
      live_limit_bytes(limits.live_bytes),
      annotations(limits.annotation_bytes, ledger),
      retired_limit_bytes(limits.retired_bytes) {}

Tag Registry::State::tag_of(AnnotationId annotation, Origin how) const {
  if (annotation == AnnotationId::none || !annotations.knows(annotation)) return qualified(Tag{Origin::outside_scope}, how);
  return {annotation, is_provenance(how) ? how : Origin::callback};
}

std::shared_ptr<GraphLog> Registry::State::graph(GraphId id) {
  if (id.value == 0) return nullptr;
  bool is_new = false;
  std::shared_ptr<GraphLog> log = graphs.find_or_insert(id, [&] {
    is_new = true;
    return std::make_shared<GraphLog>(id, ledger);
  });
  if (is_new) bound_live_bytes();
  return log;
}

std::shared_ptr<GraphLog> Registry::State::graph_of_thread(GraphId id) {
  ThreadCache* const known = cache();
  if (known == nullptr) return graph(id);
  std::shared_ptr<GraphLog>& slot = known->slot(id);
  if (!slot || slot->id() != id || !slot->is_open()) slot = graph(id);
  return slot;
}

void Registry::State::record(NodeId first, std::uint32_t count, Tag tag) {
  const std::shared_ptr<GraphLog> log = graph_of_thread(first.graph());
  if (!log || !fits(first.local(), count)) {
    count_one(ledger.lost);
  } else if (!log->record(first.local(), count, tag)) {
    count_one(ledger.late);
  }
}

Tag Registry::State::laid_over(Tag outer, Tag inner) {
  // A side that may have an annotation after all makes the whole a guess.
  if (outer.is_none()) return is_guess(outer.origin()) ? qualified(inner, Origin::boundary_approximate) : inner;
  if (inner.is_none()) return is_guess(inner.origin()) ? qualified(outer, Origin::boundary_approximate) : outer;
  const AnnotationId merged = annotations.merge(outer.annotation(), inner.annotation(), cache());
  if (merged == AnnotationId::none) return Tag{Origin::outside_scope};
  return {merged, weaker(outer.origin(), inner.origin())};
}

Tag Registry::State::holders_tag(std::optional<NodeId> holder) {
  std::vector<Tag> tags;  // innermost first
  for (int depth = 0; holder && depth < kDeepest; ++depth) {
    const std::shared_ptr<GraphLog> log = graphs.find(holder->graph());
    if (!log) break;
    tags.push_back(log->at(holder->local()));
    holder = log->holder();
  }
  Tag merged{Origin::outside_scope};
  for (auto tag = tags.rbegin(); tag != tags.rend(); ++tag) merged = laid_over(merged, *tag);
  return merged;
}

Tag Registry::State::shown_holders_tag(const GraphLog& graph) {
  return graph.is_instantiated() ? Tag{Origin::outside_scope} : holders_tag(graph.holder());
}

void Registry::State::link(NodeId holder, const Link& link) {
  const std::shared_ptr<GraphLog> outer = graph(holder.graph());
  const std::shared_ptr<GraphLog> held = graph(link.held);
  if (!outer || !held) return count_one(ledger.lost);

  const std::lock_guard lock(lifecycle);
  std::shared_ptr<GraphLog> above = outer;
  for (int depth = 0; above; ++depth) {
    if (above == held || depth == kDeepest) return count_one(ledger.lost);
    const std::optional<NodeId> next = above->holder();
    above = next ? graphs.find(next->graph()) : nullptr;
  }
  if (const std::optional<NodeId> before = held->holder()) {
    if (const auto former = graphs.find(before->graph())) former->unlink(held->id());
  }
  const std::optional<GraphId> replaced = outer->link(link);
  if (replaced && *replaced != link.held) {
    if (const auto dropped = graphs.find(*replaced)) dropped->set_holder(std::nullopt);
  }
  held->set_holder(holder);
}

void Registry::State::link_held(const GraphShape& shape, int depth) {
  if (depth == kDeepest) return;
  for (const GraphShape::Holder& holder : shape.holders) {
    for (std::uint32_t index = 0; index < holder.bodies.size(); ++index) {
      link({shape.id, holder.node},
           {.holder = holder.node, .index = index, .conditional = holder.conditional, .held = holder.bodies[index].id});
      link_held(holder.bodies[index], depth + 1);
    }
  }
}

RunList Registry::State::place(std::span<const NodePairs> nested, Origin how) {
  std::vector<NodePairs> pairs(nested.begin(), nested.end());
  std::stable_sort(pairs.begin(), pairs.end(), [](const NodePairs& a, const NodePairs& b) { return a.first < b.first; });
  RunList placement;
  std::shared_ptr<GraphLog> log;
  Tag outer{Origin::outside_scope};
  for (const NodePairs& entry : pairs) {
    if (!fits(entry.first, entry.count)) {
      count_one(ledger.lost);
      continue;
    }
    const LocalId source = entry.source.local();
    if (!log || log->id() != entry.source.graph()) {
      log = graphs.find(entry.source.graph());
      if (!log) continue;
      outer = holders_tag(log->holder());
    }
    for (const TagSpan& span : log->spans(source.value, entry.count)) {
      const std::uint32_t offset = entry.first.value - source.value;  // modulo 2^32
      placement.reserve_edit();
      placement.set(span.first + offset, span.end + offset, qualified(laid_over(outer, span.tag), how),
                    Tag{Origin::unlinked_body});
    }
  }
  return placement;
}

void Registry::State::make_exec(GraphId exec, GraphId template_graph, std::int64_t time_ns,
                                std::optional<std::uint32_t> template_ids, std::span<const NodePairs> nested, Origin how) {
  if (exec.value == 0) return count_one(ledger.lost);
  ExecBasis basis;
  basis.built_from = graph(template_graph);
  basis.placement = place(nested, how);
  if (template_ids) {
    basis.template_ids = *template_ids;
  } else if (!nested.empty()) {
    const auto first =
        std::min_element(nested.begin(), nested.end(), [](const NodePairs& a, const NodePairs& b) { return a.first < b.first; });
    basis.template_ids = first->first.value;
  } else if (basis.built_from && basis.built_from->is_observed()) {
    basis.template_ids = basis.built_from->next_local_id();
  }

  {
    const std::lock_guard lock(lifecycle);
    const std::shared_ptr<ExecTable> known = execs.find(exec);
    if (known && !known->is_open()) return count_one(ledger.late);
    if (const std::shared_ptr<GraphLog>& built_from = basis.built_from) {
      ++built_from->live_execs;
      built_from->mark_instantiated();
    }
    if (known) {
      release_template(known->replace_basis(std::move(basis)).built_from);
    } else {
      // It is whole when others first see it.
      execs.find_or_insert(exec, [&] { return std::make_shared<ExecTable>(exec, std::move(basis), time_ns, ledger); });
    }
  }
  bound_live_bytes();
}

template <typename Table>
void Registry::State::retire(Table& table, bool is_exec) {
  if (table.is_frozen()) return;
  retired.push({table.id(), is_exec, table.freeze()});
  drop_retired();
}
template void Registry::State::retire(GraphLog&, bool);
template void Registry::State::retire(ExecTable&, bool);

void Registry::State::release_template(const std::shared_ptr<GraphLog>& built_from) {
  if (!built_from || --built_from->live_execs > 0 || built_from->is_open()) return;
  retire(*built_from, false);
}

void Registry::State::drop_retired() {
  while (const auto oldest = retired.pop_beyond(retired_limit_bytes)) {
    if (oldest->is_exec) {
      execs.erase(oldest->id);
    } else {
      erase_graph(oldest->id);
    }
    count_one(ledger.dropped);
  }
}

std::shared_ptr<GraphLog> Registry::State::erase_graph(GraphId id) {
  std::shared_ptr<GraphLog> log = graphs.erase(id);
  if (!log) return nullptr;
  if (const std::optional<NodeId> holder = log->holder()) {
    if (const auto outer = graphs.find(holder->graph())) outer->unlink(id);
  }
  for (const Link& link : log->links()) {
    if (const auto held = graphs.find(link.held)) held->set_holder(std::nullopt);
  }
  return log;
}

void Registry::State::forget_locked(GraphId id) {
  if (const std::shared_ptr<GraphLog> log = erase_graph(id)) {
    if (log->is_frozen()) retired.erase(id);
    log->close(std::nullopt);
    log->freeze();
    if (log->is_instantiated()) {
      for (const auto& table : execs.all()) {
        if (table->built_from() == log) forget_locked(table->id());
      }
    }
  }
  if (const std::shared_ptr<ExecTable> table = execs.erase(id)) {
    if (table->is_frozen()) retired.erase(id);
    table->freeze();
    if (table->close(std::nullopt)) release_template(table->built_from());
  }
}

void Registry::State::bound_live_bytes() {
  const auto is_beyond = [this](std::size_t limit) { return ledger.live_bytes.load(std::memory_order_relaxed) > limit; };
  if (!is_beyond(live_limit_bytes)) return;
  const std::lock_guard lock(lifecycle);
  if (!is_beyond(live_limit_bytes)) return;
  std::vector<GraphId> droppable;
  for (const auto& log : graphs.all()) {
    if (!log->is_frozen() && log->live_execs == 0) droppable.push_back(log->id());
  }
  for (const auto& table : execs.all()) {
    if (!table->is_frozen()) droppable.push_back(table->id());
  }
  std::sort(droppable.begin(), droppable.end());
  // Some room, so that the next graph does not begin this search again.
  for (auto id = droppable.begin(); id != droppable.end() && is_beyond(live_limit_bytes - live_limit_bytes / 8); ++id) {
    forget_locked(*id);
    count_one(ledger.dropped);
  }
}

}  // namespace graphtag
