#include "cli/progress.h"

#include <gtest/gtest.h>

namespace graphtag::cli {
namespace {

TEST(Progress, ShowsBytesRateAndTimeLeft) {
  EXPECT_EQ(progress_line("t.json", 500'000'000, 2'000'000'000, 2, 120),
            "t.json  [########----------------------]   25 %  500 MB of 2.0 GB  250 MB/s  6 s left");
  EXPECT_EQ(progress_line("t", 10, 10, 1, 60), "t  [#########################]  100 %  10 B of 10 B  10 B/s");
}

TEST(Progress, FitsTheTerminal) {
  for (int width = 1; width < 130; ++width) {
    const std::string line = progress_line("a-rather-long-name.json.gz", 123'456'789, 987'654'321, 3.5, width);
    EXPECT_LT(static_cast<int>(line.size()), std::max(width, 1)) << line;
  }
}

TEST(Progress, NothingToDoIsNotADivisionByZero) {
  const std::string line = progress_line("t", 0, 0, 0, 80);
  EXPECT_NE(line.find("100 %"), std::string::npos) << line;
  EXPECT_NE(line.find("0 B/s"), std::string::npos) << line;
}

}  // namespace
}  // namespace graphtag::cli
