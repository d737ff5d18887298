// Random programs against the plain model of tests/support/program.h: captures that fork and join, graphs built by hand, child graphs,
// conditionals, clones, updates, several exec graphs, destroyed nodes and graphs, on several threads' scopes, in both orders of events.
#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <random>

#include "tests/support/program.h"

namespace graphtag {
namespace {

constexpr int kDeepest = 3;

struct Setting {
  ObserverChoice observer = ObserverChoice::callbacks;
  bool all_streams = false;
  fake::Options fake;
};

class RandomProgram {
 public:
  RandomProgram(std::uint64_t seed, const Setting& setting) : setting_(setting), rec_(setting.fake), random_(seed) {
    for (int i = 0; i < 4; ++i) streams_.push_back(rec_.cuda.stream_create());
  }

  // Everything that callbacks are to know. Fails the test at the first record that is wrong.
  void check_callbacks(int graphs) {
    const WindowId window = rec_.open(ObserverChoice::callbacks);
    for (int i = 0; i < graphs; ++i) {
      std::unique_ptr<PlainGraph> graph = pick(2) == 0 ? captured() : built();
      end_all(main_);
      live_.push_back(instantiate(*graph));
      const bool plain = !graph->has_conditional();
      if (plain && pick(3) == 0) live_.push_back(instantiate(*graph));
      if (plain && pick(3) == 0) clone(*graph);
      if (plain && pick(3) == 0) update(live_.back(), *graph);
      if (pick(2) == 0) rec_.cuda.destroy_graph(graph->handle);
      for (const Exec& exec : live_) ASSERT_EQ(rec_.replay(exec.handle), exec.records);
      if (pick(2) == 0) {
        rec_.cuda.destroy_exec(live_.front().handle);
        live_.erase(live_.begin());
      }
    }
    rec_.close(window);
    for (const Exec& exec : live_) ASSERT_EQ(rec_.replay(exec.handle), exec.records);
    EXPECT_EQ(rec_.recorder.counters().failures, 0U);
    EXPECT_EQ(rec_.registry.counters().lost, 0U);
  }

  // Scopes begin and end between windows as well as within them: a window that observes nothing keeps them.
  void check_late_windows(int graphs) {
    const WindowId kept = rec_.open(ObserverChoice::none);
    for (int i = 0; i < graphs; ++i) {
      for (std::uint64_t n = pick(4); n > 0; --n) shuffle(main_);
      const WindowId window = rec_.open(ObserverChoice::callbacks);
      std::unique_ptr<PlainGraph> graph = pick(2) == 0 ? captured() : built();
      live_.push_back(instantiate(*graph));
      rec_.close(window);
      ASSERT_FALSE(rec_.cuda.has_subscriber());
      for (const Exec& exec : live_) ASSERT_EQ(rec_.replay(exec.handle), exec.records);
    }
    end_all(main_);
    rec_.close(kept);
    EXPECT_EQ(rec_.active_windows, 0U);
    EXPECT_EQ(rec_.recorder.counters().failures, 0U);
  }

  // What the boundary observer calls `boundary` must be right, and so must what it says to be outside every scope.
  void check_boundary(int graphs, std::uint64_t& sure) {
    rec_.open(ObserverChoice::boundary, streams_, setting_.all_streams);
    for (int i = 0; i < graphs; ++i) {
      std::unique_ptr<PlainGraph> graph = captured();
      end_all(main_);
      const Exec exec = instantiate(*graph);
      ASSERT_EQ(rec_.recorder.link_exec(exec.handle, graph->handle), RecordStatus::ok);
      const std::vector<fake::Record> records = rec_.cuda.replay(exec.handle);
      ASSERT_EQ(records.size(), exec.records.size());
      for (std::size_t r = 0; r < records.size(); ++r) {
        const Origin origin = rec_.registry.resolve(records[r].id).origin;
        if (origin != Origin::boundary && origin != Origin::outside_scope) continue;
        ++sure;
        ASSERT_EQ(sorted(rec_.object_of(records[r].id)), sorted(exec.records[r].annotation))
            << "node " << records[r].id.graph().value << ":" << records[r].id.local().value << " " << to_string(origin)
            << " next " << rec_.registry.next_local_id(rec_.id_of(graph->handle)).value_or(0);
      }
    }
  }

 private:
  using Scopes = std::vector<Json>;
  struct Exec {
    ExecHandle handle = nullptr;
    std::vector<PlainRecord> records;
  };

  std::uint64_t pick(std::uint64_t below) { return random_() % below; }

  void shuffle(Scopes& scopes) {
    if (pick(3) != 0) return;
    if (!scopes.empty() && (scopes.size() > 4 || pick(2) == 0)) {
      rec_.end();
      scopes.pop_back();
      return;
    }
    Json object = Json::object();
    if (pick(3) != 0) object["name"] = "s" + std::to_string(pick(20));
    object["k" + std::to_string(pick(4))] = pick(50);
    rec_.begin(object);
    scopes.push_back(object);
  }
  void end_all(Scopes& scopes) {
    for (; !scopes.empty(); scopes.pop_back()) rec_.end();
  }
  Json open_now() const {
    Json merged = Json::object();
    for (const Json& scope : main_) merged = laid_over(merged, scope);
    for (const Json& scope : engine_) merged = laid_over(merged, scope);
    return merged;
  }
  PlainGraph::Node& note(PlainGraph& graph, NodeType type) {
    PlainGraph::Node& node = graph.nodes.emplace_back();
    node.type = type;
    node.annotation = open_now();
    node.tag = ++last_tag_;
    return node;
  }
  NodeType some_type() {
    constexpr NodeType kTypes[] = {NodeType::kernel, NodeType::kernel, NodeType::memcpy,
                                   NodeType::memset, NodeType::host,   NodeType::empty};
    return kTypes[pick(6)];
  }

  std::unique_ptr<PlainGraph> captured() {
    auto graph = std::make_unique<PlainGraph>();
    shuffle(main_);
    EXPECT_TRUE(rec_.cuda.begin_capture(streams_[0]));
    bool forked = false;
    const std::uint64_t size = 1 + pick(12);
    for (std::uint64_t i = 0; i < size; ++i) {
      shuffle(main_);
      const StreamHandle stream = streams_[forked ? pick(2) : 0];
      switch (pick(8)) {
        case 0:
          rec_.cuda.wait_event(streams_[forked ? 0 : 1], rec_.cuda.record_event(streams_[forked ? 1 : 0]));
          forked = true;
          break;
        case 1: {
          const std::unique_ptr<PlainGraph> child = built_child(1);
          note(*graph, NodeType::child_graph).bodies.push_back(child->copy());
          rec_.cuda.launch_child(stream, child->handle);
          if (pick(2) == 0) rec_.cuda.destroy_graph(child->handle);
          break;
        }
        case 2: {
          note(*graph, NodeType::conditional);
          const std::size_t index = graph->nodes.size() - 1;
          const fake::Conditional made = rec_.cuda.launch_conditional(stream, 1 + pick(3));
          if (setting_.observer == ObserverChoice::boundary) {
            EXPECT_EQ(rec_.recorder.link_bodies(made.node, made.bodies), RecordStatus::ok);
          }
          fill_bodies(graph->nodes[index], made, 1);
          break;
        }
        case 3:
          worker_.run([&] {
            for (std::uint64_t n = 1 + pick(3); n > 0; --n) {
              shuffle(engine_);
              const NodeType type = some_type();
              rec_.cuda.launch(stream, type, note(*graph, type).tag);
            }
            end_all(engine_);
          });
          break;
        default: {
          const NodeType type = some_type();
          rec_.cuda.launch(stream, type, note(*graph, type).tag);
        }
      }
    }
    if (forked) rec_.cuda.wait_event(streams_[0], rec_.cuda.record_event(streams_[1]));
    graph->handle = rec_.cuda.end_capture(streams_[0]);
    EXPECT_NE(graph->handle, nullptr);
    return graph;
  }

  void fill_bodies(PlainGraph::Node& node, const fake::Conditional& made, int depth) {
    for (const GraphHandle handle : made.bodies) {
      auto body = std::make_unique<PlainGraph>();
      body->handle = handle;
      shuffle(main_);
      if (depth == 1 && pick(2) == 0) {
        EXPECT_TRUE(rec_.cuda.begin_capture_to_graph(streams_[2], handle, {}));
        for (std::uint64_t n = pick(4); n > 0; --n) {
          shuffle(main_);
          rec_.cuda.launch(streams_[2], NodeType::kernel, note(*body, NodeType::kernel).tag);
        }
        EXPECT_EQ(rec_.cuda.end_capture(streams_[2]), handle);
      } else {
        fill(*body, pick(4), depth, true);
      }
      node.bodies.push_back(std::move(body));
    }
  }

  // By hand.
  void fill(PlainGraph& graph, std::uint64_t size, int depth, bool conditionals) {
    for (std::uint64_t i = 0; i < size; ++i) {
      shuffle(main_);
      const std::uint64_t what = pick(8);
      if (what == 0 && depth < kDeepest) {
        const std::unique_ptr<PlainGraph> child = built_child(depth + 1);
        PlainGraph::Node& node = note(graph, NodeType::child_graph);
        node.bodies.push_back(child->copy());
        node.handle = rec_.cuda.add_child(graph.handle, child->handle, {});
        rec_.cuda.destroy_graph(child->handle);
      } else if (what == 1 && depth < kDeepest && conditionals) {
        note(graph, NodeType::conditional);
        const std::size_t index = graph.nodes.size() - 1;
        const fake::Conditional made = rec_.cuda.add_conditional(graph.handle, 1 + pick(2), {});
        graph.nodes[index].handle = made.node;
        if (setting_.observer == ObserverChoice::boundary) {
          EXPECT_EQ(rec_.recorder.link_bodies(made.node, made.bodies), RecordStatus::ok);
        }
        fill_bodies(graph.nodes[index], made, depth + 1);
      } else if (what == 2 && !graph.nodes.empty()) {
        const std::size_t victim = pick(graph.nodes.size());
        // Nodes of a graph that is being captured stay.
        if (graph.nodes[victim].handle != nullptr && rec_.cuda.destroy_node(graph.nodes[victim].handle)) {
          graph.nodes.erase(graph.nodes.begin() + static_cast<std::ptrdiff_t>(victim));
        }
      } else {
        const NodeType type = some_type();
        PlainGraph::Node& node = note(graph, type);
        node.handle = rec_.cuda.add_node(graph.handle, type, {}, node.tag);
      }
    }
  }
  std::unique_ptr<PlainGraph> built_child(int depth) {
    auto graph = std::make_unique<PlainGraph>();
    graph->handle = rec_.cuda.graph_create();
    fill(*graph, pick(4), depth, false);
    return graph;
  }
  std::unique_ptr<PlainGraph> built() {
    auto graph = std::make_unique<PlainGraph>();
    graph->handle = rec_.cuda.graph_create();
    fill(*graph, pick(12), 0, true);
    return graph;
  }

  Exec instantiate(const PlainGraph& graph) {
    const ExecHandle exec = rec_.cuda.instantiate(graph.handle);
    EXPECT_NE(exec, nullptr);
    return {exec, list_records(graph)};
  }
  void clone(const PlainGraph& graph) {
    std::unique_ptr<PlainGraph> copy = graph.copy();
    shuffle(main_);
    copy->handle = rec_.cuda.clone(graph.handle);
    ASSERT_NE(copy->handle, nullptr);
    fill(*copy, pick(3), kDeepest, false);
    end_all(main_);
    live_.push_back(instantiate(*copy));
    rec_.cuda.destroy_graph(copy->handle);
  }
  // With a graph of the same shape, whose nodes do other work under other scopes.
  void update(Exec& exec, const PlainGraph& graph) {
    std::unique_ptr<PlainGraph> next = graph.copy();
    next->handle = rec_.cuda.graph_create();
    rebuild(*next);
    end_all(main_);
    if (rec_.cuda.update(exec.handle, next->handle)) exec.records = list_records(*next);
    rec_.cuda.destroy_graph(next->handle);
  }
  void rebuild(PlainGraph& graph) {
    for (PlainGraph::Node& node : graph.nodes) {
      shuffle(main_);
      node.tag = ++last_tag_;
      if (node.type == NodeType::child_graph) {
        PlainGraph& child = *node.bodies[0];
        child.handle = rec_.cuda.graph_create();
        rebuild(child);
        rec_.cuda.add_child(graph.handle, child.handle, {});
        rec_.cuda.destroy_graph(child.handle);
      } else {
        rec_.cuda.add_node(graph.handle, node.type, {}, node.tag);
      }
      node.annotation = open_now();
    }
  }

  Setting setting_;
  Recording rec_;
  Worker worker_;
  std::mt19937_64 random_;
  std::vector<StreamHandle> streams_;
  Scopes main_, engine_;
  std::vector<Exec> live_;
  std::uint64_t last_tag_ = 0;
};

RC_GTEST_PROP(RandomPrograms, CallbacksKnowEveryRecord, (std::uint64_t seed)) {
  RandomProgram(seed, {}).check_callbacks(12);
  RC_ASSERT(!testing::Test::HasFailure());
}

RC_GTEST_PROP(RandomPrograms, CallbacksKnowEveryRecordWhereClonesComeFirst, (std::uint64_t seed)) {
  Setting setting;
  setting.fake.clone_before_create = true;
  RandomProgram(seed, setting).check_callbacks(12);
  RC_ASSERT(!testing::Test::HasFailure());
}

RC_GTEST_PROP(RandomPrograms, CallbacksKnowEveryRecordWhereCuptiDoesNotTellOfCalls, (std::uint64_t seed)) {
  Setting setting;
  setting.fake.tells_calls = false;
  RandomProgram(seed, setting).check_callbacks(12);
  RC_ASSERT(!testing::Test::HasFailure());
}

RC_GTEST_PROP(RandomPrograms, CallbacksKnowEveryRecordOfCuda132, (std::uint64_t seed)) {
  Setting setting;
  setting.fake.has_node_params = true;
  RandomProgram(seed, setting).check_callbacks(12);
  RC_ASSERT(!testing::Test::HasFailure());
}

RC_GTEST_PROP(RandomPrograms, WindowsThatOpenWithinScopesSeeThem, (std::uint64_t seed)) {
  RandomProgram(seed, {}).check_late_windows(12);
  RC_ASSERT(!testing::Test::HasFailure());
}

class Boundaries : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Readings, Boundaries, testing::Bool(),
                         [](const auto& all) { return all.param ? "frontiers" : "counts"; });

TEST_P(Boundaries, AreRightWhereTheySaySo) {
  std::uint64_t sure = 0;
  for (std::uint64_t seed = 0; seed < 200 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    RandomProgram(seed, {ObserverChoice::boundary, GetParam(), {}}).check_boundary(6, sure);
  }
  EXPECT_GT(sure, 2000U);
}

}  // namespace
}  // namespace graphtag
