// What happens to the process: it forks, it ends with a window open.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "tests/capi/fixture.h"

namespace graphtag::capi {
namespace {

class ProcessTest : public WithFakeCuda {};

TEST_F(ProcessTest, EndsWithAWindowAndAScopeOpen) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a process of its own, not a child of this one
  EXPECT_EXIT(
      {
        open_window();
        gt_scope_begin_name("open", GT_NUL);
        const StreamHandle stream = cuda().stream_create();
        cuda().begin_capture(stream);
        cuda().launch(stream, NodeType::kernel, 0);
        std::exit(7);
      },
      testing::ExitedWithCode(7), "");
}

// What `in_child` returns; 0 if it is right, a bit for each thing that is not. Plain checks: a failing EXPECT there would be another test's.
template <typename Work>
int of_child(Work in_child) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);  // one that waits for good
    _exit(in_child());
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TEST_F(ProcessTest, AChildBeginsAnew) {
  open_window(GT_OBSERVER_BOUNDARY);
  ASSERT_EQ(gt_scope_begin_name("parent", GT_NUL), GT_OK);
  const gt_annotation parents = annotation(R"("parent")");
  const int wrong = of_child([&] {
    int bits = 0;
    gt_annotation current{1};
    if (gt_active() != 0) bits |= 1;
    if (gt_scope_current(&current) != GT_OK || current.value != 0) bits |= 2;
    size_t length = 0;
    if (gt_annotation_json(parents, 0, nullptr, 0, &length) != GT_ERROR_INVALID_HANDLE) bits |= 4;
    gt_annotation own{0};
    if (gt_annotation_from_name("child", GT_NUL, &own) != GT_OK) bits |= 8;
    if (gt_snapshot_buffer(nullptr, 0, &length) != GT_OK) bits |= 16;
    return bits;
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_NE(gt_active(), 0) << "the parent goes on";
  EXPECT_EQ(gt_scope_end(), GT_OK);
}

// The parent's handles would close what the child has opened as its first window and its first scope.
TEST_F(ProcessTest, AChildRefusesTheHandlesOfItsParent) {
  const gt_window parents = open_window(GT_OBSERVER_BOUNDARY);
  gt_scope parents_scope{0};
  ASSERT_EQ(gt_scope_open(annotation(R"("parent")"), &parents_scope), GT_OK);
  const int wrong = of_child([&] {
    int bits = 0;
    gt_window_options wanted{};
    wanted.size = sizeof wanted;
    wanted.observer = GT_OBSERVER_BOUNDARY;
    gt_window own{0};
    gt_scope scope{0};
    gt_annotation name{0}, current{0};
    if (gt_window_open(&wanted, &own) != GT_OK) bits |= 1;
    if (gt_annotation_from_name("child", GT_NUL, &name) != GT_OK || gt_scope_open(name, &scope) != GT_OK) bits |= 2;
    if (gt_scope_close(parents_scope) != GT_ERROR_INVALID_HANDLE) bits |= 4;
    if (gt_scope_close_anywhere(parents_scope) != GT_ERROR_INVALID_HANDLE) bits |= 8;
    if (gt_scope_current(&current) != GT_OK || current.value != name.value) bits |= 16;
    if (gt_window_close(parents) != GT_ERROR_INVALID_HANDLE || gt_active() == 0) bits |= 32;
    if (gt_scope_close(scope) != GT_OK || gt_window_close(own) != GT_OK || gt_active() != 0) bits |= 64;
    return bits;
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(gt_scope_close(parents_scope), GT_OK);
}

std::atomic<int> hooked{0};

// CUPTI goes on calling the parent's subscriber in the child, until the child subscribes itself.
TEST_F(ProcessTest, AChildTakesCallbacksItself) {
  ASSERT_EQ(gt_set_node_hook([](std::uint64_t) { ++hooked; }), GT_OK);
  open_window(GT_OBSERVER_CALLBACKS);
  const auto capture = [&] {
    const StreamHandle stream = cuda().stream_create();
    cuda().begin_capture(stream);
    gt_scope_begin_name("scope", GT_NUL);
    cuda().launch(stream, NodeType::kernel, 0);
    gt_scope_end();
    return cuda().end_capture(stream);
  };
  const int before = hooked;
  const GraphHandle graph = capture();
  EXPECT_EQ(hooked, before + 1);
  const int wrong = of_child([&] {
    int bits = 0;
    capture();
    if (hooked != before + 1) bits |= 1;
    gt_window_options wanted{};
    wanted.size = sizeof wanted;
    wanted.observer = GT_OBSERVER_CALLBACKS;
    gt_window own{0}, second{0};
    if (gt_window_open(&wanted, &own) != GT_OK || !cuda().has_subscriber()) bits |= 2;
    const ExecHandle exec = cuda().instantiate(capture());
    if (name_of(cuda().replay(exec)[0].id.value) != R"({"name":"scope","graphtag.path":["scope"]})") bits |= 4;
    if (gt_window_close(own) != GT_OK || cuda().has_subscriber()) bits |= 8;
    wanted.observer = GT_OBSERVER_AUTO;
    gt_observer observer = GT_OBSERVER_NONE;
    if (gt_window_open(&wanted, &second) != GT_OK || gt_window_observer(second, &observer) != GT_OK) bits |= 16;
    if (observer != GT_OBSERVER_CALLBACKS || gt_window_close(second) != GT_OK) bits |= 32;
    return bits;
  });
  EXPECT_EQ(wrong, 0);
  cuda().destroy_graph(capture());
  EXPECT_EQ(hooked, before + 2) << "the parent goes on";
  ASSERT_EQ(gt_set_node_hook(nullptr), GT_OK);
  cuda().destroy_graph(graph);
}

// The doctor would take the parent's for another tool's.
TEST_F(ProcessTest, AChildFindsTheSubscriptionFree) {
  open_window(GT_OBSERVER_CALLBACKS);
  const int wrong = of_child([] {
    const nlohmann::json subscription = doctor(GT_DOCTOR_TRY_SUBSCRIBE)["subscription"];
    return subscription["state"] == "free" ? 0 : 1;
  });
  EXPECT_EQ(wrong, 0);
}

// A thread that is not in the child had the lock of the search.
TEST_F(ProcessTest, AChildWhoseParentWasLookingForCuptiLooksItself) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a process that has not looked yet
  EXPECT_EXIT(
      {
        fake::HeldCall& call = fake::version_call();
        call.held = true;
        std::thread([] { gt_available(GT_OBSERVER_CALLBACKS); }).detach();
        while (!call.inside) std::this_thread::yield();
        const int status = of_child([&] {
          call.held = false;
          return gt_available(GT_OBSERVER_CALLBACKS) == GT_OK ? 7 : 1;
        });
        _exit(status);
      },
      testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace graphtag::capi
