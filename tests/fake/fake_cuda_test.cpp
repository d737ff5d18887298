#include "tests/fake/fake_cuda.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

namespace graphtag::fake {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::IsEmpty;

class NullObserver final : public GraphObserver {
 public:
  void on_graph_event(const GraphEvent&) noexcept override { ++events; }
  void on_instantiation(GraphHandle, bool) noexcept override {}
  std::atomic<int> events{0};
};

// Builds the graph of one line of nested_graphs.jsonl in `graph`, in creation order, gaps and all.
void build(FakeCuda& cuda, GraphHandle graph, const json& nodes, std::uint32_t next_local_id, std::vector<NodeHandle>& gaps) {
  std::uint32_t next = 0;
  const auto fill = [&](std::uint32_t id) {
    for (; next < id; ++next) gaps.push_back(cuda.add_node(graph, NodeType::kernel, {}, 0));
  };
  for (const json& node : nodes) {
    fill(node["id"]);
    ++next;
    const auto type = static_cast<NodeType>(node["t"].get<int>());
    if (type == NodeType::conditional) {
      const Conditional conditional = cuda.add_conditional(graph, node["sub"].size(), {});
      for (std::size_t i = 0; i < conditional.bodies.size(); ++i) build(cuda, conditional.bodies[i], node["sub"][i], 0, gaps);
    } else if (type == NodeType::child_graph) {
      // Built in place: the child is taken over with its ids.
      const GraphHandle child = cuda.graph_create();
      build(cuda, child, node["sub"][0], 0, gaps);
      ASSERT_NE(cuda.add_child(graph, child, {}, true), nullptr);
    } else {
      cuda.add_node(graph, type, {}, node.value("grid", 0));
    }
  }
  fill(next_local_id);
}

// 700 random graphs, and where an H200 put their kernels.
TEST(FakeCuda, NumbersNestedNodesAsAnH200Does) {
  std::ifstream file(GRAPHTAG_SOURCE_DIR "/tests/golden/truth/nested_graphs.jsonl");
  std::size_t kernels = 0;
  for (std::string line; std::getline(file, line);) {
    const json truth = json::parse(line);
    FakeCuda cuda;
    const GraphHandle graph = cuda.graph_create();
    std::vector<NodeHandle> gaps;
    build(cuda, graph, truth["nodes"], truth["next_local_id"], gaps);
    for (const NodeHandle gap : gaps) ASSERT_TRUE(cuda.destroy_node(gap));
    const ExecHandle exec = cuda.instantiate(graph);
    ASSERT_NE(exec, nullptr);
    std::map<std::uint64_t, std::uint32_t> places;  // grid -> exec-local id
    for (const Record& record : cuda.replay(exec)) {
      if (record.type == NodeType::kernel) places[record.tag] = record.id.local().value;
    }
    for (const auto& [grid, local_id] : truth["exec_local_id"].items()) {
      ASSERT_EQ(places.at(std::stoull(grid)), local_id.get<std::uint32_t>()) << line;
      ++kernels;
    }
  }
  EXPECT_GT(kernels, 6000U);
}

TEST(FakeCuda, HasOneSubscriber) {
  FakeCuda cuda;
  NullObserver first, second;
  SubscriptionHandle subscription = nullptr;
  ASSERT_TRUE(cuda.driver().subscribe(first, {GraphEventKind::node_created}, subscription).ok());
  EXPECT_EQ(cuda.driver().subscribe(second, {}, subscription).status, DriverStatus::busy);
  EXPECT_FALSE(cuda.take_subscription());
  const GraphHandle graph = cuda.graph_create();
  cuda.add_node(graph, NodeType::kernel, {}, 0);
  EXPECT_EQ(first.events, 1);  // the kind asked for alone
  ASSERT_TRUE(cuda.driver().unsubscribe(subscription).ok());
  EXPECT_TRUE(cuda.take_subscription());
  EXPECT_EQ(cuda.driver().subscribe(first, {}, subscription).status, DriverStatus::busy);
  EXPECT_TRUE(cuda.release_subscription());
}

TEST(FakeCuda, ReplaysRecordsWithTheExecGraphsIds) {
  FakeCuda cuda;
  const GraphHandle graph = cuda.graph_create();                                  // id 1
  const NodeHandle first = cuda.add_node(graph, NodeType::kernel, {}, 10);        // 0
  const Conditional branch = cuda.add_conditional(graph, 2, std::vector{first});  // 1; bodies are 2 and 3
  cuda.add_node(branch.bodies[0], NodeType::memcpy, {}, 11);                      // 3 in the exec graph
  cuda.add_node(branch.bodies[1], NodeType::kernel, {}, 12);                      // 4
  cuda.add_node(graph, NodeType::event_record, {}, 13);                           // makes no record
  const ExecHandle exec = cuda.instantiate(graph);                                // id 4; copies of bodies 5 and 6; inner ones
  const auto id = [](std::uint32_t local) { return NodeId(GraphId{4}, LocalId{local}); };
  EXPECT_THAT(cuda.replay(exec), ElementsAre(Record{id(0), NodeType::kernel, 10}, Record{id(3), NodeType::memcpy, 11},
                                             Record{id(4), NodeType::kernel, 12}));
  EXPECT_THAT(cuda.replay(exec, [](NodeHandle, std::size_t body) { return body == 1; }),
              ElementsAre(Record{id(0), NodeType::kernel, 10}, Record{id(4), NodeType::kernel, 12}));
  EXPECT_EQ(cuda.instantiate(graph), nullptr) << "a graph with conditionals has one exec graph at a time";
  EXPECT_EQ(cuda.clone(graph), nullptr);
  EXPECT_TRUE(cuda.destroy_exec(exec));
  EXPECT_NE(cuda.instantiate(graph), nullptr);
  EXPECT_THAT(cuda.replay(exec), testing::SizeIs(3)) << "the handle came back";
}

TEST(FakeCuda, UpdatesAndSingleNodeUpdatesKeepIds) {
  FakeCuda cuda;
  const GraphHandle graph = cuda.graph_create();
  const NodeHandle node = cuda.add_node(graph, NodeType::kernel, {}, 1);
  const ExecHandle exec = cuda.instantiate(graph);
  const NodeId id = cuda.replay(exec).front().id;
  const GraphHandle other = cuda.graph_create();
  cuda.add_node(other, NodeType::kernel, {}, 2);
  EXPECT_TRUE(cuda.update(exec, other));
  EXPECT_THAT(cuda.replay(exec), ElementsAre(Record{id, NodeType::kernel, 2}));
  EXPECT_TRUE(cuda.set_params(exec, node, 3));
  EXPECT_THAT(cuda.replay(exec), ElementsAre(Record{id, NodeType::kernel, 3}));
  cuda.add_node(other, NodeType::kernel, {}, 4);
  EXPECT_FALSE(cuda.update(exec, other)) << "another shape";
  EXPECT_THAT(cuda.replay(exec), ElementsAre(Record{id, NodeType::kernel, 3}));
}

TEST(FakeCuda, CapturesForksAndJoins) {
  FakeCuda cuda;
  const StreamHandle s = cuda.stream_create(), t = cuda.stream_create();
  EXPECT_EQ(cuda.launch(s, NodeType::kernel, 0), nullptr);
  ASSERT_TRUE(cuda.begin_capture(s));
  const NodeHandle a = cuda.launch(s, NodeType::kernel, 1);
  ASSERT_TRUE(cuda.wait_event(t, cuda.record_event(s)));
  const NodeHandle b = cuda.launch(t, NodeType::kernel, 2);
  const NodeHandle c = cuda.launch(s, NodeType::kernel, 3);
  CaptureInfo info;
  ASSERT_TRUE(cuda.driver().capture_info(t, info).ok());
  EXPECT_EQ(info.status, CaptureStatus::active);
  EXPECT_THAT(std::vector(info.frontier, info.frontier + info.frontier_size), ElementsAre(b));
  EXPECT_FALSE(cuda.destroy_node(a)) << "not during a capture";
  EXPECT_EQ(cuda.end_capture(t), nullptr) << "it did not begin the capture";
  ASSERT_TRUE(cuda.wait_event(s, cuda.record_event(t)));
  ASSERT_TRUE(cuda.driver().capture_info(s, info).ok());
  EXPECT_THAT(std::vector(info.frontier, info.frontier + info.frontier_size), ElementsAre(c, b));
  const GraphHandle graph = cuda.end_capture(s);
  std::size_t count = 0;
  ASSERT_TRUE(cuda.driver().graph_nodes(graph, nullptr, count).ok());
  EXPECT_EQ(count, 3U);
  std::vector<NodeHandle> nodes(2);
  count = nodes.size();
  EXPECT_EQ(cuda.driver().graph_nodes(graph, nodes.data(), count).status, DriverStatus::too_small);
  EXPECT_EQ(count, 3U);
  EXPECT_THAT(nodes, ElementsAre(a, b));
  ASSERT_TRUE(cuda.driver().capture_info(t, info).ok());
  EXPECT_EQ(info.status, CaptureStatus::none);
}

TEST(FakeCuda, AnUnjoinedForkFailsTheCapture) {
  FakeCuda cuda;
  const StreamHandle s = cuda.stream_create(), t = cuda.stream_create();
  ASSERT_TRUE(cuda.begin_capture(s));
  cuda.launch(s, NodeType::kernel, 1);
  const Event fork = cuda.record_event(s);
  ASSERT_TRUE(cuda.wait_event(t, fork));
  cuda.launch(t, NodeType::kernel, 2);
  EXPECT_EQ(cuda.end_capture(s), nullptr);
  EXPECT_FALSE(cuda.wait_event(t, fork)) << "the capture is over";
  EXPECT_TRUE(cuda.begin_capture(s)) << "the stream is usable";
}

TEST(FakeCuda, HandlesComeBackAndIdsDoNot) {
  FakeCuda cuda;
  const GraphHandle graph = cuda.graph_create();
  const NodeHandle node = cuda.add_node(graph, NodeType::kernel, {}, 0);
  NodeId first, second;
  ASSERT_TRUE(cuda.driver().node_id(node, first).ok());
  ASSERT_TRUE(cuda.destroy_node(node));
  EXPECT_EQ(cuda.driver().node_id(node, first).status, DriverStatus::invalid);
  EXPECT_EQ(cuda.add_node(graph, NodeType::kernel, {}, 0), node);
  ASSERT_TRUE(cuda.driver().node_id(node, second).ok());
  EXPECT_EQ(first, NodeId(GraphId{1}, LocalId{0}));
  EXPECT_EQ(second, NodeId(GraphId{1}, LocalId{1}));
}

TEST(FakeCuda, WhatADriverLacksIsMissing) {
  Options options;
  options.has_exec_id = false;
  options.has_callbacks = false;
  FakeCuda cuda(options);
  NullObserver observer;
  SubscriptionHandle subscription = nullptr;
  EXPECT_EQ(cuda.driver().subscribe(observer, {}, subscription).status, DriverStatus::missing);
  const ExecHandle exec = cuda.instantiate(cuda.graph_create());
  GraphId id;
  EXPECT_EQ(cuda.driver().exec_id(exec, id).status, DriverStatus::missing);
  std::size_t count = 0;
  EXPECT_EQ(cuda.driver().conditional_bodies(nullptr, nullptr, count).status, DriverStatus::missing);
}

TEST(FakeCuda, ManyThreadsCaptureAtOnce) {
  FakeCuda cuda;
  NullObserver observer;
  SubscriptionHandle subscription = nullptr;
  ASSERT_TRUE(cuda.driver().subscribe(observer, {GraphEventKind::node_created}, subscription).ok());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      const StreamHandle stream = cuda.stream_create();
      for (int i = 0; i < 20; ++i) {
        cuda.begin_capture(stream);
        for (std::uint64_t k = 0; k < 10; ++k) cuda.launch(stream, NodeType::kernel, k);
        const GraphHandle graph = cuda.end_capture(stream);
        const ExecHandle exec = cuda.instantiate(graph);
        EXPECT_EQ(cuda.replay(exec).size(), 10U);
        cuda.destroy_graph(graph);
        cuda.destroy_exec(exec);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(observer.events, 4 * 20 * 20);  // each node when captured, and again when copied for the exec graph
}

}  // namespace
}  // namespace graphtag::fake
