// The behaviours that PyTorch's suite checks of graphs' lives, and what graphtag does beyond.
#include <gmock/gmock.h>

#include "tests/support/program.h"

namespace graphtag {
namespace {

using fake::Conditional;

class Lifecycle : public testing::Test {
 protected:
  Lifecycle() { stream = rec.cuda.stream_create(); }
  // A captured graph of one kernel under a scope of this name.
  GraphHandle capture(const char* name, std::uint64_t tag) {
    rec.cuda.begin_capture(stream);
    rec.begin(name);
    rec.cuda.launch(stream, NodeType::kernel, tag);
    rec.end();
    return rec.cuda.end_capture(stream);
  }
  Origin origin(ExecHandle exec, std::size_t record = 0) {
    return rec.registry.resolve(rec.cuda.replay(exec).at(record).id).origin;
  }

  Recording rec;
  StreamHandle stream = nullptr;
};

TEST_F(Lifecycle, GraphsCapturedInSequenceGetEachItsOwn) {
  rec.open();
  const GraphHandle a = capture("a", 1), b = capture("b", 2);
  const ExecHandle xb = rec.cuda.instantiate(b), xa = rec.cuda.instantiate(a);
  EXPECT_EQ(rec.names(xa), (Names{{1, "a"}}));
  EXPECT_EQ(rec.names(xb), (Names{{2, "b"}}));
  EXPECT_EQ(origin(xa), Origin::callback);
}

TEST_F(Lifecycle, EveryLiveExecOfOneTemplateResolves) {
  rec.open();
  const GraphHandle graph = capture("a", 1);
  const ExecHandle first = rec.cuda.instantiate(graph), second = rec.cuda.instantiate(graph);
  EXPECT_NE(rec.id_of(first), rec.id_of(second));
  EXPECT_EQ(rec.names(first), (Names{{1, "a"}}));
  EXPECT_EQ(rec.names(second), (Names{{1, "a"}}));
}

TEST_F(Lifecycle, DestroyingDropsOnlyItsOwnFromTheLiveView) {
  rec.open();
  const GraphHandle a = capture("a", 1), b = capture("b", 2);
  const ExecHandle xa = rec.cuda.instantiate(a), xb = rec.cuda.instantiate(b);
  const NodeId in_a = rec.cuda.replay(xa)[0].id;
  const GraphId id_b = rec.id_of(b), id_xb = rec.id_of(xb);
  rec.cuda.destroy_exec(xa);
  rec.cuda.destroy_graph(a);
  const AnnotationFile live = rec.registry.snapshot(true).value();
  ASSERT_EQ(live.graphs.size(), 1U);
  EXPECT_EQ(live.graphs[0].id, id_b);
  ASSERT_EQ(live.execs.size(), 1U);
  EXPECT_EQ(live.execs[0].id, id_xb);
  // Traces of it may still come.
  EXPECT_EQ(rec.object_of(in_a), Json({{"name", "a"}}));
  EXPECT_EQ(rec.registry.snapshot(false).value().execs.size(), 2U);
}

TEST_F(Lifecycle, AGraphDestroyedWhileItsExecLivesStillResolves) {
  rec.open();
  const GraphHandle graph = capture("a", 1);
  const ExecHandle exec = rec.cuda.instantiate(graph);
  rec.cuda.destroy_graph(graph);
  EXPECT_EQ(rec.names(exec), (Names{{1, "a"}}));
}

TEST_F(Lifecycle, ResolvingTwiceOrWithNothingRecordedIsNoError) {
  EXPECT_EQ(rec.registry.resolve(NodeId(GraphId{7}, LocalId{0})).origin, Origin::unknown_graph);
  rec.open();
  const ExecHandle exec = rec.cuda.instantiate(capture("a", 1));
  EXPECT_EQ(rec.names(exec), rec.names(exec));
}

TEST_F(Lifecycle, ARecordAfterItsExecWasDestroyedIsStale) {
  rec.open();
  const ExecHandle exec = rec.cuda.instantiate(capture("a", 1));
  const NodeId node = rec.cuda.replay(exec)[0].id;
  rec.cuda.destroy_exec(exec);
  EXPECT_EQ(rec.registry.resolve(node, INT64_MAX).origin, Origin::stale_id);
  EXPECT_EQ(rec.registry.resolve(node, 0).origin, Origin::callback);
}

TEST_F(Lifecycle, AClonedGraphHasWhatItsOriginalHas) {
  rec.open();
  rec.begin("built");
  const GraphHandle graph = rec.cuda.graph_create();
  const NodeHandle gone = rec.cuda.add_node(graph, NodeType::kernel, {}, 1);
  rec.cuda.add_node(graph, NodeType::kernel, {}, 2);
  rec.end();
  rec.cuda.add_node(graph, NodeType::kernel, {}, 3);
  rec.cuda.destroy_node(gone);
  rec.begin("cloning");
  const GraphHandle clone = rec.cuda.clone(graph);
  rec.cuda.add_node(clone, NodeType::kernel, {}, 4);
  rec.end();
  rec.cuda.destroy_graph(graph);
  EXPECT_EQ(rec.names(rec.cuda.instantiate(clone)), (Names{{2, "built"}, {3, ""}, {4, "cloning"}}));
}

TEST_F(Lifecycle, ChildGraphsAreLaidOverTheirHoldersAtAnyDepth) {
  rec.open();
  const GraphHandle inner = rec.cuda.graph_create();
  rec.begin(Json{{"inner", 1}, {"name", "inner"}});
  rec.cuda.add_node(inner, NodeType::kernel, {}, 1);
  rec.end();
  const GraphHandle middle = rec.cuda.graph_create();
  rec.begin(Json{{"middle", 2}, {"name", "middle"}});
  rec.cuda.add_child(middle, inner, {});
  rec.cuda.add_node(middle, NodeType::memset, {}, 2);
  rec.end();
  const GraphHandle top = rec.cuda.graph_create();
  rec.begin(Json{{"top", 3}, {"name", "top"}});
  rec.cuda.add_child(top, middle, {});
  rec.end();
  rec.cuda.add_child(top, inner, {});
  EXPECT_EQ(rec.replay(rec.cuda.instantiate(top)),
            (std::vector<PlainRecord>{{1, {{"top", 3}, {"name", "inner"}, {"middle", 2}, {"inner", 1}}},
                                      {2, {{"top", 3}, {"name", "middle"}, {"middle", 2}}},
                                      {1, {{"inner", 1}, {"name", "inner"}}}}));
}

TEST_F(Lifecycle, AMovedChildGraphIsLinkedOnceItsHolderCanBeAsked) {
  const WindowId window = rec.open();
  const GraphHandle child = rec.cuda.graph_create();
  rec.begin(Json{{"own", 1}});
  rec.cuda.add_node(child, NodeType::kernel, {}, 1);
  rec.end();
  const GraphHandle top = rec.cuda.graph_create();
  rec.begin(Json{{"holder", 2}});
  rec.cuda.add_child(top, child, {}, true);
  rec.end();
  const ExecHandle exec = rec.cuda.instantiate(top);
  EXPECT_EQ(rec.replay(exec), (std::vector<PlainRecord>{{1, {{"own", 1}}}}));
  rec.close(window);
  EXPECT_EQ(rec.replay(exec), (std::vector<PlainRecord>{{1, {{"holder", 2}, {"own", 1}}}}));
}

// A graph that holds none is instantiated without a look at its nodes; one that gets a child later is not such a graph any more.
TEST_F(Lifecycle, AGraphThatWasFlatWhenItWasFirstInstantiated) {
  const WindowId window = rec.open();
  const GraphHandle child = capture("child", 1), top = capture("top", 2);
  const ExecHandle flat = rec.cuda.instantiate(top);
  EXPECT_EQ(rec.names(flat), (Names{{2, "top"}}));
  rec.begin("holder");
  rec.cuda.add_child(top, child, {});
  rec.end();
  const ExecHandle nested = rec.cuda.instantiate(top);
  EXPECT_EQ(rec.names(nested), (Names{{2, "top"}, {1, "child"}}));
  EXPECT_EQ(rec.names(flat), (Names{{2, "top"}}));
  rec.close(window);
  EXPECT_EQ(rec.recorder.counters().failures, 0U);
}

TEST_F(Lifecycle, NestedConditionalsAreNamedAndCountedApart) {
  const WindowId window = rec.open();
  const GraphHandle graph = rec.cuda.graph_create();
  rec.begin("branch");
  const Conditional branch = rec.cuda.add_conditional(graph, 2, {});
  rec.end();
  rec.begin("first");
  rec.cuda.add_node(branch.bodies[0], NodeType::kernel, {}, 1);
  rec.end();
  rec.begin("loop");
  const Conditional loop = rec.cuda.add_conditional(branch.bodies[1], 1, {});
  rec.cuda.add_node(loop.bodies[0], NodeType::kernel, {}, 2);
  rec.end();
  rec.cuda.add_node(loop.bodies[0], NodeType::memcpy, {}, 3);
  rec.cuda.add_node(graph, NodeType::kernel, {}, 4);
  const ExecHandle exec = rec.cuda.instantiate(graph);
  EXPECT_EQ(rec.names(exec), (Names{{1, "first"}, {2, "loop"}, {3, "loop"}, {4, ""}}));
  rec.close(window);
  const AnnotationFile file = rec.registry.snapshot().value();
  const GraphRecord* record = file.find_graph(rec.id_of(graph));
  ASSERT_NE(record, nullptr);
  EXPECT_EQ(record->nodes, (NodeCounts{1, 0, 0}));
  EXPECT_EQ(record->body_nodes, (NodeCounts{2, 1, 0}));
}

TEST_F(Lifecycle, AnEmptyGraphMadeBeforeAConditionalIsNotTakenForABody) {
  const WindowId window = rec.open();
  const GraphHandle graph = rec.cuda.graph_create();
  rec.cuda.add_node(graph, NodeType::kernel, {}, 1);
  const GraphHandle other = rec.cuda.graph_create();
  rec.begin("branch");
  const Conditional branch = rec.cuda.add_conditional(graph, 1, {});
  rec.end();
  rec.cuda.add_node(branch.bodies[0], NodeType::kernel, {}, 2);
  rec.begin("other");
  rec.cuda.add_node(other, NodeType::kernel, {}, 3);
  rec.end();
  const ExecHandle x = rec.cuda.instantiate(graph), y = rec.cuda.instantiate(other);
  rec.close(window);
  EXPECT_EQ(rec.names(x), (Names{{1, ""}, {2, "branch"}}));
  EXPECT_EQ(rec.names(y), (Names{{3, "other"}}));
  const std::vector<Registry::Link> links = rec.registry.links(rec.id_of(graph));
  ASSERT_EQ(links.size(), 1U);
  EXPECT_EQ(links[0].held, rec.id_of(branch.bodies[0]));
}

TEST_F(Lifecycle, AnUpdateGivesTheExecTheNewGraphsAnnotationsAndKeepsItsIds) {
  rec.open();
  const auto build = [&](const char* name, std::uint64_t tag) {
    const GraphHandle child = rec.cuda.graph_create();
    rec.begin(name);
    rec.cuda.add_node(child, NodeType::kernel, {}, tag + 1);
    rec.end();
    const GraphHandle graph = rec.cuda.graph_create();
    rec.begin(Json{{"around", name}});
    rec.cuda.add_node(graph, NodeType::kernel, {}, tag);
    rec.cuda.add_child(graph, child, {});
    rec.end();
    return graph;
  };
  const ExecHandle exec = rec.cuda.instantiate(build("old", 10));
  const ExecHandle untouched = rec.cuda.instantiate(build("old", 10));
  const std::vector<fake::Record> before = rec.cuda.replay(exec);
  const GraphHandle update = build("new", 20);
  ASSERT_TRUE(rec.cuda.update(exec, update));
  rec.cuda.destroy_graph(update);
  EXPECT_EQ(rec.replay(exec), (std::vector<PlainRecord>{{20, {{"around", "new"}}}, {21, {{"around", "new"}, {"name", "new"}}}}));
  EXPECT_EQ(rec.replay(untouched),
            (std::vector<PlainRecord>{{10, {{"around", "old"}}}, {11, {{"around", "old"}, {"name", "old"}}}}));
  EXPECT_EQ(rec.cuda.replay(exec)[1].id, before[1].id);
  EXPECT_EQ(origin(exec, 1), Origin::updated);
}

TEST_F(Lifecycle, SettingANodesParametersLeavesItsNameAlone) {
  rec.open();
  rec.cuda.begin_capture(stream);
  rec.begin("attention");
  const NodeHandle node = rec.cuda.launch(stream, NodeType::kernel, 1);
  rec.end();
  const ExecHandle exec = rec.cuda.instantiate(rec.cuda.end_capture(stream));
  rec.begin("prepare the next step");
  ASSERT_TRUE(rec.cuda.set_params(exec, node, 2));
  rec.end();
  EXPECT_EQ(rec.names(exec), (Names{{2, "attention"}}));
}

TEST_F(Lifecycle, MemoryNodesMoveNothing) {
  rec.open();
  rec.cuda.begin_capture(stream);
  rec.begin("a");
  rec.cuda.launch(stream, NodeType::memory_alloc, 1);
  rec.cuda.launch(stream, NodeType::kernel, 2);
  rec.end();
  rec.cuda.launch(stream, NodeType::memory_free, 3);
  rec.begin("b");
  rec.cuda.launch(stream, NodeType::memset, 4);
  rec.end();
  EXPECT_EQ(rec.names(rec.cuda.instantiate(rec.cuda.end_capture(stream))), (Names{{2, "a"}, {4, "b"}}));
}

TEST_F(Lifecycle, AWindowOpenedDuringACaptureSeesTheRest) {
  rec.cuda.begin_capture(stream);
  rec.cuda.launch(stream, NodeType::kernel, 1);
  rec.open();
  rec.begin("late");
  rec.cuda.launch(stream, NodeType::kernel, 2);
  rec.end();
  const ExecHandle exec = rec.cuda.instantiate(rec.cuda.end_capture(stream));
  EXPECT_EQ(rec.names(exec), (Names{{1, ""}, {2, "late"}}));
  EXPECT_EQ(origin(exec, 0), Origin::captured_before_start);
}

TEST_F(Lifecycle, AnInstantiationThatFailsHidesNothingThatComes) {
  rec.open();
  const GraphHandle conditional = rec.cuda.graph_create();
  rec.cuda.add_conditional(conditional, 1, {});
  ASSERT_NE(rec.cuda.instantiate(conditional), nullptr);
  ASSERT_EQ(rec.cuda.instantiate(conditional), nullptr);
  const ExecHandle exec = rec.cuda.instantiate(capture("after", 1));
  EXPECT_EQ(rec.names(exec), (Names{{1, "after"}}));
}

TEST_F(Lifecycle, CopiesLeftOverFromAFailedInstantiationAreNobodys) {
  rec.open();
  const GraphHandle graph = capture("a", 1);
  // What a driver may have sent before it gave up: a copy that is neither finished nor taken back.
  const GraphHandle copy = rec.cuda.graph_create();
  GraphEvent cloned;
  cloned.kind = GraphEventKind::node_cloned;
  cloned.graph = copy;
  cloned.original_graph = graph;
  cloned.node = rec.cuda.add_node(copy, NodeType::kernel, {}, 9);
  std::size_t count = 1;
  ASSERT_TRUE(rec.cuda.driver().graph_nodes(graph, &cloned.original_node, count).ok());
  rec.cuda.emit(cloned);
  EXPECT_EQ(rec.names(rec.cuda.instantiate(capture("b", 2))), (Names{{2, "b"}}));
  EXPECT_EQ(rec.names(rec.cuda.instantiate(graph)), (Names{{1, "a"}}));
}

TEST(LifecycleOrders, CloneEventsBeforeCreateEvents) {
  fake::Options options;
  options.clone_before_create = true;
  Recording rec(options);
  rec.open();
  const GraphHandle inner = rec.cuda.graph_create();
  rec.begin("inner");
  rec.cuda.add_node(inner, NodeType::kernel, {}, 1);
  rec.end();
  const GraphHandle top = rec.cuda.graph_create();
  rec.begin(Json{{"top", 1}});
  rec.cuda.add_child(top, inner, {});
  rec.end();
  const GraphHandle clone = rec.cuda.clone(top);
  rec.begin("after");
  rec.cuda.add_node(clone, NodeType::kernel, {}, 2);
  rec.end();
  EXPECT_EQ(rec.replay(rec.cuda.instantiate(clone)),
            (std::vector<PlainRecord>{{1, {{"top", 1}, {"name", "inner"}}}, {2, {{"name", "after"}}}}));
}

TEST(LifecycleOrders, WithoutIdsOfExecGraphs) {
  fake::Options options;
  options.has_exec_id = false;
  Recording rec(options);
  rec.open();
  const GraphHandle child = rec.cuda.graph_create();
  rec.cuda.add_node(child, NodeType::kernel, {}, 1);
  const GraphHandle top = rec.cuda.graph_create();
  rec.begin("a");
  rec.cuda.add_node(top, NodeType::kernel, {}, 2);
  rec.cuda.add_child(top, child, {});
  rec.end();
  const ExecHandle first = rec.cuda.instantiate(top), second = rec.cuda.instantiate(top);
  EXPECT_EQ(rec.names(first), (Names{{1, "a"}, {2, "a"}}));
  EXPECT_EQ(rec.names(second), (Names{{1, "a"}, {2, "a"}}));
  const NodeId node = rec.cuda.replay(first)[0].id;
  rec.cuda.destroy_exec(first);
  EXPECT_EQ(rec.registry.resolve(node, INT64_MAX).origin, Origin::stale_id);
  EXPECT_EQ(rec.names(second), (Names{{1, "a"}, {2, "a"}}));
}

}  // namespace
}  // namespace graphtag
