// What happens to the process: it forks, it ends with a window open.
#include <sys/wait.h>
#include <unistd.h>

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

TEST_F(ProcessTest, AChildBeginsAnew) {
  open_window(GT_OBSERVER_BOUNDARY);
  ASSERT_EQ(gt_scope_begin_name("parent", GT_NUL), GT_OK);
  const gt_annotation parents = annotation(R"("parent")");
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    // Plain checks: a failing EXPECT here would be another test's.
    int wrong = 0;
    gt_annotation current{1};
    if (gt_active() != 0) wrong |= 1;
    if (gt_scope_current(&current) != GT_OK || current.value != 0) wrong |= 2;
    size_t length = 0;
    if (gt_annotation_json(parents, 0, nullptr, 0, &length) != GT_ERROR_INVALID_HANDLE) wrong |= 4;
    gt_annotation own{0};
    if (gt_annotation_from_name("child", GT_NUL, &own) != GT_OK) wrong |= 8;
    if (gt_snapshot_buffer(nullptr, 0, &length) != GT_OK) wrong |= 16;
    _exit(wrong);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_NE(gt_active(), 0) << "the parent goes on";
  EXPECT_EQ(gt_scope_end(), GT_OK);
}

}  // namespace
}  // namespace graphtag::capi
