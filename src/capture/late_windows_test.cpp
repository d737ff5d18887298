// Windows that open within scopes: a window that observes nothing keeps them.
#include <gmock/gmock.h>

#include "capture/callback_observer.h"
#include "tests/support/program.h"

namespace graphtag {
namespace {

class LateWindows : public testing::TestWithParam<ObserverChoice> {
 protected:
  // One kernel, captured within a window of its own.
  ExecHandle capture(std::uint64_t tag) {
    const WindowId window = rec.open(GetParam(), {stream});
    EXPECT_TRUE(rec.cuda.begin_capture(stream));
    rec.cuda.launch(stream, NodeType::kernel, tag);
    rec.begin("own");  // a boundary, for the observer that needs one
    rec.end();
    const GraphHandle graph = rec.cuda.end_capture(stream);
    const ExecHandle exec = rec.cuda.instantiate(graph);
    EXPECT_EQ(rec.recorder.link_exec(exec, graph), RecordStatus::ok);
    rec.close(window);
    EXPECT_FALSE(rec.cuda.has_subscriber());
    return exec;
  }

  Recording rec;
  StreamHandle stream = rec.cuda.stream_create();
};
INSTANTIATE_TEST_SUITE_P(Observers, LateWindows, testing::Values(ObserverChoice::callbacks, ObserverChoice::boundary),
                         [](const auto& all) { return all.param == ObserverChoice::callbacks ? "callbacks" : "boundary"; });

TEST_P(LateWindows, SeeTheScopesAroundThem) {
  const WindowId kept = rec.open(ObserverChoice::none);
  EXPECT_EQ(rec.active_windows, 1U);
  rec.begin("outer");
  const ExecHandle first = capture(1);
  rec.begin("inner");
  const ExecHandle second = capture(2);
  rec.end();
  const ExecHandle third = capture(3);
  rec.end();
  EXPECT_EQ(rec.recorder.end_scope(), RecordStatus::no_scope);
  const ExecHandle fourth = capture(4);
  EXPECT_EQ(rec.names(first), (Names{{1, "outer"}}));
  EXPECT_EQ(rec.names(second), (Names{{2, "inner"}}));
  EXPECT_EQ(rec.names(third), (Names{{3, "outer"}}));
  EXPECT_EQ(rec.names(fourth), (Names{{4, ""}}));
  rec.begin("left open");
  rec.close(kept);
  EXPECT_EQ(rec.active_windows, 0U);
  EXPECT_EQ(rec.names(capture(5)), (Names{{5, ""}})) << "the last window ends all scopes";
}

TEST_P(LateWindows, LaidOverThoseOfTheThreadThatBeganTheCapture) {
  const WindowId kept = rec.open(ObserverChoice::none);
  Worker engine;
  rec.begin(Json{{"name", "around"}, {"outer", 1}});
  engine.run([&] { rec.begin(Json{{"name", "engine"}}); });
  const WindowId window = rec.open(GetParam(), {stream});
  EXPECT_TRUE(rec.cuda.begin_capture(stream));
  engine.run([&] {
    rec.cuda.launch(stream, NodeType::kernel, 1);
    rec.end();
  });
  const GraphHandle graph = rec.cuda.end_capture(stream);
  const ExecHandle exec = rec.cuda.instantiate(graph);
  EXPECT_EQ(rec.recorder.link_exec(exec, graph), RecordStatus::ok);
  rec.close(window);
  EXPECT_EQ(rec.replay(exec), (std::vector<PlainRecord>{{1, Json{{"name", "engine"}, {"outer", 1}}}}));
  rec.end();
  rec.close(kept);
}

TEST(WindowsThatObserveNothing, ShareTheObserverOfTheOthers) {
  Recording rec;
  const WindowId kept = rec.open(ObserverChoice::none);
  ObserverChoice observer{};
  EXPECT_EQ(rec.recorder.observer_of(kept, observer), RecordStatus::ok);
  EXPECT_EQ(observer, ObserverChoice::none);
  EXPECT_EQ(rec.recorder.add_stream(kept, rec.cuda.stream_create()), RecordStatus::ok);
  const WindowId boundary = rec.open(ObserverChoice::boundary), callbacks = rec.open(ObserverChoice::callbacks);
  EXPECT_EQ(rec.recorder.observer_of(kept, observer), RecordStatus::ok);
  EXPECT_EQ(observer, ObserverChoice::callbacks);
  rec.close(callbacks);
  EXPECT_TRUE(rec.cuda.has_subscriber());
  rec.close(boundary);
  EXPECT_FALSE(rec.cuda.has_subscriber());
  EXPECT_EQ(rec.recorder.observer_of(kept, observer), RecordStatus::ok);
  EXPECT_EQ(observer, ObserverChoice::none);
  rec.close(kept);
}

TEST(WindowsThatObserveNothing, DoNotKeepABetterDriverOut) {
  fake::Options without_callbacks;
  without_callbacks.has_callbacks = false;
  Recording rec(without_callbacks);
  rec.open(ObserverChoice::none);
  WindowId window = WindowId::none;
  EXPECT_EQ(rec.recorder.open_window({ObserverChoice::callbacks, false, {}}, window), RecordStatus::unavailable);
  fake::FakeCuda better;
  rec.recorder.set_driver(better.driver(), true);
  EXPECT_EQ(rec.recorder.open_window({ObserverChoice::callbacks, false, {}}, window), RecordStatus::ok);
  EXPECT_TRUE(better.has_subscriber());
  rec.close(window);
}

// The scopes' epoch goes on from window to window, and what a thread was at when the subscription went must not.
TEST(WindowsThatObserveNothing, AnInstantiationWhoseEndWasNotToldHidesNothingLater) {
  fake::FakeCuda cuda;
  Registry registry;
  ThreadTable threads;
  CallbackObserver observer(registry, threads);
  const Driver driver = cuda.driver();
  constexpr std::uint32_t kEpoch = 1;
  ASSERT_TRUE(observer.start(driver, kEpoch).ok());
  const GraphHandle graph = cuda.graph_create();
  cuda.add_node(graph, NodeType::kernel, {}, 1);
  observer.on_instantiation(graph, true);
  ASSERT_NE(threads.current()->flat_period, 0U);
  observer.stop();
  ASSERT_TRUE(observer.start(driver, kEpoch).ok());
  const GraphHandle later = cuda.graph_create();
  cuda.add_node(later, NodeType::kernel, {}, 2);
  EXPECT_EQ(threads.nodes_seen(), 2U);
  observer.stop();
}

}  // namespace
}  // namespace graphtag
