// The behaviours that PyTorch's suite checks of scopes, each by its own words, with both observers.
#include <gmock/gmock.h>

#include "tests/support/program.h"

namespace graphtag {
namespace {

using fake::Conditional;
using fake::Event;

struct Backend {
  const char* name;
  ObserverChoice observer;
  bool all_streams;
};

class Scopes : public testing::TestWithParam<Backend> {
 protected:
  Scopes() {
    stream = rec.cuda.stream_create();
    side = rec.cuda.stream_create();
  }
  void open() { window = rec.open(GetParam().observer, {stream, side}, GetParam().all_streams); }
  NodeHandle launch(std::uint64_t tag, NodeType type = NodeType::kernel) { return rec.cuda.launch(stream, type, tag); }
  // Ends the capture, instantiates, and tells the boundary observer.
  ExecHandle finish() {
    graph = rec.cuda.end_capture(stream);
    EXPECT_NE(graph, nullptr);
    return instantiate(graph);
  }
  ExecHandle instantiate(GraphHandle from) {
    const ExecHandle exec = rec.cuda.instantiate(from);
    EXPECT_EQ(rec.recorder.link_exec(exec, from), RecordStatus::ok);
    return exec;
  }

  Recording rec;
  StreamHandle stream = nullptr, side = nullptr;
  WindowId window = WindowId::none;
  GraphHandle graph = nullptr;
};

INSTANTIATE_TEST_SUITE_P(Observers, Scopes,
                         testing::Values(Backend{"callbacks", ObserverChoice::callbacks, false},
                                         Backend{"frontiers", ObserverChoice::boundary, true},
                                         Backend{"counts", ObserverChoice::boundary, false}),
                         [](const auto& backend) { return backend.param.name; });

TEST_P(Scopes, OutsideACaptureAScopeRecordsNothing) {
  open();
  rec.begin("a");
  rec.end();
  EXPECT_EQ(rec.registry.counters().graphs, 0U);
}

TEST_P(Scopes, AnEmptyScopeRecordsNothingAndOnlyWorkInsideIsTagged) {
  open();
  rec.cuda.begin_capture(stream);
  launch(1);
  rec.begin("empty");
  rec.end();
  launch(2);
  rec.begin("a");
  launch(3);
  rec.end();
  launch(4);
  EXPECT_EQ(rec.names(finish()), (Names{{1, ""}, {2, ""}, {3, "a"}, {4, ""}}));
}

TEST_P(Scopes, AScopeOpenedBeforeAnyNodeStillGetsItsNodes) {
  open();
  rec.cuda.begin_capture(stream);
  rec.begin("a");
  launch(1);
  launch(2);
  rec.end();
  EXPECT_EQ(rec.names(finish()), (Names{{1, "a"}, {2, "a"}}));
}

TEST_P(Scopes, DisjointScopesStayDisjoint) {
  open();
  rec.cuda.begin_capture(stream);
  rec.begin("a");
  launch(1);
  rec.end();
  launch(2);
  rec.begin("b");
  launch(3);
  rec.end();
  EXPECT_EQ(rec.names(finish()), (Names{{1, "a"}, {2, ""}, {3, "b"}}));
}

TEST_P(Scopes, AnObjectIsStoredAsGivenAndAStringIsItsName) {
  open();
  rec.cuda.begin_capture(stream);
  const Json object = {{"name", "a"}, {"bs", 8}, {"deep", {{"list", {1, 2.5, nullptr, true}}}}};
  rec.begin(object);
  launch(1);
  rec.begin("b");
  launch(2);
  rec.end();
  rec.end();
  Json inner = object;
  inner["name"] = "b";
  EXPECT_EQ(rec.replay(finish()), (std::vector<PlainRecord>{{1, object}, {2, inner}}));
}

TEST_P(Scopes, InnerWinsCommonKeysAndOuterKeysComeThrough) {
  open();
  rec.cuda.begin_capture(stream);
  rec.begin(Json{{"name", "outer"}, {"only_outer", 1}});
  rec.begin(Json{{"name", "inner"}, {"only_inner", 2}});
  launch(1);
  rec.end();
  rec.end();
  EXPECT_EQ(rec.replay(finish()), (std::vector<PlainRecord>{{1, {{"name", "inner"}, {"only_outer", 1}, {"only_inner", 2}}}}));
}

TEST_P(Scopes, AfterAnInnerScopeClosesLaterNodesCarryTheOuterAlone) {
  open();
  rec.cuda.begin_capture(stream);
  rec.begin(Json{{"name", "outer"}});
  launch(1);
  rec.begin(Json{{"x", 1}});
  launch(2);
  rec.end();
  launch(3);
  rec.end();
  EXPECT_EQ(rec.replay(finish()),
            (std::vector<PlainRecord>{{1, {{"name", "outer"}}}, {2, {{"name", "outer"}, {"x", 1}}}, {3, {{"name", "outer"}}}}));
}

TEST_P(Scopes, WorkAttachedToTheEntryFrontierIsNotClaimed) {
  open();
  rec.cuda.begin_capture(stream);
  launch(1);
  rec.cuda.wait_event(side, rec.cuda.record_event(stream));
  rec.cuda.launch(side, NodeType::kernel, 2);  // an earlier branch
  rec.begin("a");
  launch(3);
  rec.end();
  rec.cuda.wait_event(stream, rec.cuda.record_event(side));
  EXPECT_EQ(rec.names(finish()), (Names{{1, ""}, {2, ""}, {3, "a"}}));
}

TEST_P(Scopes, EveryKindOfNodeIsTagged) {
  open();
  rec.cuda.begin_capture(stream);
  rec.begin("a");
  std::vector<NodeHandle> nodes;
  for (const NodeType type :
       {NodeType::kernel, NodeType::memcpy, NodeType::memset, NodeType::batch_memory_op, NodeType::event_record,
        NodeType::event_wait, NodeType::host, NodeType::memory_alloc, NodeType::memory_free}) {
    nodes.push_back(launch(nodes.size() + 1, type));
  }
  rec.end();
  for (const NodeHandle node : nodes) EXPECT_EQ(rec.object_of(rec.id_of(node)), Json({{"name", "a"}}));
  EXPECT_EQ(rec.names(finish()), (Names{{1, "a"}, {2, "a"}, {3, "a"}}));
}

TEST_P(Scopes, AScopeEnteredBeforeTheStreamCapturesIsTagged) {
  open();
  rec.begin("a");
  rec.cuda.begin_capture(stream);
  launch(1);
  rec.begin("b");
  launch(2);
  rec.end();
  EXPECT_EQ(rec.names(finish()), (Names{{1, "a"}, {2, "b"}}));
  rec.end();
}

TEST_P(Scopes, WorkOnAnotherCapturingStreamIsTaggedJoinedOrNot) {
  open();
  rec.cuda.begin_capture(stream);
  launch(1);
  rec.cuda.wait_event(side, rec.cuda.record_event(stream));
  rec.begin("a");
  rec.cuda.launch(side, NodeType::kernel, 2);  // not joined with `stream` when the scope ends
  launch(3);
  rec.cuda.launch(side, NodeType::memset, 4);
  rec.end();
  rec.cuda.launch(side, NodeType::kernel, 5);
  rec.cuda.wait_event(stream, rec.cuda.record_event(side));
  launch(6);
  EXPECT_EQ(rec.names(finish()), (Names{{1, ""}, {2, "a"}, {3, "a"}, {4, "a"}, {5, ""}, {6, ""}}));
}

TEST_P(Scopes, RecordingIsOffUnlessEnabledAndEnablingKeepsWhatWasRecorded) {
  rec.begin("unseen");
  rec.cuda.begin_capture(stream);
  launch(1);
  EXPECT_EQ(rec.recorder.end_scope(), RecordStatus::ok);
  const ExecHandle before = rec.cuda.instantiate(rec.cuda.end_capture(stream));
  open();
  rec.cuda.begin_capture(stream);
  rec.begin("a");
  launch(2);
  rec.end();
  const ExecHandle first = finish();
  rec.close(window);
  open();
  EXPECT_EQ(rec.names(first), (Names{{2, "a"}}));
  EXPECT_EQ(rec.names(before), (Names{{1, ""}}));
  EXPECT_EQ(rec.registry.resolve(rec.cuda.replay(before)[0].id).origin, Origin::unknown_graph);
}

TEST_P(Scopes, AScopeInsideAConditionalBodyAndAroundAChildGraphIsExact) {
  open();
  const GraphHandle child = rec.cuda.graph_create();
  rec.cuda.add_node(child, NodeType::kernel, {}, 10);
  rec.cuda.begin_capture(stream);
  rec.begin("branch");
  const Conditional branch = rec.cuda.launch_conditional(stream, 2);
  ASSERT_EQ(rec.recorder.link_bodies(branch.node, branch.bodies), RecordStatus::ok);
  rec.end();
  rec.begin("body");
  rec.cuda.begin_capture_to_graph(side, branch.bodies[0], {});
  rec.cuda.launch(side, NodeType::kernel, 1);
  rec.end();
  rec.begin("body two");
  rec.cuda.launch(side, NodeType::kernel, 2);
  rec.end();
  rec.cuda.end_capture(side);
  rec.begin("child");
  rec.cuda.launch_child(stream, child);
  rec.end();
  launch(3);
  EXPECT_EQ(rec.names(finish()), (Names{{1, "body"}, {2, "body two"}, {10, "child"}, {3, ""}}));
}

TEST_P(Scopes, AFailedCaptureLeavesNoEntriesNoScopeNoSubscriptionAndTheStreamUsable) {
  open();
  rec.cuda.begin_capture(stream);
  rec.begin("a");
  launch(1);
  rec.cuda.wait_event(side, rec.cuda.record_event(stream));
  const NodeHandle lost = rec.cuda.launch(side, NodeType::kernel, 2);
  const NodeId lost_id = rec.id_of(lost);
  EXPECT_EQ(rec.cuda.end_capture(stream), nullptr);  // the fork was not joined
  rec.close(window);                                 // with the scope still open
  EXPECT_EQ(rec.active_windows, 0U);
  EXPECT_FALSE(rec.cuda.has_subscriber());
  if (GetParam().observer == ObserverChoice::callbacks) {
    EXPECT_EQ(rec.registry.snapshot(true).value().graphs.size(), 0U);
  }
  open();
  EXPECT_EQ(rec.recorder.current(), AnnotationId::none);
  rec.cuda.begin_capture(stream);
  launch(3);
  const ExecHandle exec = finish();
  EXPECT_EQ(rec.names(exec), (Names{{3, ""}}));
  EXPECT_NE(rec.id_of(exec), lost_id.graph());
}

TEST_P(Scopes, SeveralCapturesAtOnceOnSeveralThreadsKeepTheirScopes) {
  open();
  Worker other;
  rec.cuda.begin_capture(stream);
  rec.begin("mine");
  launch(1);
  ExecHandle theirs = nullptr;
  const StreamHandle their_stream = rec.cuda.stream_create();
  other.run([&] {
    EXPECT_EQ(rec.recorder.add_stream(window, their_stream), RecordStatus::ok);
    rec.cuda.begin_capture(their_stream);
    rec.begin("theirs");
    rec.cuda.launch(their_stream, NodeType::kernel, 2);
  });
  launch(3);
  rec.end();
  other.run([&] {
    rec.cuda.launch(their_stream, NodeType::kernel, 4);
    rec.end();
    theirs = instantiate(rec.cuda.end_capture(their_stream));
  });
  EXPECT_EQ(rec.names(finish()), (Names{{1, "mine"}, {3, "mine"}}));
  EXPECT_EQ(rec.names(theirs), (Names{{2, "theirs"}, {4, "theirs"}}));
}

TEST_P(Scopes, AnEngineThreadInheritsTheScopeAroundAndItsOwnScopesWin) {
  open();
  Worker engine;
  rec.cuda.begin_capture(stream);
  rec.begin(Json{{"name", "backward"}, {"step", 1}});
  launch(1);
  engine.run([&] {
    launch(2);
    rec.begin(Json{{"name", "layer"}});
    launch(3);
    rec.end();
    launch(4);
  });
  rec.end();
  launch(5);
  EXPECT_EQ(rec.replay(finish()), (std::vector<PlainRecord>{{1, {{"name", "backward"}, {"step", 1}}},
                                                            {2, {{"name", "backward"}, {"step", 1}}},
                                                            {3, {{"name", "layer"}, {"step", 1}}},
                                                            {4, {{"name", "backward"}, {"step", 1}}},
                                                            {5, Json::object()}}));
}

// --- the handle form ---

TEST(ScopeHandles, EndInAnyOrder) {
  Recording rec;
  rec.open();
  const StreamHandle stream = rec.cuda.stream_create();
  rec.cuda.begin_capture(stream);
  ScopeId a = ScopeId::none, b = ScopeId::none;
  ASSERT_EQ(rec.recorder.open_scope(rec.registry.annotation({{"a", 1}}).value(), a), RecordStatus::ok);
  rec.begin(Json{{"c", 3}});
  ASSERT_EQ(rec.recorder.open_scope(rec.registry.annotation({{"b", 2}}).value(), b), RecordStatus::ok);
  const auto launched = [&] { return rec.object_of(rec.id_of(rec.cuda.launch(stream, NodeType::kernel, 1))); };
  EXPECT_EQ(launched(), Json({{"a", 1}, {"c", 3}, {"b", 2}}));
  EXPECT_EQ(rec.recorder.close_scope(a), RecordStatus::ok);
  EXPECT_EQ(launched(), Json({{"c", 3}, {"b", 2}}));
  rec.end();  // the stack form ends c, though b is further in
  EXPECT_EQ(launched(), Json({{"b", 2}}));
  EXPECT_EQ(rec.recorder.end_scope(), RecordStatus::no_scope);
  EXPECT_EQ(rec.recorder.close_scope(b), RecordStatus::ok);
  EXPECT_EQ(launched(), Json::object());
}

TEST(ScopeHandles, WrongOnesAreFoundOut) {
  Recording rec;
  const WindowId first = rec.open();
  ScopeId scope = ScopeId::none, open = ScopeId::none;
  ASSERT_EQ(rec.recorder.open_scope(rec.registry.name("a"), scope), RecordStatus::ok);
  ASSERT_EQ(rec.recorder.open_scope(rec.registry.name("b"), open), RecordStatus::ok);
  EXPECT_EQ(rec.recorder.close_scope(ScopeId::none), RecordStatus::ok);
  EXPECT_EQ(rec.recorder.close_scope(static_cast<ScopeId>(0xdead'beef'0000'1234)), RecordStatus::invalid_handle);
  Worker other;
  other.run([&] { EXPECT_EQ(rec.recorder.close_scope(scope), RecordStatus::wrong_thread); });
  EXPECT_EQ(rec.recorder.close_scope(scope), RecordStatus::ok);
  EXPECT_EQ(rec.recorder.close_scope(scope), RecordStatus::invalid_handle);
  rec.close(first);
  EXPECT_EQ(rec.recorder.close_scope(open), RecordStatus::ok);  // nothing is recorded
  rec.open();
  EXPECT_EQ(rec.recorder.close_scope(open), RecordStatus::ok);  // it ended with its window
  ScopeId fresh = ScopeId::none;
  ASSERT_EQ(rec.recorder.open_scope(rec.registry.name("c"), fresh), RecordStatus::ok);
  EXPECT_EQ(rec.recorder.close_scope(open), RecordStatus::ok);
  EXPECT_EQ(rec.recorder.close_scope(fresh), RecordStatus::ok);
}

TEST(ScopeHandles, AThreadThatEndsEndsItsScopes) {
  Recording rec;
  rec.open();
  const StreamHandle stream = rec.cuda.stream_create();
  std::thread([&] {
    rec.cuda.begin_capture(stream);
    rec.begin("gone");
    EXPECT_EQ(rec.object_of(rec.id_of(rec.cuda.launch(stream, NodeType::kernel, 1))), Json({{"name", "gone"}}));
  }).join();
  EXPECT_EQ(rec.object_of(rec.id_of(rec.cuda.launch(stream, NodeType::kernel, 2))), Json::object());
  std::thread([&] {  // takes the place of the first
    EXPECT_EQ(rec.recorder.current(), AnnotationId::none);
    rec.begin("new");
    EXPECT_EQ(rec.object_of(rec.id_of(rec.cuda.launch(stream, NodeType::kernel, 3))), Json({{"name", "new"}}));
  })
      .join();
}

TEST(ScopeHandles, WhileNothingIsRecordedNothingIsBegun) {
  Recording rec;
  ScopeId scope{7};
  EXPECT_EQ(rec.recorder.begin_scope(rec.registry.name("a")), RecordStatus::ok);
  EXPECT_EQ(rec.recorder.open_scope(rec.registry.name("a"), scope), RecordStatus::ok);
  EXPECT_EQ(scope, ScopeId::none);
  EXPECT_EQ(rec.recorder.end_scope(), RecordStatus::ok);
  EXPECT_EQ(rec.recorder.counters().scopes_begun, 0U);
}

}  // namespace
}  // namespace graphtag
