// Windows, who holds CUPTI meanwhile, and what the boundary observer makes of graphs when nobody tells it of nodes.
#include <gmock/gmock.h>

#include <map>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/program.h"

namespace graphtag {
namespace {

using fake::Conditional;

TEST(Windows, TheFirstChoosesTheObserverAndTheLastGivesTheSubscriptionBack) {
  Recording rec;
  const WindowId first = rec.open(), second = rec.open(ObserverChoice::boundary);
  EXPECT_NE(first, second);
  EXPECT_EQ(rec.active_windows, 2U);
  ObserverChoice observer{};
  EXPECT_EQ(rec.recorder.observer_of(second, observer), RecordStatus::ok);
  EXPECT_EQ(observer, ObserverChoice::callbacks);
  rec.close(first);
  EXPECT_TRUE(rec.cuda.has_subscriber());
  EXPECT_EQ(rec.recorder.close_window(first), RecordStatus::invalid_handle);
  rec.close(second);
  EXPECT_FALSE(rec.cuda.has_subscriber());
  EXPECT_EQ(rec.active_windows, 0U);
  EXPECT_EQ(rec.recorder.add_stream(second, nullptr), RecordStatus::invalid_handle);
}

TEST(Windows, WhoeverHoldsTheSubscriptionIsNotDisturbed) {
  Recording rec;
  ASSERT_TRUE(rec.cuda.take_subscription());
  WindowId window = WindowId::none;
  EXPECT_EQ(rec.recorder.open_window({ObserverChoice::callbacks, false, {}}, window), RecordStatus::busy);
  EXPECT_EQ(rec.active_windows, 0U);
  const StreamHandle stream = rec.cuda.stream_create();
  window = rec.open(ObserverChoice::automatic, {stream});
  ObserverChoice observer{};
  EXPECT_EQ(rec.recorder.observer_of(window, observer), RecordStatus::ok);
  EXPECT_EQ(observer, ObserverChoice::boundary);
  rec.cuda.begin_capture(stream);
  rec.begin("a");
  rec.cuda.launch(stream, NodeType::kernel, 1);
  rec.end();
  const GraphHandle graph = rec.cuda.end_capture(stream);
  const ExecHandle exec = rec.cuda.instantiate(graph);
  EXPECT_EQ(rec.recorder.link_exec(exec, graph), RecordStatus::ok);
  EXPECT_EQ(rec.names(exec), (Names{{1, "a"}}));
  EXPECT_EQ(rec.registry.resolve(rec.cuda.replay(exec)[0].id).origin, Origin::boundary);
  // Once it is free, a window that insists gets callbacks.
  ASSERT_TRUE(rec.cuda.release_subscription());
  rec.open(ObserverChoice::callbacks);
  EXPECT_EQ(rec.recorder.observer_of(window, observer), RecordStatus::ok);
  EXPECT_EQ(observer, ObserverChoice::callbacks);
}

TEST(Windows, WayIsMadeForSomebodyElseWhoWantsTheSubscription) {
  Recording rec;
  const WindowId window = rec.open();
  const StreamHandle stream = rec.cuda.stream_create(), next_stream = rec.cuda.stream_create();
  rec.begin("before");
  rec.cuda.begin_capture(stream);
  rec.cuda.launch(stream, NodeType::kernel, 1);
  rec.recorder.make_way();
  ASSERT_TRUE(rec.cuda.take_subscription()) << "it is free";
  ObserverChoice observer{};
  EXPECT_EQ(rec.recorder.observer_of(window, observer), RecordStatus::ok);
  EXPECT_EQ(observer, ObserverChoice::boundary);
  // What was seen keeps its name, what came after is not known, and scopes go on.
  rec.cuda.launch(stream, NodeType::kernel, 2);
  const ExecHandle exec = rec.cuda.instantiate(rec.cuda.end_capture(stream));
  const std::vector<fake::Record> records = rec.cuda.replay(exec);
  ASSERT_EQ(records.size(), 2U);
  EXPECT_NE(rec.registry.resolve(records[1].id).origin, Origin::callback);
  EXPECT_EQ(rec.recorder.add_stream(window, next_stream), RecordStatus::ok);
  rec.cuda.begin_capture(next_stream);
  rec.begin("after");
  rec.cuda.launch(next_stream, NodeType::kernel, 3);
  rec.end();
  const GraphHandle graph = rec.cuda.end_capture(next_stream);
  const ExecHandle next = rec.cuda.instantiate(graph);
  EXPECT_EQ(rec.recorder.link_exec(next, graph), RecordStatus::ok);
  EXPECT_EQ(rec.names(next), (Names{{3, "after"}}));
  rec.end();
  // Twice, and where no callbacks are, it changes nothing.
  rec.recorder.make_way();
  EXPECT_TRUE(rec.cuda.release_subscription()) << "the other one still had it";
  rec.close(window);
  rec.recorder.make_way();
}

TEST(Windows, StreamsThatWereNamedAreReadOnceWayIsMade) {
  for (const bool named_when_opened : {true, false}) {
    Recording rec;
    const StreamHandle stream = rec.cuda.stream_create(), side = rec.cuda.stream_create();
    WindowId window = WindowId::none;
    const std::vector<StreamHandle> streams{stream, side};
    ASSERT_EQ(rec.recorder.open_window(
                  {ObserverChoice::automatic, true, named_when_opened ? streams : std::vector<StreamHandle>{}}, window),
              RecordStatus::ok);
    if (!named_when_opened) {
      for (const StreamHandle named : streams) ASSERT_EQ(rec.recorder.add_stream(window, named), RecordStatus::ok);
    }
    rec.cuda.begin_capture(stream);
    rec.begin("by callbacks");
    rec.cuda.launch(stream, NodeType::kernel, 10);
    rec.recorder.make_way();
    rec.end();
    rec.begin("X");
    rec.cuda.launch(stream, NodeType::kernel, 1);
    rec.cuda.wait_event(side, rec.cuda.record_event(stream));
    rec.cuda.launch(side, NodeType::kernel, 2);
    rec.end();
    rec.begin("Y");
    rec.cuda.wait_event(stream, rec.cuda.record_event(side));
    rec.cuda.launch(stream, NodeType::kernel, 3);
    rec.end();
    const GraphHandle graph = rec.cuda.end_capture(stream);
    const ExecHandle exec = rec.cuda.instantiate(graph);
    ASSERT_EQ(rec.recorder.link_exec(exec, graph), RecordStatus::ok);
    EXPECT_EQ(rec.names(exec), (Names{{10, "by callbacks"}, {1, "X"}, {2, "X"}, {3, "Y"}}));
    rec.close(window);
  }
}

TEST(Windows, WhatCallbacksSawIsNotNamedAgainByTheObserverBefore) {
  Recording rec;
  const StreamHandle stream = rec.cuda.stream_create();
  const GraphHandle old = rec.cuda.graph_create();
  for (std::uint64_t tag = 90; tag < 94; ++tag) rec.cuda.add_node(old, NodeType::kernel, {}, tag);
  const ExecHandle updated = rec.cuda.instantiate(old);
  WindowId first = WindowId::none;
  const std::vector<StreamHandle> streams{stream};
  ASSERT_EQ(rec.recorder.open_window({ObserverChoice::boundary, false, streams}, first), RecordStatus::ok);
  rec.cuda.begin_capture(stream);
  rec.begin("A");
  for (const std::uint64_t tag : {1, 2}) rec.cuda.launch(stream, NodeType::kernel, tag);
  rec.end();
  const WindowId second = rec.open(ObserverChoice::callbacks);
  rec.begin("B");
  for (const std::uint64_t tag : {3, 4}) rec.cuda.launch(stream, NodeType::kernel, tag);
  rec.end();
  const GraphHandle graph = rec.cuda.end_capture(stream);
  const ExecHandle exec = rec.cuda.instantiate(graph);
  const Names right{{1, "A"}, {2, "A"}, {3, "B"}, {4, "B"}};
  EXPECT_EQ(rec.names(exec), right);
  ASSERT_TRUE(rec.cuda.update(updated, graph));
  EXPECT_EQ(rec.recorder.link_exec(updated, graph), RecordStatus::ok);
  EXPECT_EQ(rec.names(exec), right);
  EXPECT_EQ(rec.names(updated), right);
  rec.close(second);
  rec.close(first);
}

TEST(Windows, WithoutCallbacksTheBoundaryObserverIsChosen) {
  fake::Options options;
  options.has_callbacks = false;
  Recording rec(options);
  WindowId window = WindowId::none;
  EXPECT_EQ(rec.recorder.open_window({ObserverChoice::callbacks, false, {}}, window), RecordStatus::unavailable);
  window = rec.open();
  ObserverChoice observer{};
  EXPECT_EQ(rec.recorder.observer_of(window, observer), RecordStatus::ok);
  EXPECT_EQ(observer, ObserverChoice::boundary);
}

TEST(Windows, OutsideThemCallbacksAreOff) {
  Recording rec;
  rec.close(rec.open());
  const GraphHandle graph = rec.cuda.graph_create();
  rec.cuda.add_node(graph, NodeType::kernel, {}, 1);
  rec.cuda.instantiate(graph);
  EXPECT_EQ(rec.recorder.counters().nodes_seen, 0U);
  EXPECT_EQ(rec.registry.counters().graphs, 0U);
}

// --- the boundary observer ---

TEST(Boundaries, WhatOnlyTheDriverCanTellOfNestedNodesIsModelled) {
  for (const bool checked : {true, false}) {
    Recording rec({}, checked);
    const StreamHandle stream = rec.cuda.stream_create();
    const GraphHandle child = rec.cuda.graph_create();
    rec.cuda.add_node(child, NodeType::kernel, {}, 1);
    rec.open(ObserverChoice::boundary, {stream}, true);
    rec.cuda.begin_capture(stream);
    rec.begin("a");
    rec.cuda.launch(stream, NodeType::kernel, 2);
    rec.cuda.launch_child(stream, child);
    rec.end();
    const GraphHandle graph = rec.cuda.end_capture(stream);
    const ExecHandle exec = rec.cuda.instantiate(graph);
    ASSERT_EQ(rec.recorder.link_exec(exec, graph), RecordStatus::ok);
    const std::vector<fake::Record> records = rec.cuda.replay(exec);
    ASSERT_EQ(records.size(), 2U);
    EXPECT_EQ(rec.registry.resolve(records[0].id).origin, Origin::boundary);
    const Resolution nested = rec.registry.resolve(records[1].id);
    EXPECT_EQ(nested.origin, checked ? Origin::modelled : Origin::unlinked_body);
    EXPECT_EQ(rec.object_of(records[1].id), checked ? Json({{"name", "a"}}) : Json::object());
  }
}

TEST(Boundaries, BodiesAreFoundByTheDriverFromCuda132) {
  fake::Options options;
  options.has_node_params = true;
  Recording rec(options);
  const StreamHandle stream = rec.cuda.stream_create();
  rec.open(ObserverChoice::boundary, {stream}, true);
  rec.cuda.begin_capture(stream);
  rec.begin("a");
  const Conditional branch = rec.cuda.launch_conditional(stream, 1);
  rec.end();
  rec.cuda.add_node(branch.bodies[0], NodeType::kernel, {}, 1);
  const GraphHandle graph = rec.cuda.end_capture(stream);
  const ExecHandle exec = rec.cuda.instantiate(graph);
  ASSERT_EQ(rec.recorder.link_exec(exec, graph), RecordStatus::ok);
  EXPECT_EQ(rec.names(exec), (Names{{1, "a"}}));
}

TEST(Boundaries, LinkingAgainAfterAnUpdateFollowsIt) {
  Recording rec;
  const StreamHandle stream = rec.cuda.stream_create();
  rec.open(ObserverChoice::boundary, {stream});
  const auto capture = [&](const char* name, std::uint64_t tag) {
    rec.cuda.begin_capture(stream);
    rec.begin(name);
    rec.cuda.launch(stream, NodeType::kernel, tag);
    rec.end();
    rec.cuda.launch(stream, NodeType::kernel, tag + 1);
    return rec.cuda.end_capture(stream);
  };
  const GraphHandle first = capture("old", 1), second = capture("new", 5);
  const ExecHandle exec = rec.cuda.instantiate(first);
  ASSERT_EQ(rec.recorder.link_exec(exec, first), RecordStatus::ok);
  EXPECT_EQ(rec.names(exec), (Names{{1, "old"}, {2, ""}}));
  ASSERT_TRUE(rec.cuda.update(exec, second));
  ASSERT_EQ(rec.recorder.link_exec(exec, second), RecordStatus::ok);
  EXPECT_EQ(rec.names(exec), (Names{{5, "new"}, {6, ""}}));
  EXPECT_EQ(rec.registry.resolve(rec.cuda.replay(exec)[0].id).origin, Origin::modelled);
}

TEST(Boundaries, AStreamNamedDuringItsCaptureSeesTheRest) {
  for (const bool all_streams : {false, true}) {
    Recording rec;
    const StreamHandle stream = rec.cuda.stream_create();
    const WindowId window = rec.open(ObserverChoice::boundary, {}, all_streams);
    rec.begin("a");
    rec.cuda.begin_capture(stream);
    rec.cuda.launch(stream, NodeType::kernel, 1);
    ASSERT_EQ(rec.recorder.add_stream(window, stream), RecordStatus::ok);
    rec.cuda.launch(stream, NodeType::kernel, 2);
    rec.end();
    const GraphHandle graph = rec.cuda.end_capture(stream);
    const ExecHandle exec = rec.cuda.instantiate(graph);
    ASSERT_EQ(rec.recorder.link_exec(exec, graph), RecordStatus::ok);
    EXPECT_EQ(rec.names(exec), (Names{{1, ""}, {2, "a"}}));
    EXPECT_EQ(rec.registry.resolve(rec.cuda.replay(exec)[0].id).origin, Origin::captured_before_start);
  }
}

TEST(Boundaries, WithScopesOnTwoThreadsInOneCaptureReadingsAreApproximate) {
  Recording rec;
  Worker other;
  const StreamHandle stream = rec.cuda.stream_create();
  rec.open(ObserverChoice::boundary, {stream}, true);
  rec.cuda.begin_capture(stream);
  rec.begin("mine");
  other.run([&] { rec.begin("theirs"); });
  const NodeHandle node = rec.cuda.launch(stream, NodeType::kernel, 1);
  rec.end();
  EXPECT_EQ(rec.registry.resolve(rec.id_of(node)).origin, Origin::boundary_approximate);
}

// Counting has a budget; beyond it names come from the frontiers, and say that they may be off.
TEST(Boundaries, ALargeGraphIsCountedNowAndThen) {
  Recording rec;
  const StreamHandle stream = rec.cuda.stream_create(), unnamed = rec.cuda.stream_create();
  rec.open(ObserverChoice::boundary, {stream});
  rec.cuda.begin_capture(stream);
  constexpr std::uint64_t kNodes = 3000;
  for (std::uint64_t i = 0; i < kNodes; ++i) {
    rec.begin(("s" + std::to_string(i)).c_str());
    rec.cuda.launch(stream, NodeType::kernel, i);
    rec.end();
  }
  // A stream that nobody named: only counting sees its node in time.
  rec.begin("aside");
  rec.cuda.wait_event(unnamed, rec.cuda.record_event(stream));
  rec.cuda.launch(unnamed, NodeType::kernel, kNodes);
  rec.end();
  rec.begin("last");
  rec.cuda.wait_event(stream, rec.cuda.record_event(unnamed));
  rec.cuda.launch(stream, NodeType::kernel, kNodes + 1);
  rec.end();
  const GraphHandle graph = rec.cuda.end_capture(stream);
  const ExecHandle exec = rec.cuda.instantiate(graph);
  ASSERT_EQ(rec.recorder.link_exec(exec, graph), RecordStatus::ok);
  const std::vector<fake::Record> records = rec.cuda.replay(exec);
  ASSERT_EQ(records.size(), kNodes + 2);
  std::uint64_t sure = 0;
  for (const fake::Record& record : records) {
    const Origin origin = rec.registry.resolve(record.id).origin;
    const Json annotation = rec.object_of(record.id);
    if (origin == Origin::boundary) ++sure;
    if (record.tag < kNodes) {
      EXPECT_EQ(annotation["name"], "s" + std::to_string(record.tag));
    } else {
      EXPECT_EQ(origin, Origin::boundary_approximate) << record.tag;
    }
    EXPECT_TRUE(origin == Origin::boundary || origin == Origin::boundary_approximate) << to_string(origin);
  }
  EXPECT_GT(sure, 100U);
  EXPECT_LT(sure, kNodes);
}

TEST(Boundaries, AThreadThatCapturesLeavesTheCapturesOfOthersAlone) {
  Recording rec;
  const WindowId window = rec.open(ObserverChoice::boundary);
  const StreamHandle stream = rec.cuda.stream_create(), others = rec.cuda.stream_create();
  ASSERT_EQ(rec.recorder.add_stream(window, stream), RecordStatus::ok);
  rec.cuda.begin_capture(stream);
  rec.begin("a");
  rec.cuda.launch(stream, NodeType::kernel, 1);
  GraphHandle other = nullptr;
  std::thread([&] {
    ASSERT_EQ(rec.recorder.add_stream(window, others), RecordStatus::ok);
    rec.cuda.begin_capture(others);
    rec.begin("b");
    rec.cuda.launch(others, NodeType::kernel, 7);
    rec.cuda.launch(stream, NodeType::kernel, 2);  // as the first thread would
    rec.end();
    rec.recorder.settle();
    other = rec.cuda.end_capture(others);
  }).join();
  rec.cuda.launch(stream, NodeType::kernel, 3);
  rec.end();
  const auto origins = [&](GraphHandle graph) {
    std::map<std::uint64_t, std::string> all;
    const ExecHandle exec = rec.cuda.instantiate(graph);
    EXPECT_EQ(rec.recorder.link_exec(exec, graph), RecordStatus::ok);
    const std::map<std::uint64_t, std::string> names = rec.names(exec);
    for (const fake::Record& record : rec.cuda.replay(exec))
      all[record.tag] = names.at(record.tag) + " " + std::string(to_string(rec.registry.resolve(record.id).origin));
    return all;
  };
  using All = std::map<std::uint64_t, std::string>;
  EXPECT_EQ(origins(rec.cuda.end_capture(stream)), (All{{1, "a boundary"}, {2, "a boundary"}, {3, "a boundary"}}));
  EXPECT_EQ(origins(other), (All{{7, "b boundary-approximate"}}));
  rec.close(window);
}

TEST(Boundaries, AStreamIsOfTheThreadThatNamedItLast) {
  Recording rec;
  const WindowId window = rec.open(ObserverChoice::boundary);
  const StreamHandle stream = rec.cuda.stream_create(), own = rec.cuda.stream_create();
  ASSERT_EQ(rec.recorder.add_stream(window, stream), RecordStatus::ok);
  std::thread([&] {
    for (const StreamHandle named : {own, stream}) ASSERT_EQ(rec.recorder.add_stream(window, named), RecordStatus::ok);
    rec.cuda.begin_capture(stream);
    rec.begin("a");
    rec.cuda.launch(stream, NodeType::kernel, 1);
    rec.end();
    rec.cuda.launch(stream, NodeType::kernel, 2);
    rec.begin("b");
    rec.cuda.launch(stream, NodeType::kernel, 3);
    rec.end();
    const GraphHandle graph = rec.cuda.end_capture(stream);
    const ExecHandle exec = rec.cuda.instantiate(graph);
    EXPECT_EQ(rec.recorder.link_exec(exec, graph), RecordStatus::ok);
    EXPECT_EQ(rec.names(exec), (Names{{1, "a"}, {2, ""}, {3, "b"}}));
  }).join();
  rec.close(window);
}

TEST(Boundaries, WrongHandlesAreRefused) {
  Recording rec;
  rec.open(ObserverChoice::boundary);
  const GraphHandle graph = rec.cuda.graph_create();
  EXPECT_EQ(rec.recorder.link_exec(nullptr, graph), RecordStatus::refused);
  EXPECT_EQ(rec.recorder.link_exec(rec.cuda.instantiate(graph), nullptr), RecordStatus::refused);
  EXPECT_EQ(rec.recorder.link_bodies(nullptr, {}), RecordStatus::refused);
  const NodeHandle node = rec.cuda.add_node(graph, NodeType::conditional, {}, 0);
  const GraphHandle nothing = nullptr;
  EXPECT_EQ(rec.recorder.link_bodies(node, {&nothing, 1}), RecordStatus::refused);
}

// A circle, or a body that is reached in many ways, would be walked for ever.
TEST(Boundaries, OnlyAConditionalsOwnBodiesAreLinked) {
  for (const ObserverChoice choice : {ObserverChoice::boundary, ObserverChoice::callbacks}) {
    Recording rec;
    const StreamHandle stream = rec.cuda.stream_create();
    rec.open(choice, {stream});
    rec.cuda.begin_capture(stream);
    const Conditional first = rec.cuda.launch_conditional(stream, 2), second = rec.cuda.launch_conditional(stream, 1);
    CaptureInfo info;
    ASSERT_TRUE(rec.cuda.driver().capture_info(stream, info).ok());
    const auto link = [&](NodeHandle node, std::vector<GraphHandle> bodies) { return rec.recorder.link_bodies(node, bodies); };
    EXPECT_EQ(link(first.node, {info.graph}), RecordStatus::not_a_body);
    EXPECT_EQ(link(first.node, {first.bodies[0], first.bodies[0]}), RecordStatus::not_a_body);
    EXPECT_EQ(link(first.node, first.bodies), RecordStatus::ok);
    EXPECT_EQ(link(first.node, first.bodies), RecordStatus::ok) << "again is no fault";
    if (choice == ObserverChoice::boundary) {
      EXPECT_EQ(link(second.node, {first.bodies[1]}), RecordStatus::not_a_body);
    }
    EXPECT_EQ(link(second.node, second.bodies), RecordStatus::ok);
    const NodeHandle inner = rec.cuda.add_node(first.bodies[0], NodeType::conditional, {}, 0);
    EXPECT_EQ(link(inner, {info.graph}), RecordStatus::not_a_body);
    EXPECT_EQ(link(inner, {first.bodies[0]}), RecordStatus::not_a_body);
    rec.begin("goes on");
    rec.cuda.launch(stream, NodeType::kernel, 1);
    rec.end();
    const GraphHandle graph = rec.cuda.end_capture(stream);
    const ExecHandle exec = rec.cuda.instantiate(graph);
    EXPECT_EQ(rec.recorder.link_exec(exec, graph), RecordStatus::ok);
    EXPECT_EQ(rec.names(exec).at(1), "goes on");
  }
}

}  // namespace
}  // namespace graphtag
