#include "inject/text.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

namespace graphtag::inject {
namespace {

// Whether nlohmann, which refuses strings that are not UTF-8, takes it.
bool is_utf8(const std::string& text) {
  try {
    (void)nlohmann::json(text).dump();
    return true;
  } catch (const nlohmann::json::type_error&) {
    return false;
  }
}

TEST(Text, IsKeptWhereItIsUtf8) {
  const Text text = text_of("attention \xc3\xa9 \xe2\x88\x91 \xf0\x9f\x98\x80");
  EXPECT_EQ(text.utf8, "attention \xc3\xa9 \xe2\x88\x91 \xf0\x9f\x98\x80");
  EXPECT_FALSE(text.mended || text.cut);
  EXPECT_EQ(text_of(static_cast<const char*>(nullptr)).utf8, "");
}

TEST(Text, IsMendedWhereItIsNot) {
  const Text latin = text_of("caf\xe9!");
  EXPECT_EQ(latin.utf8, "caf\xef\xbf\xbd!");
  EXPECT_TRUE(latin.mended);
  EXPECT_EQ(text_of("\xc3").utf8, "\xef\xbf\xbd") << "cut off within a character";
  EXPECT_EQ(text_of("\xed\xa0\x80").utf8, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd") << "a surrogate";
}

TEST(Text, OfWideCharactersIsUtf8) {
  EXPECT_EQ(text_of(L"\u00e9\u2211\U0001F600").utf8, "\xc3\xa9\xe2\x88\x91\xf0\x9f\x98\x80");
  const wchar_t broken[] = {L'a', static_cast<wchar_t>(0xD800), static_cast<wchar_t>(0x110000), 0};
  const Text text = text_of(broken);
  EXPECT_EQ(text.utf8, "a\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_TRUE(text.mended);
  EXPECT_EQ(text_of(static_cast<const wchar_t*>(nullptr)).utf8, "");
}

TEST(Text, IsCutBetweenCharacters) {
  const std::string exact(kTextBytesMax, 'x');
  EXPECT_FALSE(text_of(exact.c_str()).cut);
  EXPECT_EQ(text_of(exact.c_str()).utf8, exact);
  // A character of three bytes stands across the bound.
  const std::string before(kTextBytesMax - 2, 'x');
  const Text text = text_of((before + "\xe2\x88\x91\xe2\x88\x91").c_str());
  EXPECT_EQ(text.utf8, before);
  EXPECT_TRUE(text.cut);
  EXPECT_FALSE(text.mended);
  EXPECT_TRUE(text_of(std::wstring(5000, L'\u2211').c_str()).cut);
}

RC_GTEST_PROP(Text, IsAlwaysUtf8OfBoundedLength, (const std::string& unit, std::uint8_t times)) {
  std::string bytes;
  for (int i = 0; i < 20 * times; ++i) bytes += unit;
  const Text text = text_of(std::string_view(bytes));
  RC_ASSERT(is_utf8(text.utf8));
  RC_ASSERT(text.utf8.size() <= kTextBytesMax);
  if (is_utf8(bytes) && bytes.size() <= kTextBytesMax) RC_ASSERT(text.utf8 == bytes);
  RC_ASSERT(text.mended || text.cut || text.utf8 == bytes);
}

RC_GTEST_PROP(Json, StringsReadBackTheSame, (const std::string& bytes)) {
  const std::string text = text_of(std::string_view(bytes)).utf8;
  std::string json;
  append_json_string(json, text);
  RC_ASSERT(nlohmann::json::parse(json).get<std::string>() == text);
}

RC_GTEST_PROP(Json, NumbersReadBackTheSame, (std::uint64_t bits)) {
  double number = 0;
  std::memcpy(&number, &bits, sizeof number);
  std::string json;
  append_json_number(json, number);
  const auto read = nlohmann::json::parse(json);
  if (std::isfinite(number)) {
    RC_ASSERT(read.is_number_float());
    RC_ASSERT(read.get<double>() == number);
  } else {
    RC_ASSERT(read.is_string());
  }
}

TEST(Json, NumbersThatJsonLacksAreStrings) {
  std::string json = "[";
  append_json_number(json, std::numeric_limits<double>::quiet_NaN());
  json += ',';
  append_json_number(json, std::numeric_limits<double>::infinity());
  json += ',';
  append_json_number(json, -std::numeric_limits<double>::infinity());
  EXPECT_EQ(json, R"(["NaN","Infinity","-Infinity")");
}

}  // namespace
}  // namespace graphtag::inject
