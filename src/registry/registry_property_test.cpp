// Random sequences of all calls against a slow plain twin: one map entry a node, everything copied, nothing shared.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "registry/registry.h"

namespace graphtag {
namespace {

constexpr std::uint32_t kGraphs = 5, kExecs = 4, kIds = 14, kNames = 4;

// The scopes around a node, outermost first; none: `origin` is a reason.
struct PlainTag {
  std::vector<std::string> path;
  Origin origin = Origin::outside_scope;
  bool operator==(const PlainTag&) const = default;
};

Origin weakest_of(Origin a, Origin b) {
  for (const Origin origin : {Origin::modelled, Origin::boundary_approximate, Origin::updated, Origin::boundary}) {
    if (a == origin || b == origin) return origin;
  }
  return Origin::callback;
}

bool may_be_wrong(Origin origin) {
  return origin == Origin::modelled || origin == Origin::boundary_approximate || origin == Origin::outside_scope_approximate;
}

// After one more step that is worth `how`.
PlainTag with(PlainTag tag, Origin how) {
  if (!tag.path.empty()) {
    tag.origin = weakest_of(tag.origin, how);
  } else if (tag.origin == Origin::outside_scope && may_be_wrong(how)) {
    tag.origin = Origin::outside_scope_approximate;
  }
  return tag;
}

// One of the two without a name: the other one's, but what may be missing from it makes it a guess.
PlainTag one_sided(const PlainTag& shown, const PlainTag& nameless) {
  return may_be_wrong(nameless.origin) ? with(shown, Origin::boundary_approximate) : shown;
}

PlainTag lay_over(const PlainTag& outer, const PlainTag& inner) {
  if (outer.path.empty()) return one_sided(inner, outer);
  if (inner.path.empty()) return one_sided(outer, inner);
  PlainTag merged = outer;
  merged.origin = weakest_of(outer.origin, inner.origin);
  const bool contained = inner.path.size() >= outer.path.size() &&
                         std::vector(inner.path.begin(), inner.path.begin() + static_cast<long>(outer.path.size())) == outer.path;
  if (contained) merged.path.clear();
  merged.path.insert(merged.path.end(), inner.path.begin(), inner.path.end());
  return merged;
}

struct PlainGraph {
  std::map<std::uint32_t, PlainTag> nodes;                                // every id below the highest one reported
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> held;  // holder, index -> graph
  std::optional<NodeId> holder;
  bool created = false, destroyed = false, instantiated = false;

  std::uint32_t next() const { return nodes.empty() ? 0 : nodes.rbegin()->first + 1; }
  PlainTag unreported() const { return {{}, created || !nodes.empty() ? Origin::outside_scope : Origin::captured_before_start}; }
  PlainTag at(std::uint32_t id) const { return nodes.contains(id) ? nodes.at(id) : unreported(); }
  void report(std::uint32_t id, const PlainTag& tag) {
    if (destroyed) return;
    const PlainTag gap = unreported();
    for (std::uint32_t skipped = next(); skipped < id; ++skipped) nodes[skipped] = gap;
    nodes[id] = tag;
  }
};

struct PlainExec {
  std::shared_ptr<PlainGraph> built_from;
  std::uint32_t template_id = 0;
  std::uint32_t template_ids = 0xffffffff;
  std::map<std::uint32_t, PlainTag> placement, overrides;
  std::optional<std::int64_t> destroyed_ns;

  PlainTag below(std::uint32_t id) const {
    if (id < template_ids) return built_from ? built_from->at(id) : PlainTag{{}, Origin::unknown_graph};
    return placement.contains(id) ? placement.at(id) : PlainTag{{}, Origin::unlinked_body};
  }
  std::uint32_t known_end() const {
    std::uint32_t end = built_from ? std::min(template_ids, built_from->next()) : 0;
    if (!placement.empty()) end = std::max(end, placement.rbegin()->first + 1);
    if (!overrides.empty()) end = std::max(end, overrides.rbegin()->first + 1);
    return end;
  }
  PlainTag at(std::uint32_t id) const { return overrides.contains(id) ? overrides.at(id) : below(id); }
  void update(std::uint32_t id, const PlainTag& tag) {
    if (destroyed_ns) return;
    overrides.erase(id);
    const Origin before = below(id).origin;
    const bool was_sure =
        before == Origin::outside_scope || before == Origin::callback || before == Origin::boundary || before == Origin::updated;
    const bool is_new_doubt = may_be_wrong(tag.origin) && was_sure;
    if (below(id).path != tag.path || is_new_doubt) overrides[id] = tag;
  }
};

class Twin {
 public:
  PlainGraph& graph(std::uint32_t id) { return *graph_pointer(id); }
  std::shared_ptr<PlainGraph> graph_pointer(std::uint32_t id) {
    auto& graph = graphs_[id];
    if (!graph) graph = std::make_shared<PlainGraph>();
    return graph;
  }
  const PlainGraph* find(std::uint32_t id) const { return graphs_.contains(id) ? graphs_.at(id).get() : nullptr; }

  PlainTag holders(const PlainGraph& graph) const {
    PlainTag tag;
    if (!graph.holder) return tag;
    const PlainGraph* holder = find(graph.holder->graph().value);
    return holder == nullptr ? tag : lay_over(holders(*holder), holder->at(graph.holder->local().value));
  }

  void link(std::uint32_t outer, std::uint32_t node, std::uint32_t index, std::uint32_t held) {
    PlainGraph& above = graph(outer);
    PlainGraph& below = graph(held);
    for (const PlainGraph* g = &above; g != nullptr; g = g->holder ? find(g->holder->graph().value) : nullptr) {
      if (g == &below) return;
    }
    if (below.holder && find(below.holder->graph().value) != nullptr) {
      std::erase_if(graph(below.holder->graph().value).held, [held](const auto& entry) { return entry.second == held; });
    }
    if (above.held.contains({node, index})) {
      const std::uint32_t replaced = above.held.at({node, index});
      if (find(replaced) != nullptr) graph(replaced).holder.reset();
    }
    above.held[{node, index}] = held;
    below.holder = NodeId{GraphId{outer}, LocalId{node}};
  }

  void destroy_graph(std::uint32_t id) {
    if (find(id) == nullptr || find(id)->destroyed) return;
    graph(id).destroyed = true;
    for (const auto& [place, held] : graph(id).held) destroy_graph(held);
  }

  void make_exec(std::uint32_t id, std::uint32_t from, std::optional<std::uint32_t> template_ids,
                 const std::vector<NodePairs>& nested, Origin how) {
    const std::shared_ptr<PlainGraph> built_from = graph_pointer(from);
    std::map<std::uint32_t, PlainTag> placement;
    std::uint32_t first = 0xffffffff;
    std::vector<NodePairs> ordered = nested;
    std::stable_sort(ordered.begin(), ordered.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const NodePairs& pairs : ordered) {
      first = std::min(first, pairs.first.value);
      const PlainGraph* source = find(pairs.source.graph().value);
      if (source == nullptr) continue;
      for (std::uint32_t i = 0; i < pairs.count; ++i) {
        placement[pairs.first.value + i] = with(lay_over(holders(*source), source->at(pairs.source.local().value + i)), how);
      }
    }
    PlainExec& exec = execs[id];
    if (exec.destroyed_ns) return;
    built_from->instantiated = true;
    exec = {};
    exec.built_from = built_from;
    exec.template_id = from;
    exec.placement = std::move(placement);
    if (template_ids) {
      exec.template_ids = *template_ids;
    } else if (!nested.empty()) {
      exec.template_ids = first;
    } else if (built_from->created || !built_from->nodes.empty()) {
      exec.template_ids = built_from->next();
    }
  }

  void update_exec(std::uint32_t id, const std::vector<NodePairs>& pairs, Origin how) {
    if (!execs.contains(id)) return;
    const std::uint32_t known_end = execs[id].known_end();
    for (const NodePairs& entry : pairs) {
      const PlainGraph* source = find(entry.source.graph().value);
      for (std::uint32_t i = 0; i < entry.count; ++i) {
        const PlainTag tag = source == nullptr ? PlainTag{{}, Origin::captured_before_start}
                                               : lay_over(holders(*source), source->at(entry.source.local().value + i));
        if (tag.path.empty() && entry.first.value + i >= known_end) continue;  // nothing there that it could take away
        execs[id].update(entry.first.value + i, with(tag, how));
      }
    }
  }

  PlainTag resolve(std::uint32_t id, std::uint32_t local, std::optional<std::int64_t> start_ns = {}) const {
    if (execs.contains(id)) {
      const PlainExec& exec = execs.at(id);
      if (start_ns && exec.destroyed_ns && *exec.destroyed_ns < *start_ns) return {{}, Origin::stale_id};
      return exec.at(local);
    }
    const PlainGraph* graph = find(id);
    if (graph == nullptr) return {{}, Origin::unknown_graph};
    return graph->instantiated ? graph->at(local) : lay_over(holders(*graph), graph->at(local));
  }

  void forget(std::uint32_t id) {
    if (graphs_.contains(id)) {
      const std::optional<NodeId> holder = graph(id).holder;
      if (holder && find(holder->graph().value) != nullptr) {
        std::erase_if(graph(holder->graph().value).held, [id](const auto& entry) { return entry.second == id; });
      }
      for (const auto& [place, held] : graph(id).held) {
        if (find(held) != nullptr) graph(held).holder.reset();
      }
      std::erase_if(execs, [gone = graphs_.at(id)](const auto& entry) { return entry.second.built_from == gone; });
      graphs_.erase(id);
    }
    execs.erase(id);
  }
  void forget() {
    graphs_.clear();
    execs.clear();
  }

  std::map<std::uint32_t, PlainExec> execs;  // id -> exec graph
  const std::map<std::uint32_t, std::shared_ptr<PlainGraph>>& graphs() const { return graphs_; }

 private:
  std::map<std::uint32_t, std::shared_ptr<PlainGraph>> graphs_;  // id -> graph; exec graphs keep theirs
};

using Step = std::tuple<std::uint8_t, std::array<std::uint8_t, 6>>;

// One random call, made to both.
class Player {
 public:
  Player(Registry& registry, Twin& twin) : registry_(registry), twin_(twin) {
    for (std::uint32_t i = 0; i < kNames; ++i) ids_.push_back(registry.name(name(i)));
  }

  void play(const Step& step) {
    const auto& [call, arguments] = step;
    now_ns_ += 10;
    const std::uint32_t graph = 1 + arguments[0] % kGraphs;
    const std::uint32_t other = 1 + arguments[1] % kGraphs;
    const std::uint32_t exec = 101 + arguments[0] % kExecs;
    const std::uint32_t id = arguments[2] % kIds;
    const std::uint32_t name_index = arguments[3] % (kNames + 1);  // the last one: outside every scope
    switch (call % 16) {
      case 0:
        registry_.graph_created({graph}, now_ns_);
        twin_.graph(graph).created = true;
        break;
      case 1:
      case 2:
      case 3:  // what happens most: the next node
        create(graph, twin_.find(graph) == nullptr ? 0 : std::min(kIds, twin_.find(graph)->next()), 1, name_index,
               Origin::callback);
        break;
      case 4:
        create(graph, id, 1, name_index, arguments[4] % 2 == 0 ? Origin::boundary : Origin::callback);
        break;
      case 5: {
        const std::uint32_t count = 1 + arguments[4] % 4;
        const Origin how = arguments[5] % 2 == 0 ? Origin::boundary_approximate : Origin::boundary;
        registry_.nodes_created(node(graph, id), count, annotation(name_index), how);
        for (std::uint32_t i = 0; i < count; ++i) twin_.graph(graph).report(id + i, tag(name_index, how));
        break;
      }
      case 6: {
        const std::uint32_t source = arguments[4] % kIds;
        registry_.node_cloned(node(graph, id), node(other, source));
        const PlainGraph* original = twin_.find(other);
        const PlainTag cloned = original == nullptr ? PlainTag{{}, Origin::captured_before_start} : original->at(source);
        twin_.graph(graph).report(id, cloned);
        break;
      }
      case 7: {
        registry_.graph_cloned({graph}, {other}, now_ns_);
        twin_.graph(graph).created = true;
        if (twin_.find(other) == nullptr) break;
        const std::map<std::uint32_t, PlainTag> nodes = twin_.find(other)->nodes;
        for (const auto& [local, original] : nodes) twin_.graph(graph).report(local, with(original, Origin::modelled));
        break;
      }
      case 8:
        registry_.child_graph(node(graph, id), {other});
        twin_.link(graph, id, 0, other);
        break;
      case 9:
        registry_.conditional_body(node(graph, id), arguments[4] % 2, {other});
        twin_.link(graph, id, arguments[4] % 2, other);
        break;
      case 10: {
        const std::vector<NodePairs> nested = pairs(arguments, kIds - 4);
        const std::optional<std::uint32_t> template_ids = arguments[5] % 3 == 0 ? std::optional(id) : std::nullopt;
        const Origin how = arguments[5] % 2 == 0 ? Origin::callback : Origin::modelled;
        registry_.exec_created({exec}, {other}, now_ns_, template_ids, nested, how);
        twin_.make_exec(exec, other, template_ids, nested, how);
        break;
      }
      case 11: {
        const Origin how = arguments[5] % 2 == 0 ? Origin::updated : Origin::modelled;
        registry_.exec_updated({exec}, pairs(arguments, 0), how);
        twin_.update_exec(exec, pairs(arguments, 0), how);
        break;
      }
      case 12:
        registry_.exec_node_updated(node(exec, id), annotation(name_index));
        if (twin_.execs.contains(exec)) twin_.execs[exec].update(id, tag(name_index, Origin::updated));
        break;
      case 13:
        registry_.graph_destroyed({graph}, now_ns_);
        twin_.destroy_graph(graph);
        break;
      case 14:
        registry_.exec_destroyed({exec}, now_ns_);
        if (twin_.execs.contains(exec) && !twin_.execs[exec].destroyed_ns) twin_.execs[exec].destroyed_ns = now_ns_;
        break;
      default:
        if (arguments[5] % 16 == 0) {
          registry_.forget();
          twin_.forget();
        } else {
          const std::uint32_t victim = arguments[5] % 2 == 0 ? graph : exec;
          registry_.forget({victim});
          twin_.forget(victim);
        }
    }
  }

  std::int64_t now_ns() const { return now_ns_; }
  static NodeId node(std::uint32_t graph, std::uint32_t local) { return {GraphId{graph}, LocalId{local}}; }

 private:
  static std::string name(std::uint32_t index) { return std::string(1, static_cast<char>('a' + index)); }
  AnnotationId annotation(std::uint32_t index) const { return index < kNames ? ids_[index] : AnnotationId::none; }
  static PlainTag tag(std::uint32_t index, Origin how) {
    return with(index < kNames ? PlainTag{{name(index)}, how} : PlainTag{}, how);
  }

  void create(std::uint32_t graph, std::uint32_t id, std::uint32_t count, std::uint32_t name_index, Origin how) {
    for (std::uint32_t i = 0; i < count; ++i) {
      registry_.node_created(node(graph, id + i), annotation(name_index), how);
      twin_.graph(graph).report(id + i, tag(name_index, how));
    }
  }
  // Up to two stretches, the second after the first, sources anywhere.
  static std::vector<NodePairs> pairs(const std::array<std::uint8_t, 6>& a, std::uint32_t from) {
    std::vector<NodePairs> pairs;
    std::uint32_t next = from + a[2] % 4;
    for (std::uint32_t i = 0; i < a[3] % 3u; ++i) {
      const std::uint32_t count = 1 + (a[4] >> i) % 4u;
      pairs.push_back({{next}, node(1 + (a[5] >> i) % kGraphs, (a[4] + i * 3) % kIds), count});
      next += count + a[5] % 2u;
    }
    return pairs;
  }

  Registry& registry_;
  Twin& twin_;
  std::vector<AnnotationId> ids_;
  std::int64_t now_ns_ = 1000;
};

PlainTag plain(const Resolution& resolution, const Annotation& annotation) {
  return {annotation.path, resolution.origin};
}

RC_GTEST_PROP(RegistryProperty, AgreesWithAPlainTwin, ()) {
  const auto steps = *rc::gen::resize(400, rc::gen::arbitrary<std::vector<Step>>());
  Registry registry;
  Twin twin;
  Player player(registry, twin);
  for (const Step& step : steps) player.play(step);

  Result<AnnotationFile> snapshot = registry.snapshot();
  RC_ASSERT(snapshot.ok());
  const AnnotationFile& file = *snapshot;
  std::vector<std::uint32_t> ids;
  for (std::uint32_t id = 1; id <= kGraphs; ++id) ids.push_back(id);
  for (std::uint32_t id = 101; id <= 100 + kExecs; ++id) ids.push_back(id);
  for (const std::uint32_t id : ids) {
    for (std::uint32_t local = 0; local < kIds + 20; ++local) {
      const PlainTag expected = twin.resolve(id, local);
      const Resolution resolution = registry.resolve(Player::node(id, local));
      RC_ASSERT(plain(resolution, registry[resolution.annotation]) == expected);
      const Resolution late = registry.resolve(Player::node(id, local), player.now_ns() + 1);
      RC_ASSERT(plain(late, registry[late.annotation]) == twin.resolve(id, local, player.now_ns() + 1));
      const Resolution filed = file.resolve(Player::node(id, local));
      RC_ASSERT(plain(filed, file.annotations[filed.annotation]) == expected);
    }
  }

  std::set<std::uint32_t> live;
  for (const auto& [id, exec] : twin.execs) {
    if (exec.destroyed_ns) continue;
    live.insert(id);
    live.insert(exec.template_id);
  }
  std::size_t live_graphs = 0;
  for (const auto& [id, graph] : twin.graphs()) {
    if (graph->destroyed) continue;
    live.insert(id);
    ++live_graphs;
  }
  Result<AnnotationFile> live_snapshot = registry.snapshot(true);
  RC_ASSERT(live_snapshot.ok());
  std::set<std::uint32_t> shown;
  for (const GraphRecord& record : live_snapshot->graphs) shown.insert(record.id.value);
  for (const ExecRecord& record : live_snapshot->execs) shown.insert(record.id.value);
  RC_ASSERT(shown == live);

  const RegistryCounters counters = registry.counters();
  RC_ASSERT(counters.graphs == live_graphs);
  RC_ASSERT(counters.graphs + counters.retired_graphs == twin.graphs().size());
  RC_ASSERT(counters.execs + counters.retired_execs == twin.execs.size());
  RC_ASSERT(counters.dropped == 0u);
  registry.forget();
  RC_ASSERT(registry.counters().live_bytes == 0u);
  RC_ASSERT(registry.counters().retired_bytes == 0u);
}

}  // namespace
}  // namespace graphtag
