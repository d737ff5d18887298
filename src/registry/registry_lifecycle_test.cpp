// What stays known of graphs and exec graphs that were destroyed, and under which bounds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "registry/registry.h"
#include "registry/registry_fixture.h"

namespace graphtag {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST_F(RegistryTest, DestroyedLeaveTheLiveViewAndStayResolvable) {
  nodes(kGraph, 0, 1, "a");
  registry.exec_created(kExec, kGraph, 1);
  nodes(kOther, 0, 1, "b");
  registry.exec_destroyed(kExec, 100);
  registry.graph_destroyed(kGraph, 200);
  EXPECT_EQ(resolved(node(kExec, 0)), "a (callback)");
  EXPECT_THAT(graph_ids(snapshot(true)), ElementsAre(kOther.value)) << "and only its own entries";
  const AnnotationFile all = snapshot();
  EXPECT_EQ(all.find_exec(kExec)->destroyed_ns, 100);
  EXPECT_EQ(all.find_graph(kGraph)->destroyed_ns, 200);
  const RegistryCounters counters = registry.counters();
  EXPECT_EQ(counters.graphs, 1u);
  EXPECT_EQ(counters.execs, 0u);
  EXPECT_EQ(counters.retired_graphs, 1u);
  EXPECT_EQ(counters.retired_execs, 1u);
}

TEST_F(RegistryTest, ADestroyedTemplateServesItsLiveExecGraph) {
  nodes(kGraph, 0, 1, "a");
  registry.exec_created(kExec, kGraph, 1);
  registry.set_retired_limit(0);
  registry.graph_destroyed(kGraph, 200);
  EXPECT_EQ(resolved(node(kExec, 0)), "a (callback)");
  EXPECT_THAT(graph_ids(snapshot(true)), ElementsAre(kGraph.value));
  registry.exec_destroyed(kExec, 300);
  EXPECT_EQ(resolved(node(kExec, 0)), "unknown-graph");
  EXPECT_THAT(graph_ids(snapshot()), IsEmpty());
  EXPECT_EQ(registry.counters().dropped, 2u);
  EXPECT_EQ(registry.counters().live_bytes, 0u);
}

TEST_F(RegistryTest, ARecordAfterTheDestructionIsStale) {
  nodes(kGraph, 0, 1, "a");
  registry.exec_created(kExec, kGraph, 1);
  registry.exec_destroyed(kExec, 100);
  EXPECT_EQ(resolved(node(kExec, 0), 100), "a (callback)");
  EXPECT_EQ(resolved(node(kExec, 0), 101), "stale-id");
  EXPECT_EQ(registry.counters().stale, 1u);
}

TEST_F(RegistryTest, ADestroyedExecGraphStaysWhatItWas) {
  nodes(kGraph, 0, 1, "a");
  registry.exec_created(kExec, kGraph, 1);
  registry.exec_destroyed(kExec, 2);
  nodes(kOther, 0, 1, "b");
  registry.exec_created(kExec, kOther, 3);
  EXPECT_EQ(resolved(node(kExec, 0)), "a (callback)");
  EXPECT_EQ(registry.counters().late, 1u);
  EXPECT_EQ(registry.counters().retired_execs, 1u);
}

TEST_F(RegistryTest, DestroyingAGraphDestroysWhatItHolds) {
  nodes(kGraph, 0, 1, "a");
  nodes(kChild, 0, 1, "b");
  nodes(kBody, 0, 1, "c");
  registry.child_graph(node(kGraph, 0), kChild);
  registry.conditional_body(node(kChild, 0), 1, kBody);
  registry.graph_destroyed(kGraph, 5);
  EXPECT_EQ(registry.counters().graphs, 0u);
  EXPECT_EQ(registry.counters().retired_graphs, 3u);
}

TEST_F(RegistryTest, ANodeOfADestroyedGraphIsLate) {
  nodes(kGraph, 0, 1, "a");
  registry.graph_destroyed(kGraph, 5);
  nodes(kGraph, 1, 1, "a");
  EXPECT_EQ(registry.counters().late, 1u);
  EXPECT_EQ(resolved(node(kGraph, 1)), "outside-scope");
}

TEST_F(RegistryTest, TheOldestRetiredAreDroppedBeyondTheLimit) {
  const auto capture = [this](std::uint32_t graph) {
    for (std::uint32_t id = 0; id < 512; ++id) nodes({graph}, id, 1, id % 2 == 0 ? "a" : "b");
    registry.graph_destroyed({graph}, graph);
  };
  capture(1);
  const std::uint64_t one = registry.counters().retired_bytes;
  EXPECT_GE(one, 512 * 8u);
  for (std::uint32_t graph = 2; graph <= 10; ++graph) capture(graph);
  EXPECT_EQ(registry.counters().retired_bytes, 10 * one);
  EXPECT_EQ(registry.counters().live_bytes, 0u);
  registry.set_retired_limit(3 * one);
  EXPECT_THAT(graph_ids(snapshot()), ElementsAre(8u, 9u, 10u));
  capture(11);
  EXPECT_THAT(graph_ids(snapshot()), ElementsAre(9u, 10u, 11u));
  EXPECT_EQ(registry.counters().dropped, 8u);
  EXPECT_EQ(resolved(node({1}, 0)), "unknown-graph");
}

TEST(RegistryLimitsTest, LiveGraphsAreBoundedToo) {
  RegistryLimits limits;
  limits.live_bytes = 64 << 10;
  Registry registry(limits);
  const AnnotationId a = registry.name("a");
  for (std::uint32_t id = 1; id <= 10'000; ++id) {
    registry.node_created(node({id}, 0), a);
    ASSERT_LE(registry.counters().live_bytes, limits.live_bytes);
  }
  EXPECT_EQ(registry.resolve(node({10'000}, 0)).annotation, a) << "the newest is there";
  EXPECT_EQ(registry.resolve(node({1}, 0)).origin, Origin::unknown_graph);
  EXPECT_GT(registry.counters().dropped, 9'000u);
}

TEST(RegistryLimitsTest, AnnotationsAreBounded) {
  RegistryLimits limits;
  limits.annotation_bytes = 10'000;
  Registry registry(limits);
  const AnnotationId first = registry.name("first");
  const AnnotationId second = registry.name("second");
  const AnnotationId both = registry.merge(first, second);
  for (int i = 0; i < 1000; ++i) registry.name("step " + std::to_string(i));
  EXPECT_LT(registry.counters().annotations, 1000u);
  EXPECT_GT(registry.counters().lost, 0u);
  EXPECT_EQ(registry.annotation(Json{{"name", "new"}}).error().code, ErrorCode::too_large);
  EXPECT_EQ(registry.name("first"), first);
  EXPECT_EQ(registry.merge(first, second), both);
  EXPECT_EQ(registry.merge(second, first), AnnotationId::none);
}

// Whoever asks, and however, at the bound and beyond it: what is in the table keeps its id, and is not counted as lost.
TEST(RegistryLimitsTest, WhatIsKnownStaysKnownAtTheBoundOfAnnotations) {
  RegistryLimits limits;
  limits.annotation_bytes = 10'000;
  Registry registry(limits);
  const AnnotationId first = registry.name("first");
  const AnnotationId second = *registry.annotation(Json{{"name", "second"}, {"bs", 8}});
  const AnnotationId both = registry.merge(first, second);
  const AnnotationId moved = *registry.annotation(Json{{"name", "first"}, {"graphtag.path", {"a", "first"}}});
  const AnnotationId as_merged = *registry.annotation(Json{{"name", "first"}, {"bs", 8}, {"graphtag.path", {"second", "first"}}});
  for (int i = 0; registry.name("step " + std::to_string(i)) != AnnotationId::none; ++i) ASSERT_LT(i, 1000);
  const std::uint64_t lost = registry.counters().lost;
  const std::uint64_t known = registry.counters().annotations;

  std::thread([&] {  // which has no names or pairs of its own yet
    EXPECT_EQ(registry.name("first"), first);
    EXPECT_EQ(registry.merge(first, second), both);
    EXPECT_EQ(registry.merge(both, both), both);
    EXPECT_EQ(registry.merge(second, first), as_merged) << "a pair that nobody merged before";
  })
      .join();
  EXPECT_EQ(*registry.annotation(Json{{"bs", 8}, {"name", "second"}}), second) << "in any order of keys";
  EXPECT_EQ(*registry.annotation(Json{{"name", "first"}, {"graphtag.path", {"a", "first"}}}), moved);
  EXPECT_EQ(*registry.annotation(Json::object()), AnnotationId::none);
  EXPECT_EQ(registry.counters().lost, lost);
  EXPECT_EQ(registry.counters().annotations, known);

  EXPECT_EQ(registry.annotation(Json(5)).error().code, ErrorCode::malformed) << "no object is no matter of room";
  EXPECT_EQ(registry.annotation(Json{{"name", "first"}, {"bs", 8}}).error().code, ErrorCode::too_large);
  EXPECT_EQ(registry.merge(moved, second), AnnotationId::none);
  EXPECT_EQ(registry.counters().lost, lost + 2);
}

}  // namespace
}  // namespace graphtag
