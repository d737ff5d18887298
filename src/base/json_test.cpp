#include "base/json.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

namespace graphtag {
namespace {

TEST(Json, KeepsTypesAndKeyOrder) {
  const auto value = parse_json(R"({"z":1,"a":-2,"u":18446744073709551615,"d":1.0,"s":"é","n":null,"b":true,"l":[1,[2]]})");
  ASSERT_TRUE(value) << value.error().to_string();
  EXPECT_EQ(dump_json(*value), R"({"z":1,"a":-2,"u":18446744073709551615,"d":1.0,"s":"é","n":null,"b":true,"l":[1,[2]]})");
  EXPECT_EQ(value->at("u").get<std::uint64_t>(), std::numeric_limits<std::uint64_t>::max());
}

TEST(Json, PassesOverAByteOrderMark) {
  const auto value = parse_json("\xef\xbb\xbf[1]");
  ASSERT_TRUE(value);
  EXPECT_EQ(dump_json(*value), "[1]");
}

TEST(Json, RefusesIntegersBeyond64Bits) {
  for (const char* text : {"18446744073709551616", "-9223372036854775809", "[1,123456789012345678901234567890]"}) {
    const auto value = parse_json(text);
    ASSERT_FALSE(value) << text;
    EXPECT_EQ(value.error().code, ErrorCode::too_large) << text;
  }
  EXPECT_TRUE(parse_json("1e300"));
}

TEST(Json, NestingIsBounded) {
  const auto nested = [](int depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_TRUE(parse_json(nested(64)));
  const auto deep = parse_json(nested(65));
  ASSERT_FALSE(deep);
  EXPECT_EQ(deep.error().code, ErrorCode::too_large);
  EXPECT_FALSE(parse_json(std::string(1 << 20, '[')));
  EXPECT_TRUE(parse_json("[[1],[2],[3]]", "", {.bytes = 100, .nesting = 2}));
}

TEST(Json, ErrorsTellFileOffsetAndWhat) {
  const auto value = parse_json("{\"a\": tru}", "x.json");
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().file, "x.json");
  ASSERT_TRUE(value.error().offset);
  EXPECT_GE(*value.error().offset, 6u);
  EXPECT_LE(*value.error().offset, 9u);
  EXPECT_EQ(value.error().to_string().find("x.json: offset "), 0u);
}

TEST(Json, RefusesWhatIsNotUtf8) {
  EXPECT_FALSE(parse_json("\"\xff\""));
  EXPECT_FALSE(parse_json("\"\xc0\x80\""));  // an overlong NUL
  EXPECT_FALSE(parse_json("\"\\ud800\""));
}

TEST(Json, RefusesTextsBeyondTheLimit) {
  const auto value = parse_json("[1,2,3]", "", {.bytes = 3, .nesting = 64});
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().code, ErrorCode::too_large);
}

TEST(Json, RefusesMoreValuesThanTheLimit) {
  EXPECT_TRUE(parse_json("[1,{\"a\":2}]", "", {.values = 4}));
  const auto value = parse_json("[1,{\"a\":2}]", "", {.values = 3});
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().code, ErrorCode::too_large);
}

TEST(Json, ManyKeysKeepTheirOrderAndTheLastValueOfEach) {
  std::string text = "{";
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 200'000; ++i) text += "\"" + std::to_string(i) + "\":" + std::to_string(i + round) + ",";
  }
  text.back() = '}';
  const auto value = parse_json(text);
  ASSERT_TRUE(value);
  ASSERT_EQ(value->size(), 200'000u);
  int i = 0;
  for (const auto& [key, number] : value->items()) {
    ASSERT_EQ(key, std::to_string(i));
    ASSERT_EQ(number, i + 1);
    ++i;
  }
}

TEST(Json, CanonicalTextIgnoresKeyOrderButNotTypes) {
  EXPECT_EQ(canonical_json(*parse_json(R"({"b":{"y":1,"x":2},"a":1})")),
            canonical_json(*parse_json(R"({"a":1,"b":{"x":2,"y":1}})")));
  EXPECT_NE(canonical_json(*parse_json("[1,2]")), canonical_json(*parse_json("[2,1]")));
  EXPECT_NE(canonical_json(*parse_json("1")), canonical_json(*parse_json("1.0")));
  EXPECT_NE(canonical_json(*parse_json("1")), canonical_json(*parse_json("true")));
  EXPECT_NE(canonical_json(*parse_json("1")), canonical_json(*parse_json("\"1\"")));
}

TEST(Json, DoublesReadBackTheSame) {
  for (const double number : {0.1, 1e-300, 123456789.123456789, -0.0, 5e-324}) {
    const auto back = parse_json(dump_json(Json(number)));
    ASSERT_TRUE(back);
    EXPECT_EQ(back->get<double>(), number);
  }
  EXPECT_EQ(dump_json(Json(std::numeric_limits<double>::quiet_NaN())), "null");
  EXPECT_EQ(dump_json(Json(std::numeric_limits<double>::infinity())), "null");
}

}  // namespace
}  // namespace graphtag
