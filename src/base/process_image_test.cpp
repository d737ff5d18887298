#include "base/process_image.h"

#include <gtest/gtest.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace graphtag {
namespace {

std::uint32_t self() {
  return static_cast<std::uint32_t>(getpid());
}

TEST(ProcessImage, IsTheSameAsLongAsTheProgramIs) {
  const ProcessImage image = process_image(self());
  EXPECT_TRUE(image.lives);
  ASSERT_NE(image.stack, 0u);
  prctl(PR_SET_NAME, "a) Z (b 1 2");
  const ProcessImage renamed = process_image(self());
  prctl(PR_SET_NAME, "test");
  EXPECT_TRUE(renamed.lives) << "the name may hold anything";
  EXPECT_EQ(renamed.stack, image.stack);
}

TEST(ProcessImage, IsAnotherAfterExec) {
  if ((personality(0xffffffff) & ADDR_NO_RANDOMIZE) != 0) GTEST_SKIP() << "addresses are not randomized here";
  const std::uint64_t mine = process_image(self()).stack;
  const pid_t child = fork();
  if (child == 0) {
    execl("/bin/sleep", "sleep", "30", nullptr);
    _exit(1);
  }
  const auto pid = static_cast<std::uint32_t>(child);
  ProcessImage image = process_image(pid);
  for (int i = 0; i < 1000 && image.stack == mine; ++i) {
    usleep(10'000);
    image = process_image(pid);
  }
  EXPECT_TRUE(image.lives);
  EXPECT_NE(image.stack, mine);
  kill(child, SIGKILL);
  siginfo_t info{};
  waitid(P_PID, pid, &info, WEXITED | WNOWAIT);
  EXPECT_FALSE(process_image(pid).lives) << "a zombie";
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(process_image(pid).lives);
}

}  // namespace
}  // namespace graphtag
