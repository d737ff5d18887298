// What does remembering one node cost? The registry beside a map of every node behind one lock, both answering the same at the end.
// A scope every 10 nodes; nodes of one graph in order.
#include <benchmark/benchmark.h>

#include <boost/unordered/unordered_flat_map.hpp>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "registry/registry.h"

namespace graphtag {
namespace {

constexpr std::uint32_t kScopes = 64;

class LockedMap {
 public:
  void node_created(NodeId node, AnnotationId annotation) {
    const std::lock_guard lock(mutex_);
    annotations_[node] = annotation;
  }
  AnnotationId resolve(NodeId node) {
    const std::lock_guard lock(mutex_);
    return annotations_[node];
  }

  void forget(GraphId graph) {
    const std::lock_guard lock(mutex_);
    boost::unordered::erase_if(annotations_, [graph](const auto& entry) { return entry.first.graph() == graph; });
  }

 private:
  std::mutex mutex_;
  boost::unordered_flat_map<NodeId, AnnotationId, std::hash<NodeId>> annotations_;  // node -> annotation; guarded by mutex_
};

Registry& registry() {
  static Registry* const made = new Registry;
  return *made;
}
LockedMap& locked_map() {
  static LockedMap* const made = new LockedMap;
  return *made;
}

std::vector<AnnotationId> scopes() {
  std::vector<AnnotationId> ids;
  for (std::uint32_t i = 0; i < kScopes; ++i) ids.push_back(registry().name("scope " + std::to_string(i)));
  return ids;
}

// Each thread captures its own graph of `nodes` nodes.
template <typename Record, typename Answer, typename Drop>
void capture(benchmark::State& state, Record record, Answer answer, Drop drop) {
  const std::vector<AnnotationId> ids = scopes();
  const auto nodes = static_cast<std::uint32_t>(state.range(0));
  std::uint32_t graph = 1 + static_cast<std::uint32_t>(state.thread_index()) * 1'000'000;
  for (auto _ : state) {
    ++graph;
    for (std::uint32_t local = 0; local < nodes; ++local) {
      record(NodeId{GraphId{graph}, LocalId{local}}, ids[local / 10 % kScopes]);
    }
    if (answer(NodeId{GraphId{graph}, LocalId{nodes / 2}}) != ids[nodes / 2 / 10 % kScopes]) state.SkipWithError("wrong answer");
    state.PauseTiming();
    drop(GraphId{graph});
    state.ResumeTiming();
  }
  state.counters["a_node"] = benchmark::Counter(static_cast<double>(state.iterations()) * nodes,
                                                benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void BM_Registry(benchmark::State& state) {
  capture(
      state, [](NodeId node, AnnotationId annotation) { registry().node_created(node, annotation); },
      [](NodeId node) { return registry().resolve(node).annotation; }, [](GraphId graph) { registry().forget(graph); });
}
BENCHMARK(BM_Registry)->Arg(1000)->Arg(10'000)->Arg(100'000)->ThreadRange(1, 2);

void BM_LockedMap(benchmark::State& state) {
  capture(
      state, [](NodeId node, AnnotationId annotation) { locked_map().node_created(node, annotation); },
      [](NodeId node) { return locked_map().resolve(node); }, [](GraphId graph) { locked_map().forget(graph); });
}
BENCHMARK(BM_LockedMap)->Arg(1000)->Arg(10'000)->Arg(100'000)->ThreadRange(1, 2);

}  // namespace
}  // namespace graphtag

BENCHMARK_MAIN();
