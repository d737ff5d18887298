// The judge of the reader's JSON: the grammar and nothing else, whatever the size of the numbers.
#include "tests/support/valid_json.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/arbitrary_json.h"

namespace graphtag {
namespace {

using test::valid_json;

// More digits than the largest double has.
const std::string kMany(400, '9');

// A number wherever a value may stand. The grammar (RFC 8259) sets numbers no limit.
std::vector<std::string> around(const std::string& number) {
  return {number, "[" + number + "]", "[" + number + ",{}]", R"({"a":)" + number + "}", R"({"a":{"b":)" + number + R"(},"c":2})"};
}

TEST(ValidJson, NumbersOfAnySize) {
  for (const std::string number : {"1e999", "-1E+999", "1e-999", "214748E3647", "0.5e00999"}) {
    for (const auto& text : around(number)) EXPECT_TRUE(valid_json(text)) << text;
  }
  for (const auto& number : {kMany, "-" + kMany, kMany + ".5", "0." + kMany, "1e" + kMany}) {
    for (const auto& text : around(number)) EXPECT_TRUE(valid_json(text)) << text;
  }
}

TEST(ValidJson, LargeIsNotEnough) {
  for (const auto& number :
       {std::string("01e999"), std::string("1e"), std::string("1e+-9"), std::string("1e9.9"), std::string("+1e999"),
        std::string("1.e999"), "0" + kMany, kMany + ".", kMany + "e", "1e" + kMany + "."}) {
    for (const auto& text : around(number)) EXPECT_FALSE(valid_json(text)) << text;
  }
}

// What stands behind a large number is judged too.
TEST(ValidJson, BehindALargeNumber) {
  for (const std::string text : {"[1e999", "[1e999,]", R"({"a":1e999)", R"({"a":1e999 "b":2})", "1e999}", "[1e999,01]"}) {
    EXPECT_FALSE(valid_json(text)) << text;
  }
}

TEST(ValidJson, EscapesKeepTheirMeaning) {
  EXPECT_TRUE(valid_json(R"(["\ud83d\ude12","\ue123456","\u00e9999"])"));
  for (const std::string text : {R"(["\ude12"])", R"(["\ud83d\ue123"])", R"(["\u00e"])", "[\"1e999\n\"]", "[\"1e999\xE9\"]"}) {
    EXPECT_FALSE(valid_json(text)) << text;
  }
}

// Where a double holds every number, nlohmann's parser is the judge as it is.
RC_GTEST_PROP(ValidJson, AgreesWithTheParser, ()) {
  std::string text = (*testing::arbitrary_json(3)).dump();
  RC_ASSERT(valid_json(text));
  const auto place = *rc::gen::inRange<std::size_t>(0, text.size());
  text[place] = *rc::gen::elementOf(std::string("\"\\{}[],: -+u\n\x80"));
  RC_ASSERT(valid_json(text) == nlohmann::json::accept(text));
}

}  // namespace
}  // namespace graphtag
