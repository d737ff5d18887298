// Windows and scopes, and all that can be done to them wrongly.
#include <thread>
#include <vector>

#include "tests/capi/fixture.h"

namespace graphtag::capi {
namespace {

class Scopes : public WithFakeCuda {
 protected:
  std::string current() {
    gt_annotation annotation{0};
    EXPECT_EQ(gt_scope_current(&annotation), GT_OK);
    return annotation.value == 0 ? "-" : nlohmann::json::parse(json_of(annotation))["name"].get<std::string>();
  }
};

TEST_F(Scopes, CountOnlyWhileAWindowIsOpen) {
  EXPECT_EQ(gt_active(), 0);
  EXPECT_EQ(gt_scope_begin_name("before", GT_NUL), GT_OK);
  const gt_window window = open_window();
  EXPECT_NE(gt_active(), 0);
  EXPECT_EQ(current(), "-") << "a scope that began before the window is not seen";
  EXPECT_EQ(gt_scope_end(), GT_ERROR_NO_SCOPE);
  EXPECT_EQ(gt_scope_begin_name("in", GT_NUL), GT_OK);
  EXPECT_EQ(current(), "in");
  EXPECT_EQ(gt_window_close(window), GT_OK);
  EXPECT_EQ(gt_active(), 0);
  EXPECT_EQ(gt_scope_end(), GT_OK);
  open_window();
  EXPECT_EQ(current(), "-") << "the last window's end ended it";
  EXPECT_EQ(gt_scope_end(), GT_ERROR_NO_SCOPE);
}

TEST_F(Scopes, NestInOrder) {
  open_window();
  EXPECT_EQ(gt_scope_begin(annotation(R"("outer")")), GT_OK);
  gt_scope first{0}, second{0};
  EXPECT_EQ(gt_scope_open(annotation(R"("first")"), &first), GT_OK);
  EXPECT_EQ(gt_scope_open(annotation(R"("second")"), &second), GT_OK);
  EXPECT_NE(first.value, second.value);
  EXPECT_EQ(current(), "second");
  EXPECT_EQ(gt_scope_close(first), GT_OK) << "handles close in any order";
  EXPECT_EQ(current(), "second");
  EXPECT_EQ(gt_scope_close(first), GT_ERROR_INVALID_HANDLE) << "but once";
  EXPECT_EQ(gt_scope_close(second), GT_OK);
  EXPECT_EQ(current(), "outer");
  EXPECT_EQ(gt_scope_end(), GT_OK);
  EXPECT_EQ(gt_scope_end(), GT_ERROR_NO_SCOPE);
}

TEST_F(Scopes, TheInlineFormIsTheStackForm) {
  EXPECT_EQ(gt_enter({123}), GT_OK) << "nothing is looked at while nothing is recorded";
  open_window();
  EXPECT_EQ(gt_enter({123}), GT_ERROR_INVALID_HANDLE);
  EXPECT_EQ(gt_enter_name("outer"), GT_OK);
  EXPECT_EQ(gt_enter(annotation(R"("inner")")), GT_OK);
  EXPECT_EQ(current(), "inner");
  EXPECT_EQ(gt_leave(), GT_OK);
  EXPECT_EQ(current(), "outer");
  EXPECT_EQ(gt_scope_end(), GT_OK);
  EXPECT_EQ(gt_leave(), GT_ERROR_NO_SCOPE);
}

TEST_F(Scopes, EndOnAnotherThreadWhereTheyAreToldTo) {
  open_window();
  gt_scope outer{0}, request{0};
  ASSERT_EQ(gt_scope_open(annotation(R"("outer")"), &outer), GT_OK);
  ASSERT_EQ(gt_scope_open(annotation(R"("request")"), &request), GT_OK);
  ASSERT_EQ(gt_scope_begin_name("inner", GT_NUL), GT_OK);
  const GraphHandle graph = cuda().graph_create();
  const auto name_of_next_node = [&] {
    std::uint64_t id = 0;
    EXPECT_EQ(gt_node_id(cuda().add_node(graph, NodeType::kernel, {}, 1), &id), GT_OK);
    return nlohmann::json::parse(name_of(id))["graphtag.path"].dump();
  };
  EXPECT_EQ(name_of_next_node(), R"(["outer","request","inner"])");
  std::thread([&] {
    EXPECT_EQ(gt_scope_close_anywhere(request), GT_OK);
    EXPECT_EQ(gt_scope_close_anywhere(request), GT_ERROR_INVALID_HANDLE) << "once";
    EXPECT_EQ(gt_scope_close_anywhere({0}), GT_OK);
    EXPECT_EQ(gt_scope_close_anywhere({12345}), GT_ERROR_INVALID_HANDLE);
  }).join();
  EXPECT_EQ(name_of_next_node(), R"(["outer","inner"])") << "with no call of this thread in between";
  EXPECT_EQ(gt_scope_end(), GT_OK);
  EXPECT_EQ(gt_scope_close_anywhere(outer), GT_OK) << "on its own thread too";
  EXPECT_EQ(current(), "-");
}

// Whatever the order, what is open afterwards is what nobody ended.
TEST_F(Scopes, EndOnOtherThreadsWhileTheirsGoesOn) {
  open_window();
  const gt_annotation base = annotation(R"("base")"), passing = annotation(R"("passing")"), own = annotation(R"("own")");
  for (int round = 0; round < 50; ++round) {
    gt_scope kept{0};
    std::vector<gt_scope> ended(20);
    ASSERT_EQ(gt_scope_open(base, &kept), GT_OK);
    for (gt_scope& scope : ended) ASSERT_EQ(gt_scope_open(passing, &scope), GT_OK);
    std::thread other([&] {
      for (const gt_scope scope : ended) EXPECT_EQ(gt_scope_close_anywhere(scope), GT_OK);
    });
    for (int i = 0; i < 200; ++i) {
      EXPECT_EQ(gt_scope_begin(own), GT_OK);
      EXPECT_EQ(gt_scope_end(), GT_OK);
    }
    other.join();
    EXPECT_EQ(current(), "base");
    EXPECT_EQ(gt_scope_close(kept), GT_OK);
    EXPECT_EQ(current(), "-");
  }
}

TEST_F(Scopes, AreTheThreads) {
  open_window();
  ASSERT_EQ(gt_scope_begin_name("mine", GT_NUL), GT_OK);
  gt_scope opened{0};
  ASSERT_EQ(gt_scope_open(annotation(R"("opened")"), &opened), GT_OK);
  gt_annotation here{0};
  ASSERT_EQ(gt_scope_current(&here), GT_OK);
  std::thread([&] {
    EXPECT_EQ(current(), "-");
    EXPECT_EQ(gt_scope_end(), GT_ERROR_NO_SCOPE);
    EXPECT_EQ(gt_scope_close(opened), GT_ERROR_WRONG_THREAD);
    EXPECT_EQ(gt_scope_begin(here), GT_OK) << "scopes are taken to another thread";
    EXPECT_EQ(current(), "opened");
  }).join();
  EXPECT_EQ(gt_scope_close(opened), GT_OK);
  EXPECT_EQ(gt_scope_end(), GT_OK);
}

TEST_F(Scopes, RefuseWhatIsNoAnnotation) {
  open_window();
  gt_scope scope{5};
  EXPECT_EQ(gt_scope_begin({123}), GT_ERROR_INVALID_HANDLE);
  EXPECT_EQ(gt_scope_open({123}, &scope), GT_ERROR_INVALID_HANDLE);
  EXPECT_EQ(scope.value, 5U);
  EXPECT_EQ(gt_scope_open(annotation("{}"), nullptr), GT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(gt_scope_begin_name("", 0), GT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(gt_scope_close({123}), GT_ERROR_INVALID_HANDLE);
}

TEST_F(Scopes, WindowsNestAndCloseOnce) {
  const gt_window outer = open_window(), inner = open_window();
  EXPECT_NE(outer.value, inner.value);
  EXPECT_EQ(gt_window_close(outer), GT_OK);
  EXPECT_NE(gt_active(), 0);
  EXPECT_EQ(gt_window_close(outer), GT_ERROR_INVALID_HANDLE);
  gt_observer observer = 9;
  EXPECT_EQ(gt_window_observer(outer, &observer), GT_ERROR_INVALID_HANDLE);
  EXPECT_EQ(gt_window_observer(inner, &observer), GT_OK);
  EXPECT_EQ(observer, gt_observer{GT_OBSERVER_CALLBACKS});
  EXPECT_EQ(gt_window_observer(inner, nullptr), GT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(gt_window_close(inner), GT_OK);
  EXPECT_EQ(gt_active(), 0);
}

TEST_F(Scopes, AreKeptForAWindowThatOpensWithinThem) {
  const gt_window kept = open_window(GT_OBSERVER_NONE);
  EXPECT_NE(gt_active(), 0);
  EXPECT_FALSE(cuda().has_subscriber());
  gt_observer observer = 9;
  EXPECT_EQ(gt_window_observer(kept, &observer), GT_OK);
  EXPECT_EQ(observer, gt_observer{GT_OBSERVER_NONE});
  EXPECT_EQ(gt_scope_begin_name("around", GT_NUL), GT_OK);

  const gt_window late = open_window();
  EXPECT_TRUE(cuda().has_subscriber());
  EXPECT_EQ(gt_window_observer(kept, &observer), GT_OK);
  EXPECT_EQ(observer, gt_observer{GT_OBSERVER_CALLBACKS}) << "it is shared";
  const StreamHandle stream = cuda().stream_create();
  ASSERT_TRUE(cuda().begin_capture(stream));
  cuda().launch(stream, NodeType::kernel, 1);
  const ExecHandle exec = cuda().instantiate(cuda().end_capture(stream));
  EXPECT_EQ(gt_window_close(late), GT_OK);
  EXPECT_FALSE(cuda().has_subscriber()) << "a profiler may come now";
  EXPECT_EQ(name_of(cuda().replay(exec)[0].id.value), R"({"name":"around","graphtag.path":["around"]})");

  EXPECT_EQ(current(), "around");
  EXPECT_EQ(gt_scope_end(), GT_OK);
  EXPECT_EQ(gt_scope_end(), GT_ERROR_NO_SCOPE);
  EXPECT_EQ(gt_scope_begin_name("left open", GT_NUL), GT_OK);
  EXPECT_EQ(gt_window_close(kept), GT_OK);
  EXPECT_EQ(gt_active(), 0);
  open_window();
  EXPECT_EQ(current(), "-") << "the last window's end ended it";
}

TEST_F(Scopes, WindowOptionsAreLookedAt) {
  gt_window window{3};
  gt_window_options options{};
  EXPECT_EQ(gt_window_open(&options, &window), GT_ERROR_INVALID_SIZE);
  options.size = sizeof options + 8;
  EXPECT_EQ(gt_window_open(&options, &window), GT_ERROR_INVALID_SIZE);
  options.size = sizeof options;
  options.observer = 4;
  EXPECT_EQ(gt_window_open(&options, &window), GT_ERROR_INVALID_ARGUMENT);
  options.observer = GT_OBSERVER_BOUNDARY;
  options.flags = 2;
  EXPECT_EQ(gt_window_open(&options, &window), GT_ERROR_INVALID_ARGUMENT);
  options.flags = 0;
  options.stream_count = 1;
  EXPECT_EQ(gt_window_open(&options, &window), GT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(window.value, 3U);
  EXPECT_EQ(gt_active(), 0);
}

TEST_F(Scopes, CallbacksAreRefusedAndAutoFallsBackWhereAnotherToolHoldsCupti) {
  ASSERT_TRUE(cuda().take_subscription());
  gt_window_options options{};
  options.size = sizeof options;
  options.observer = GT_OBSERVER_CALLBACKS;
  gt_window window{0};
  EXPECT_EQ(gt_window_open(&options, &window), GT_ERROR_BUSY);
  EXPECT_EQ(gt_active(), 0);
  gt_observer observer = GT_OBSERVER_AUTO;
  EXPECT_EQ(gt_window_observer(open_window(GT_OBSERVER_AUTO), &observer), GT_OK);
  EXPECT_EQ(observer, gt_observer{GT_OBSERVER_BOUNDARY});
  EXPECT_TRUE(cuda().release_subscription());
}

}  // namespace
}  // namespace graphtag::capi
