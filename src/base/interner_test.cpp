#include "base/interner.h"

#include <gtest/gtest.h>

#include <string>

namespace graphtag {
namespace {

TEST(Interner, EachStringHasOneIdInOrderOfFirstSight) {
  Interner interner;
  EXPECT_EQ(interner.intern("a"), 0u);
  EXPECT_EQ(interner.intern(""), 1u);
  EXPECT_EQ(interner.intern("a"), 0u);
  EXPECT_EQ(interner.size(), 2u);
  EXPECT_EQ(interner[1], "");
}

TEST(Interner, ViewsSurviveGrowth) {
  Interner interner;
  const std::string_view first = interner[interner.intern("short")];
  for (int i = 0; i < 100'000; ++i) interner.intern("text " + std::to_string(i));
  EXPECT_EQ(first, "short");
  EXPECT_EQ(interner.intern("text 99999"), 100'000u);
}

}  // namespace
}  // namespace graphtag
