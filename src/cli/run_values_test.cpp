#include "cli/run_values.h"

#include <gtest/gtest.h>

namespace graphtag::cli {
namespace {

TEST(RunValues, DurationsAreSecondsUnlessTheySay) {
  EXPECT_EQ(parse_duration_ms("10"), 10'000);
  EXPECT_EQ(parse_duration_ms("1.5s"), 1'500);
  EXPECT_EQ(parse_duration_ms("250ms"), 250);
  EXPECT_EQ(parse_duration_ms("2m"), 120'000);
  EXPECT_EQ(parse_duration_ms("0.5h"), 1'800'000);
  EXPECT_EQ(parse_duration_ms("0"), 0);
  for (const char* text : {"", "s", "-1", "1 s", "1d", "1e3", "nan", "inf", "99999999999h", "1.5.2"})
    EXPECT_FALSE(parse_duration_ms(text)) << text;
}

TEST(RunValues, SizesArePowersOf1024) {
  EXPECT_EQ(parse_size_bytes("4096"), 4096u);
  EXPECT_EQ(parse_size_bytes("500M"), 524'288'000u);
  EXPECT_EQ(parse_size_bytes("1.5G"), 1'610'612'736u);
  EXPECT_EQ(parse_size_bytes("2TB"), 2'199'023'255'552u);
  for (const char* text : {"", "M", "-1M", "1 M", "1X", "1m", "9999999999T"}) EXPECT_FALSE(parse_size_bytes(text)) << text;
}

TEST(RunValues, BuffersAreACountAndASize) {
  EXPECT_EQ(parse_buffers("64")->count, 64u);
  EXPECT_EQ(parse_buffers("64")->bytes, 0u);
  EXPECT_EQ(parse_buffers("2x4K")->count, 2u);
  EXPECT_EQ(parse_buffers("2x4K")->bytes, 4096u);
  EXPECT_EQ(parse_buffers("4096x64M")->bytes, 64u << 20);
  for (const char* text : {"", "1", "4097", "8x", "x1M", "8x1K", "8x65M", "8x4097", "8x1Mx2", "lots"})
    EXPECT_FALSE(parse_buffers(text)) << text;
}

}  // namespace
}  // namespace graphtag::cli
