#include "model/not_a_number.h"

#include <gtest/gtest.h>

namespace graphtag {
namespace {

TEST(NullNotANumbers, OutsideStringsOnly) {
  const NullsForNumbers result = null_not_a_numbers(R"({"NaN":NaN,"a\"NaN":[Infinity,-Infinity,1],"\\":NaN,"b":"-Infinity"})");
  EXPECT_EQ(result.text, R"({"NaN":null,"a\"NaN":[null    ,null     ,1],"\\":null,"b":"-Infinity"})");
  EXPECT_EQ(result.count, 4u);
}

TEST(NullNotANumbers, OffsetsLeadBackToTheOriginal) {
  const std::string text = R"([NaN,Infinity,x,NaN,z)";
  const NullsForNumbers result = null_not_a_numbers(text);
  EXPECT_EQ(result.grown_at, (std::vector<std::uint64_t>{1, 16}));
  EXPECT_EQ(result.original_offset(0), 0u);
  EXPECT_EQ(result.original_offset(1), 1u);
  EXPECT_EQ(result.original_offset(result.text.find('x')), text.find('x'));
  EXPECT_EQ(result.original_offset(result.text.find('z')), text.find('z'));
}

TEST(NullNotANumbers, EndsAnywhere) {
  for (const char* text : {"", "\"", "\"\\", "Na", "-", "-Infinit", "\"NaN"}) EXPECT_EQ(null_not_a_numbers(text).text, text);
}

}  // namespace
}  // namespace graphtag
