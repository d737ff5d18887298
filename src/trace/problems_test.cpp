#include "trace/problems.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace graphtag {
namespace {

TEST(Problems, CountsGoOnWhenOffsetsAreFull) {
  Problems problems;
  EXPECT_TRUE(problems.empty());
  for (std::uint64_t i = 0; i < 100; ++i) problems.add(ProblemKind::bad_escape, 7 * i, i == 0 ? "first" : "later");
  const auto& entry = problems[ProblemKind::bad_escape];
  EXPECT_FALSE(problems.empty());
  EXPECT_EQ(entry.count, 100U);
  ASSERT_EQ(entry.offsets.size(), Problems::kOffsetsKept);
  EXPECT_EQ(entry.offsets[15], 105U);
  EXPECT_EQ(entry.example, "first");
}

TEST(Problems, LeftOutAreThoseThatLoseAnEvent) {
  Problems problems;
  problems.add(ProblemKind::raw_control_character, 0, "");
  problems.add(ProblemKind::duplicate_key, 0, "");
  problems.add(ProblemKind::unparsable_event, 0, "");
  problems.add(ProblemKind::event_too_large, 0, "");
  problems.add(ProblemKind::event_too_large, 9, "");
  EXPECT_EQ(problems.left_out(), 3U);
}

TEST(Problems, ExamplesAreShortValidUtf8OnOneLine) {
  Problems problems;
  problems.add(ProblemKind::invalid_utf8, 0, std::string("a\n\xFF\x7F") + std::string(75, 'b') + "\xC3\xA9 and more");
  // 'a', a space, U+FFFD (3 bytes), a space and 74 of the b: the 80 bytes are full. The input is cut at 80 bytes.
  EXPECT_EQ(problems[ProblemKind::invalid_utf8].example, "a \xEF\xBF\xBD " + std::string(74, 'b'));
}

TEST(Problems, KindsHaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < kProblemKinds; ++i) names.insert(std::string(to_string(static_cast<ProblemKind>(i))));
  EXPECT_EQ(names.size(), kProblemKinds);
  EXPECT_EQ(names.count("unknown"), 0U);
  EXPECT_EQ(to_string(ProblemKind::raw_control_character), "raw-control-character");
}

}  // namespace
}  // namespace graphtag
