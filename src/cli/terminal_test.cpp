#include "cli/terminal.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace graphtag::cli {
namespace {

// A pipe stands for "no terminal"; a terminal itself is tried by tests/python/test_terminal.py.
class TerminalTest : public testing::Test {
 protected:
  TerminalTest() {
    EXPECT_EQ(pipe(fds_), 0);
    for (const char* name : {"NO_COLOR", "CLICOLOR_FORCE", "TERM", "COLUMNS", "LC_ALL", "LC_CTYPE", "LANG"}) unsetenv(name);
  }
  ~TerminalTest() override {
    close(fds_[0]);
    close(fds_[1]);
  }
  int fds_[2];
};

TEST_F(TerminalTest, ColorsFollowTheirOrder) {
  EXPECT_FALSE(use_color(When::automatic, fds_[1]));
  setenv("CLICOLOR_FORCE", "1", 1);
  EXPECT_TRUE(use_color(When::automatic, fds_[1]));
  setenv("NO_COLOR", "", 1);
  EXPECT_TRUE(use_color(When::automatic, fds_[1]));
  setenv("NO_COLOR", "1", 1);
  EXPECT_FALSE(use_color(When::automatic, fds_[1]));
  EXPECT_TRUE(use_color(When::always, fds_[1]));
  unsetenv("NO_COLOR");
  EXPECT_FALSE(use_color(When::never, fds_[1]));
  setenv("CLICOLOR_FORCE", "0", 1);
  EXPECT_FALSE(use_color(When::automatic, fds_[1]));
}

TEST_F(TerminalTest, WidthComesFromTheEnvironmentWhereThereIsNoTerminal) {
  EXPECT_EQ(terminal_width(fds_[1]), 100);
  setenv("COLUMNS", "72", 1);
  EXPECT_EQ(terminal_width(fds_[1]), 72);
  setenv("COLUMNS", "nonsense", 1);
  EXPECT_EQ(terminal_width(fds_[1]), 100);
}

TEST_F(TerminalTest, Utf8ComesFromTheFirstLocaleThatIsSet) {
  EXPECT_FALSE(is_utf8_locale());
  setenv("LANG", "en_US.UTF-8", 1);
  EXPECT_TRUE(is_utf8_locale());
  setenv("LC_ALL", "C", 1);
  EXPECT_FALSE(is_utf8_locale());
  setenv("LC_ALL", "C.utf8", 1);
  EXPECT_TRUE(is_utf8_locale());
}

}  // namespace
}  // namespace graphtag::cli
