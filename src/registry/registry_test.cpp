#include "registry/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "registry/registry_fixture.h"

namespace graphtag {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// --- annotations ---

TEST_F(RegistryTest, AnAnnotationIsStoredOnce) {
  const AnnotationId id = registry.name("decoder");
  EXPECT_EQ(registry.name("decoder"), id);
  EXPECT_EQ(*registry.annotation(Json{{"name", "decoder"}}), id);
  EXPECT_EQ(registry[id].name, "decoder");
  EXPECT_TRUE(registry.knows(id));
}

TEST_F(RegistryTest, MergeLaysInnerOverOuter) {
  const AnnotationId outer = *registry.annotation(Json{{"name", "decoder"}, {"bs", 8}});
  const AnnotationId inner = registry.name("attention");
  const AnnotationId merged = registry.merge(outer, inner);
  EXPECT_EQ(*registry[merged].object, (Json{{"name", "attention"}, {"bs", 8}}));
  EXPECT_THAT(registry[merged].path, ElementsAre("decoder", "attention"));
  EXPECT_EQ(registry.merge(outer, inner), merged);
  EXPECT_EQ(registry.merge(AnnotationId::none, inner), inner);
  EXPECT_EQ(registry.merge(outer, AnnotationId::none), outer);
}

TEST_F(RegistryTest, MadeUpAnnotationsAreNone) {
  const AnnotationId made_up{12345};
  const AnnotationId known = registry.name("a");
  EXPECT_FALSE(registry.knows(made_up));
  EXPECT_TRUE(registry[made_up].path.empty());
  EXPECT_EQ(registry.merge(made_up, known), known);
  EXPECT_EQ(registry.merge(known, made_up), known);
  registry.node_created(node(kGraph, 0), made_up);
  EXPECT_EQ(resolved(node(kGraph, 0)), "outside-scope");
}

TEST_F(RegistryTest, RefusesWhatIsNoObject) {
  EXPECT_EQ(registry.annotation(Json(5)).error().code, ErrorCode::malformed);
}

TEST_F(RegistryTest, RegistriesInOneThreadDoNotMix) {
  const AnnotationId first = registry.name("first");
  Registry other;
  EXPECT_FALSE(other.knows(first));
  other.name("other");
  const AnnotationId second = other.name("second");
  EXPECT_EQ(registry.name("first"), first);
  EXPECT_NE(other.name("first"), second);
  other.node_created(node(kGraph, 0), second);
  EXPECT_EQ(resolved(node(kGraph, 0)), "unknown-graph");
}

// --- graphs and their exec graphs ---

// The drawing in the header.
TEST_F(RegistryTest, DrawnExecGraph) {
  registry.graph_created(kGraph, 1);
  nodes(kGraph, 0, 4, "decoder");
  nodes(kGraph, 4, 2, "");
  nodes(kGraph, 6, 2, "head");
  nodes(kChild, 0, 1, "mlp");
  registry.child_graph(node(kGraph, 3), kChild);
  const NodePairs nested{{8}, node(kChild, 0), 1};
  registry.exec_created(kExec, kGraph, 2, 8, {&nested, 1});
  nodes(kOther, 0, 1, "tail");
  const NodePairs update{{6}, node(kOther, 0), 1};
  registry.exec_updated(kExec, {&update, 1});

  EXPECT_EQ(resolved(node(kExec, 3)), "decoder (callback)");
  EXPECT_EQ(resolved(node(kExec, 4)), "outside-scope");
  EXPECT_EQ(resolved(node(kExec, 6)), "tail (updated)");
  EXPECT_EQ(resolved(node(kExec, 7)), "head (callback)");
  EXPECT_EQ(resolved(node(kExec, 8)), "decoder/mlp (callback)");
  EXPECT_EQ(resolved(node(kExec, 9)), "unlinked-body");

  const AnnotationFile file = snapshot();
  const ExecRecord& exec = *file.find_exec(kExec);
  EXPECT_EQ(exec.template_graph, kGraph);
  EXPECT_EQ(exec.template_ids, 8u);
  ASSERT_EQ(exec.overrides.size(), 1u);
  EXPECT_EQ(exec.overrides[0].first, LocalId{6});
  ASSERT_EQ(file.find_graph(kGraph)->runs.size(), 4u);  // and where nothing was reported
  for (std::uint32_t id = 0; id < 12; ++id) {
    const Resolution resolution = file.resolve(node(kExec, id));
    EXPECT_EQ(describe(file.annotations[resolution.annotation], resolution.origin), resolved(node(kExec, id))) << id;
  }
}

TEST_F(RegistryTest, EveryExecGraphOfATemplateResolves) {
  nodes(kGraph, 0, 3, "a");
  for (const std::uint32_t exec : {20u, 21u, 22u}) registry.exec_created({exec}, kGraph, 1);
  for (const std::uint32_t exec : {20u, 21u, 22u}) EXPECT_EQ(resolved(node({exec}, 2)), "a (callback)");
  EXPECT_THAT(exec_ids(snapshot()), ElementsAre(20u, 21u, 22u));
}

TEST_F(RegistryTest, GraphsCapturedInSequenceKeepTheirOwn) {
  nodes({1}, 0, 2, "first");
  registry.exec_created({2}, {1}, 1);
  nodes({3}, 0, 2, "second");
  registry.exec_created({4}, {3}, 2);
  EXPECT_EQ(resolved(node({2}, 1)), "first (callback)");
  EXPECT_EQ(resolved(node({4}, 1)), "second (callback)");
}

TEST_F(RegistryTest, ATemplateThatGrowsDoesNotDisturbOlderExecGraphs) {
  registry.graph_created(kGraph, 1);
  nodes(kGraph, 0, 2, "a");
  registry.exec_created(kExec, kGraph, 2);
  nodes(kGraph, 2, 2, "b");
  registry.exec_created(kOther, kGraph, 3);
  EXPECT_EQ(resolved(node(kExec, 2)), "unlinked-body") << "of this exec graph that is a nested node";
  EXPECT_EQ(resolved(node(kOther, 2)), "b (callback)");
}

TEST_F(RegistryTest, NestedNodesHaveTheirOwnOverThoseOfAllHolders) {
  nodes(kGraph, 0, 1, "outer");
  nodes(kBody, 0, 1, "loop");
  nodes(kBody, 1, 1, "");
  nodes(kChild, 0, 1, "inner");
  registry.conditional_body(node(kGraph, 0), 0, kBody);
  registry.child_graph(node(kBody, 0), kChild);
  const std::vector<NodePairs> nested = {{{1}, node(kBody, 0), 2}, {{3}, node(kChild, 0), 1}};
  registry.exec_created(kExec, kGraph, 1, {}, nested);
  EXPECT_EQ(resolved(node(kExec, 0)), "outer (callback)");
  EXPECT_EQ(resolved(node(kExec, 1)), "outer/loop (callback)");
  EXPECT_EQ(resolved(node(kExec, 2)), "outer (callback)");
  EXPECT_EQ(resolved(node(kExec, 3)), "outer/loop/inner (callback)");
  EXPECT_EQ(resolved(node(kChild, 0)), "outer/loop/inner (callback)") << "a template's id";
  EXPECT_THAT(registry.links(kGraph), ElementsAre(Registry::Link{{0}, 0, true, kBody}));
}

// As CUPTI reports it: a body's creation before that of the node that holds it.
TEST_F(RegistryTest, TheHolderMayBeReportedAfterItsBody) {
  registry.graph_created(kGraph, 1);
  registry.graph_created(kBody, 2);
  registry.conditional_body(node(kGraph, 0), 0, kBody);
  nodes(kBody, 0, 1, "inner");
  nodes(kGraph, 0, 1, "outer");
  EXPECT_EQ(resolved(node(kBody, 0)), "outer/inner (callback)");
}

TEST_F(RegistryTest, UnwatchedInstantiationIsModelled) {
  nodes(kGraph, 0, 3, "outer");
  nodes(kChild, 0, 2, "child");
  nodes(kBody, 1, 1, "body");
  GraphShape child{kChild, {{{0}, 2}}, {}};
  GraphShape body{kBody, {{{1}, 1}}, {}};
  GraphShape graph{kGraph, {{{0}, 1}, {{2}, 1}}, {}};
  graph.holders = {{.node = {0}, .bodies = {child}}, {.node = {2}, .conditional = true, .bodies = {body}}};
  registry.exec_created_unwatched(kExec, graph, 3, 1);
  EXPECT_EQ(resolved(node(kExec, 2)), "outer (callback)");
  EXPECT_EQ(resolved(node(kExec, 3)), "outer/child (modelled)");
  EXPECT_EQ(resolved(node(kExec, 4)), "outer/child (modelled)");
  EXPECT_EQ(resolved(node(kExec, 5)), "outer/body (modelled)");
  EXPECT_EQ(resolved(node(kExec, 6)), "unlinked-body");
  EXPECT_EQ(registry.links(kGraph).size(), 2u);
}

TEST_F(RegistryTest, TheWeakestStepIsTold) {
  registry.nodes_created(node(kGraph, 0), 1, registry.name("outer"), Origin::boundary_approximate);
  nodes(kChild, 0, 1, "child");
  registry.child_graph(node(kGraph, 0), kChild);
  const NodePairs nested{{1}, node(kChild, 0), 1};
  registry.exec_created(kExec, kGraph, 1, {}, {&nested, 1});
  EXPECT_EQ(resolved(node(kExec, 0)), "outer (boundary-approximate)");
  EXPECT_EQ(resolved(node(kExec, 1)), "outer/child (boundary-approximate)");
}

TEST_F(RegistryTest, ALinkMadeByHandReplaces) {
  registry.exec_created(kExec, {}, 7);
  EXPECT_EQ(resolved(node(kExec, 0)), "unknown-graph");
  nodes(kGraph, 0, 1, "a");
  registry.exec_created(kExec, kGraph, 9);
  EXPECT_EQ(resolved(node(kExec, 0)), "a (callback)");
  EXPECT_EQ(snapshot().find_exec(kExec)->created_ns, 7);
}

TEST_F(RegistryTest, ATemplateThatNobodySaw) {
  registry.exec_created(kExec, kGraph, 1);
  EXPECT_EQ(resolved(node(kExec, 5)), "captured-before-start");
}

TEST_F(RegistryTest, LinksThatCloseACircleAreRefused) {
  registry.child_graph(node(kGraph, 0), kChild);
  registry.child_graph(node(kChild, 0), kBody);
  registry.child_graph(node(kBody, 0), kGraph);
  registry.child_graph(node(kGraph, 1), kGraph);
  EXPECT_EQ(registry.counters().lost, 2u);
  EXPECT_THAT(registry.links(kBody), IsEmpty());
  EXPECT_EQ(resolved(node(kBody, 0)), "captured-before-start");
}

TEST_F(RegistryTest, AGraphHasOneHolder) {
  nodes(kGraph, 0, 1, "a");
  nodes(kOther, 0, 1, "b");
  nodes(kChild, 0, 1, "c");
  registry.child_graph(node(kGraph, 0), kChild);
  registry.child_graph(node(kOther, 0), kChild);
  EXPECT_THAT(registry.links(kGraph), IsEmpty());
  EXPECT_EQ(resolved(node(kChild, 0)), "b/c (callback)");
  registry.child_graph(node(kOther, 0), kBody);
  EXPECT_EQ(resolved(node(kChild, 0)), "c (callback)") << "the node holds another graph now";
}

// --- clones and updates ---

TEST_F(RegistryTest, CloneHasWhatTheOriginalHadThen) {
  nodes(kGraph, 0, 1, "a");
  nodes(kGraph, 2, 1, "b");
  registry.node_cloned(node(kChild, 0), node(kGraph, 0));
  registry.node_cloned(node(kChild, 1), node(kGraph, 2));
  registry.node_cloned(node(kChild, 2), node({99}, 0));
  nodes(kGraph, 0, 1, "changed");
  EXPECT_EQ(resolved(node(kChild, 0)), "a (callback)");
  EXPECT_EQ(resolved(node(kChild, 1)), "b (callback)");
  EXPECT_EQ(resolved(node(kChild, 2)), "captured-before-start");
}

TEST_F(RegistryTest, UnwatchedCloneKeepsIdsAndIsModelled) {
  registry.graph_created(kGraph, 1);
  nodes(kGraph, 0, 1, "a");
  nodes(kGraph, 3, 1, "b");
  registry.graph_cloned(kChild, kGraph, 2);
  EXPECT_EQ(resolved(node(kChild, 0)), "a (modelled)");
  EXPECT_EQ(resolved(node(kChild, 1)), "outside-scope-approximate");
  EXPECT_EQ(resolved(node(kChild, 3)), "b (modelled)");
  EXPECT_EQ(registry.next_local_id(kChild), 4u);
}

TEST_F(RegistryTest, UpdateOverridesOnlyWhatChanges) {
  nodes(kGraph, 0, 3, "a");
  registry.exec_created(kExec, kGraph, 1);
  registry.exec_created({20}, kGraph, 1);
  nodes(kOther, 0, 1, "a");
  nodes(kOther, 1, 1, "b");
  nodes(kOther, 2, 1, "");
  const NodePairs pairs{{0}, node(kOther, 0), 3};
  registry.exec_updated(kExec, {&pairs, 1});
  EXPECT_EQ(resolved(node(kExec, 0)), "a (callback)");
  EXPECT_EQ(resolved(node(kExec, 1)), "b (updated)");
  EXPECT_EQ(resolved(node(kExec, 2)), "outside-scope");
  EXPECT_EQ(resolved(node({20}, 1)), "a (callback)") << "the other exec graph is not touched";
  EXPECT_EQ(snapshot().find_exec(kExec)->overrides.size(), 2u);

  const NodePairs back{{0}, node(kGraph, 0), 3};
  registry.exec_updated(kExec, {&back, 1});
  EXPECT_THAT(snapshot().find_exec(kExec)->overrides, IsEmpty());
  EXPECT_EQ(resolved(node(kExec, 2)), "a (callback)");
}

TEST_F(RegistryTest, AGuessOfTheSameIsNoLongerSure) {
  nodes(kGraph, 0, 1, "a");
  nodes(kGraph, 1, 1, "");
  registry.exec_created(kExec, kGraph, 1);
  const NodePairs same{{0}, node(kGraph, 0), 2};
  registry.exec_updated(kExec, {&same, 1}, Origin::modelled);
  EXPECT_EQ(resolved(node(kExec, 0)), "a (modelled)");
  EXPECT_EQ(resolved(node(kExec, 1)), "outside-scope-approximate");
  registry.exec_updated(kExec, {&same, 1}, Origin::updated);
  EXPECT_EQ(resolved(node(kExec, 0)), "a (callback)");
  EXPECT_EQ(resolved(node(kExec, 1)), "outside-scope");
}

TEST_F(RegistryTest, WhatMayLackAnAnnotationIsAGuess) {
  nodes(kGraph, 0, 1, "outer");
  registry.nodes_created(node(kGraph, 1), 1, AnnotationId::none, Origin::boundary_approximate);
  nodes(kChild, 0, 1, "inner");
  registry.nodes_created(node(kChild, 1), 1, AnnotationId::none, Origin::boundary_approximate);
  registry.child_graph(node(kGraph, 0), kChild);
  nodes(kOther, 0, 1, "inner");
  nodes(kOther, 1, 1, "");
  registry.child_graph(node(kGraph, 1), kOther);
  const std::vector<NodePairs> nested = {{{2}, node(kChild, 0), 2}, {{4}, node(kOther, 0), 2}};
  registry.exec_created(kExec, kGraph, 1, {}, nested);
  EXPECT_EQ(resolved(node(kExec, 1)), "outside-scope-approximate");
  EXPECT_EQ(resolved(node(kExec, 2)), "outer/inner (callback)");
  EXPECT_EQ(resolved(node(kExec, 3)), "outer (boundary-approximate)");
  EXPECT_EQ(resolved(node(kExec, 4)), "inner (boundary-approximate)");
  EXPECT_EQ(resolved(node(kExec, 5)), "outside-scope-approximate");
}

// Another driver may number otherwise, so nothing that the rule placed is sure.
TEST_F(RegistryTest, NothingThatARulePlacedIsSure) {
  nodes(kGraph, 0, 1, "");
  nodes(kChild, 0, 1, "a");
  nodes(kChild, 1, 1, "");
  GraphShape child{kChild, {}, {}};
  child.add_node({0});
  child.add_node({1});
  GraphShape top{kGraph, {}, {}};
  top.add_node({0});
  top.holders.push_back({{0}, false, true, {child}});
  registry.exec_created_unwatched(kExec, top, 1, 1);
  EXPECT_EQ(resolved(node(kExec, 0)), "outside-scope") << "top-level nodes keep their ids";
  EXPECT_EQ(resolved(node(kExec, 1)), "a (modelled)");
  EXPECT_EQ(resolved(node(kExec, 2)), "outside-scope-approximate");
}

TEST_F(RegistryTest, UpdateOfNestedNodesAndFromAGraphNobodySaw) {
  nodes(kGraph, 0, 1, "a");
  nodes(kChild, 0, 2, "b");
  registry.child_graph(node(kGraph, 0), kChild);
  const NodePairs nested{{1}, node(kChild, 0), 2};
  registry.exec_created(kExec, kGraph, 1, {}, {&nested, 1});
  nodes({30}, 0, 1, "x");
  nodes({31}, 0, 1, "y");
  registry.child_graph(node({30}, 0), {31});
  const std::vector<NodePairs> pairs = {{{0}, node({77}, 0), 1}, {{1}, node({31}, 0), 1}};
  registry.exec_updated(kExec, pairs, Origin::modelled);
  EXPECT_EQ(resolved(node(kExec, 0)), "captured-before-start");
  EXPECT_EQ(resolved(node(kExec, 1)), "x/y (modelled)");
  EXPECT_EQ(resolved(node(kExec, 2)), "a/b (callback)");
}

TEST_F(RegistryTest, AnAbsurdUpdateTakesNoMemory) {
  nodes(kGraph, 0, 2, "a");
  registry.exec_created(kExec, kGraph, 1);
  const std::vector<NodePairs> pairs = {{{0}, node({77}, 0), 0xffffffff}, {{1}, node(kGraph, 0xfffffff0), 0xffffffff}};
  registry.exec_updated(kExec, pairs);
  EXPECT_THAT(snapshot().find_exec(kExec)->overrides, IsEmpty());
  EXPECT_EQ(registry.counters().lost, 2u);
}

TEST_F(RegistryTest, OneNodeUpdatedByHand) {
  nodes(kGraph, 0, 2, "a");
  registry.exec_created(kExec, kGraph, 1);
  registry.exec_node_updated(node(kExec, 1), registry.name("b"));
  EXPECT_EQ(resolved(node(kExec, 0)), "a (callback)");
  EXPECT_EQ(resolved(node(kExec, 1)), "b (updated)");
}

// --- the rest ---

TEST_F(RegistryTest, ForgetDropsAllAndCapturesGoOn) {
  nodes(kGraph, 0, 2, "a");
  registry.exec_created(kExec, kGraph, 1);
  nodes(kOther, 0, 1, "b");
  registry.graph_destroyed(kOther, 3);
  registry.forget();
  EXPECT_EQ(resolved(node(kExec, 0)), "unknown-graph");
  const RegistryCounters counters = registry.counters();
  EXPECT_EQ(counters.graphs + counters.execs + counters.retired_graphs + counters.runs, 0u);
  EXPECT_EQ(counters.live_bytes + counters.retired_bytes, 0u);
  nodes(kGraph, 2, 1, "a");
  EXPECT_EQ(resolved(node(kGraph, 2)), "a (callback)");
  EXPECT_EQ(resolved(node(kGraph, 1)), "captured-before-start");
}

TEST_F(RegistryTest, ForgetOneExecGraphOrAGraphWithItsExecGraphs) {
  nodes(kGraph, 0, 1, "a");
  nodes(kOther, 0, 1, "b");
  for (const std::uint32_t exec : {20u, 21u, 22u}) registry.exec_created({exec}, kGraph, 1);
  registry.exec_created({23}, kOther, 1);
  registry.exec_destroyed({22}, 2);
  registry.forget({20});
  EXPECT_EQ(resolved(node({20}, 0)), "unknown-graph");
  EXPECT_EQ(resolved(node({21}, 0)), "a (callback)");
  EXPECT_EQ(resolved(node({22}, 0)), "a (callback)");
  registry.forget(kGraph);
  EXPECT_EQ(resolved(node(kGraph, 0)), "unknown-graph");
  EXPECT_EQ(resolved(node({21}, 0)), "unknown-graph");
  EXPECT_EQ(resolved(node({22}, 0)), "unknown-graph");
  EXPECT_EQ(resolved(node({23}, 0)), "b (callback)");
  registry.forget({12345});
}

TEST_F(RegistryTest, AHeldGraphThatIsInstantiatedItselfShowsItsOwn) {
  nodes(kGraph, 0, 1, "outer");
  nodes(kChild, 0, 1, "inner");
  registry.child_graph(node(kGraph, 0), kChild);
  registry.exec_created(kExec, kChild, 1);
  EXPECT_EQ(resolved(node(kExec, 0)), "inner (callback)");
  EXPECT_EQ(resolved(node(kChild, 0)), "inner (callback)");
}

TEST_F(RegistryTest, UnknownIdsAreNoError) {
  registry.graph_destroyed({1}, 1);
  registry.exec_destroyed({1}, 1);
  registry.exec_updated({1}, {});
  registry.exec_node_updated(node({1}, 0), registry.name("a"));
  registry.set_node_counts({1}, {});
  EXPECT_EQ(resolved(node({1}, 0)), "unknown-graph");
  EXPECT_EQ(resolved(NodeId{7}), "no-node-id");
  EXPECT_EQ(registry.set_label({1}, Json(8)).error().code, ErrorCode::not_found);
  EXPECT_FALSE(registry.next_local_id({1}));
  EXPECT_EQ(registry.counters().lost, 0u);
}

TEST_F(RegistryTest, IdsOutOfRangeAreCounted) {
  const AnnotationId a = registry.name("a");
  registry.node_created(node(kGraph, 0xffffffff), a);
  registry.nodes_created(node(kGraph, 10), 0xffffffff, a, Origin::boundary);
  registry.node_created(NodeId{5}, a);
  EXPECT_EQ(registry.counters().lost, 3u);
  registry.node_created(node(kGraph, 0xfffffffe), a);
  EXPECT_EQ(resolved(node(kGraph, 0xfffffffe)), "a (callback)");
}

TEST_F(RegistryTest, LabelsOfGraphsAndThroughExecGraphs) {
  nodes(kGraph, 0, 1, "a");
  registry.exec_created(kExec, kGraph, 1);
  EXPECT_TRUE(registry.set_label(kGraph, Json(8)));
  EXPECT_EQ(*snapshot().find_graph(kGraph)->label, Json(8));
  EXPECT_TRUE(registry.set_label(kExec, Json{{"bs", 4}}));
  EXPECT_EQ(*snapshot().graph_of(kExec)->label, (Json{{"bs", 4}}));
}

TEST_F(RegistryTest, NodeCountsAddUpWhatIsHeld) {
  for (const GraphId graph : {kGraph, kChild, kBody}) nodes(graph, 0, 3, "a");
  registry.child_graph(node(kGraph, 1), kChild);
  registry.conditional_body(node(kChild, 1), 0, kBody);
  registry.set_node_counts(kGraph, {2, 0, 0});
  EXPECT_FALSE(snapshot().find_graph(kGraph)->nodes) << "the child's are not known";
  registry.set_node_counts(kChild, {1, 1, 0});
  registry.set_node_counts(kBody, {0, 0, 3});
  const AnnotationFile file = snapshot();
  EXPECT_EQ(file.find_graph(kGraph)->nodes, (NodeCounts{3, 1, 0}));
  EXPECT_EQ(file.find_graph(kGraph)->body_nodes, (NodeCounts{0, 0, 3}));
  EXPECT_EQ(file.find_graph(kBody)->nodes, (NodeCounts{0, 0, 3}));
}

TEST_F(RegistryTest, SnapshotHoldsOnlyTheAnnotationsItNeeds) {
  registry.name("unused");
  nodes(kGraph, 0, 1, "used");
  const AnnotationFile file = snapshot();
  EXPECT_EQ(file.annotations.size(), 2u);
  EXPECT_EQ(file.annotations[file.resolve(node(kGraph, 0)).annotation].name, "used");
}

TEST_F(RegistryTest, SnapshotIsReadBack) {
  registry.graph_created(kGraph, 5);
  nodes(kGraph, 0, 2, "a");
  registry.exec_created(kExec, kGraph, 6);
  registry.exec_destroyed(kExec, 7);
  const Result<AnnotationFile> file = parse_annotation_file(write_annotation_file(snapshot()), "snapshot");
  ASSERT_TRUE(file) << file.error().to_string();
  EXPECT_EQ(file->find_exec(kExec)->destroyed_ns, 7);
  EXPECT_EQ(file->annotations[file->resolve(node(kExec, 1)).annotation].name, "a");
}

}  // namespace
}  // namespace graphtag
