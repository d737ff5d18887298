#include "trace/event.h"

#include <gtest/gtest.h>

#include <string>

namespace graphtag {
namespace {

std::string unescaped(std::string_view token) {
  std::string storage;
  return std::string(unescape(token, storage));
}

TEST(Unescape, WithoutEscapesIsAView) {
  const std::string_view token = "\"kernel\"";
  std::string storage;
  EXPECT_EQ(unescape(token, storage).data(), token.data() + 1);
  EXPECT_EQ(unescaped("kernel"), "kernel");
  EXPECT_EQ(unescaped("\"\""), "");
}

TEST(Unescape, EveryEscapeOfJson) {
  EXPECT_EQ(unescaped(R"("\"\\\/\b\f\n\r\t")"), "\"\\/\b\f\n\r\t");
  EXPECT_EQ(unescaped(R"(a\u0041b)"), "aAb");
  EXPECT_EQ(unescaped(R"(\u00e9\u20AC)"), "\xC3\xA9\xE2\x82\xAC");
  EXPECT_EQ(unescaped(R"(\ud83d\ude00)"), "\xF0\x9F\x98\x80");
  EXPECT_EQ(unescaped(R"(\u0000)"), std::string(1, '\0'));
}

TEST(Unescape, BadEscapesDoNoHarm) {
  EXPECT_EQ(unescaped(R"(\ud83d)"), "\xEF\xBF\xBD");
  EXPECT_EQ(unescaped(R"(\ud83dx)"), "\xEF\xBF\xBDx");
  EXPECT_EQ(unescaped(R"(\ude00\ud83d)"), "\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(unescaped(R"(\x\u12)"), R"(\x\u12)");
  EXPECT_EQ(unescaped("a\\"), "a\\");
}

}  // namespace
}  // namespace graphtag
