// What graphtag takes from simdjson's inside, held to its word: another version of simdjson may change it.
#include "trace/kineto/token_index.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

namespace graphtag::kineto {
namespace {

using Positions = std::vector<std::uint32_t>;

Positions found(TokenIndex& index, std::string text) {
  const std::size_t size = text.size();
  text.append(64, 'x');  // readable, and no part of the text
  const auto tokens = index.find({text.data(), size});
  return {tokens.begin(), tokens.end()};
}

Positions found(const std::string& text) {
  TokenIndex index;
  return found(index, text);
}

// The same, a byte at a time, for text whose strings end.
Positions plain(const std::string& text) {
  Positions positions;
  bool before = true;  // may a scalar begin here?
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool space = c == ' ' || c == '\n' || c == '\t' || c == '\r';
    const bool structural = std::string_view("{}[]:,").find(c) != std::string_view::npos;
    if (structural || (before && !space)) positions.push_back(static_cast<std::uint32_t>(i));
    before = space || structural;
    if (c != '"') continue;
    for (++i; text[i] != '"'; ++i) {
      if (text[i] == '\\') ++i;
    }
  }
  if (!positions.empty()) positions.push_back(static_cast<std::uint32_t>(text.size()));
  return positions;
}

TEST(TokenIndex, FindsTheTokensOfTheHeadersPicture) {
  EXPECT_EQ(found("{\"a\": [1]}"), (Positions{0, 1, 4, 6, 7, 8, 9, 10}));
}

TEST(TokenIndex, SeesNoTokensInStrings) {
  EXPECT_EQ(found(R"(["{,\"]:", true])"), (Positions{0, 1, 9, 11, 15, 16}));
  EXPECT_EQ(found("[\"\\\\\",-1e5]"), (Positions{0, 1, 5, 6, 10, 11}));
}

TEST(TokenIndex, RefusesWhatIsNoText) {
  EXPECT_TRUE(found("").empty());
  EXPECT_TRUE(found(" \n\t").empty());
  EXPECT_TRUE(found("[\"without end]").empty());
  EXPECT_TRUE(found("[\"a\x01\"]").empty());
  EXPECT_TRUE(found("[\"\xc3(\"]").empty());
  EXPECT_TRUE(found("[\"\xed\xa0\x80\"]").empty()) << "a surrogate is no UTF-8";
}

RC_GTEST_PROP(TokenIndex, AgreesWithAPlainSearchWhateverWasReadBefore, ()) {
  static const std::vector<std::string> kPieces = {"{",
                                                   "}",
                                                   "[",
                                                   "]",
                                                   ":",
                                                   ",",
                                                   " ",
                                                   "\n",
                                                   "12",
                                                   "-0.5e3",
                                                   "true",
                                                   "null",
                                                   "\"\"",
                                                   "\"a\\\"b\"",
                                                   "\"\\\\\"",
                                                   "\"{[,:\"",
                                                   "\"\xc3\xa9\"",
                                                   "\"" + std::string(70, 'k') + "\"",
                                                   std::string(64, ' ')};
  TokenIndex index;
  for (int text_number = 0; text_number < 3; ++text_number) {
    std::string text;
    for (const std::string& piece : *rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(kPieces))) {
      // Two scalars in a row are one token or two, for the parser to refuse.
      const bool scalar = std::string_view("{}[]:, \n").find(piece[0]) == std::string_view::npos;
      if (scalar && !text.empty()) text += ',';
      text += piece;
    }
    RC_ASSERT(found(index, text) == plain(text));
  }
}

}  // namespace
}  // namespace graphtag::kineto
