#include "trace/kineto/repair.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace graphtag::kineto {
namespace {

struct Case {
  const char* name;
  std::string broken;
  std::string repaired;  // empty: it stays invalid
  ProblemKind kind = ProblemKind::unparsable_event;
  std::size_t where = 0;
};

class RepairEvent : public testing::TestWithParam<Case> {};

// What follows an event in a file.
constexpr std::string_view kNext = ",\n{\"ph\": \"X\", \"name\": \"next\"}]";

TEST_P(RepairEvent, GivesValidJson) {
  const Case& c = GetParam();
  const EventStart event_start;
  std::string out;
  const std::string text = c.broken + std::string(kNext);
  const Repair repair = repair_event({text, true, event_start, 10000}, out);
  if (c.repaired.empty()) {
    EXPECT_EQ(repair.outcome, Outcome::invalid) << out;
    return;
  }
  ASSERT_EQ(repair.outcome, Outcome::complete) << out;
  EXPECT_EQ(out, c.repaired);
  EXPECT_TRUE(nlohmann::json::accept(out));
  EXPECT_EQ(repair.size, c.broken.size());
  for (std::size_t kind = 0; kind < kProblemKinds; ++kind) {
    const bool expected = static_cast<ProblemKind>(kind) == c.kind;
    ASSERT_EQ(repair.problems[kind].has_value(), expected) << to_string(static_cast<ProblemKind>(kind));
    if (expected) {
      EXPECT_EQ(*repair.problems[kind], c.where);
    }
  }
}

using enum ProblemKind;
INSTANTIATE_TEST_SUITE_P(
    Strings, RepairEvent,
    testing::Values(Case{"newline", "{\"a\": \"x\ny\"}", R"({"a": "x\ny"})", raw_control_character, 8},
                    Case{"tab_in_key", "{\"a\tb\": 1}", R"({"a\tb": 1})", raw_control_character, 3},
                    Case{"control", std::string("{\"a\": \"\x01\x1f\"}"), R"({"a": "\u0001\u001f"})", raw_control_character, 7},
                    Case{"zero", std::string("{\"a\": \"") + '\0' + "\"}", R"({"a": "\u0000"})", raw_control_character, 7},
                    Case{"quotes", R"({"a": "say "hi" now", "b": 1})", R"({"a": "say \"hi\" now", "b": 1})", unescaped_quote, 11},
                    Case{"quote_last", R"({"a": {"b": "x "y""}})", R"({"a": {"b": "x \"y\""}})", unescaped_quote, 15},
                    Case{"quote_before_comma", R"({"a": "x", y", "b": 1})", R"({"a": "x\", y", "b": 1})", unescaped_quote, 8},
                    Case{"quote_before_brace", R"({"a": "x"} y", "b": 1})", R"({"a": "x\"} y", "b": 1})", unescaped_quote, 8},
                    Case{"quotes_in_array", R"({"a": ["x "y" z", "w"]})", R"({"a": ["x \"y\" z", "w"]})", unescaped_quote, 10},
                    Case{"quote_in_key", R"({"a "b": 1})", R"({"a \"b": 1})", unescaped_quote, 4},
                    Case{"bad_escape", R"({"a": "C:\xdir"})", R"({"a": "C:\\xdir"})", bad_escape, 9},
                    Case{"short_unicode", R"({"a": "\u12"})", R"({"a": "\\u12"})", bad_escape, 7},
                    Case{"lone_high", R"({"a": "\ud83d!"})", R"({"a": "\ufffd!"})", bad_escape, 7},
                    Case{"lone_low", R"({"a": "\ude00"})", R"({"a": "\ufffd"})", bad_escape, 7},
                    Case{"good_escapes_stay", R"({"a": "\ud83d\ude00\"\\\u0041", "b": 01})",
                         R"({"a": "\ud83d\ude00\"\\\u0041", "b": 1})", bad_number, 37},
                    Case{"latin1", "{\"a\": \"caf\xE9\"}", "{\"a\": \"caf\xEF\xBF\xBD\"}", invalid_utf8, 10},
                    Case{"surrogate_in_utf8", "{\"a\": \"\xED\xA0\x80\"}", "{\"a\": \"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"}",
                         invalid_utf8, 7},
                    Case{"utf8_stays", "{\"a\": \"\xC3\xA9\xF0\x9F\x98\x80\n\"}", "{\"a\": \"\xC3\xA9\xF0\x9F\x98\x80\\n\"}",
                         raw_control_character, 13}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(Numbers, RepairEvent,
                         testing::Values(Case{"nan", R"({"a": NaN})", R"({"a": null})", not_a_number, 6},
                                         Case{"minus_nan", R"({"a": -nan, "b": 1})", R"({"a": null, "b": 1})", not_a_number, 6},
                                         Case{"infinity", R"({"a": [Infinity]})", R"({"a": [null]})", not_a_number, 7},
                                         Case{"minus_inf", R"({"a": -inf})", R"({"a": null})", not_a_number, 6},
                                         Case{"leading_zero", R"({"a": 007})", R"({"a": 7})", bad_number, 6},
                                         Case{"zero_zero", R"({"a": -00.5})", R"({"a": -0.5})", bad_number, 6},
                                         Case{"plus", R"({"a": +1})", R"({"a": 1})", bad_number, 6},
                                         Case{"no_whole", R"({"a": -.5})", R"({"a": -0.5})", bad_number, 6},
                                         Case{"no_fraction", R"({"a": 1., "b": 2})", R"({"a": 1, "b": 2})", bad_number, 6},
                                         Case{"no_exponent", R"({"a": 1e+})", R"({"a": 1})", bad_number, 6},
                                         Case{"hexadecimal", R"({"a": 0x1F})", ""}, Case{"two_points", R"({"a": 1.2.3})", ""},
                                         Case{"no_digits", R"({"a": -})", ""}, Case{"word", R"({"a": undefined})", ""}),
                         [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Structure, RepairEvent,
    testing::Values(Case{"comma_in_object", R"({"a": 1, })", R"({"a": 1})", trailing_comma, 7},
                    Case{"comma_in_array", "{\"a\": [1,2,\n]}", R"({"a": [1,2]})", trailing_comma, 10},
                    Case{"two_commas", R"({"a": 1,, "b": 2})", R"({"a": 1,"b": 2})", trailing_comma, 8},
                    Case{"first_comma", R"({,"a": 1})", R"({"a": 1})", trailing_comma, 1},
                    Case{"missing_comma", R"({"a": 1 "b": 2})", ""}, Case{"missing_brace", R"({"a": {"b": 1})", ""},
                    Case{"missing_colon", R"({"a" 1})", ""}, Case{"missing_value", R"({"a": , "b": 1})", ""},
                    Case{"bare_key", R"({a: 1})", ""}, Case{"lost_closing_quote", "{\"a\": \"x,\n\"b\": \"y\"}", ""},
                    Case{"lost_last_quote", R"({"a": {"b": "x}})", ""}, Case{"lost_opening_quote", R"({"a": x", "b": 1})", ""},
                    Case{"deep", std::string("{\"a\": 01, \"b\": ") + std::string(64, '[') + std::string(64, ']') + "}", ""}),
    [](const auto& test) { return test.param.name; });

TEST(Repair, AsksForMoreRatherThanGuess) {
  const EventStart event_start;
  const std::string text = R"({"a": "say "hi" now", "b": 01})" + std::string(kNext);
  std::string whole;
  const Repair expected = repair_event({text, true, event_start, 10000}, whole);
  ASSERT_EQ(expected.outcome, Outcome::complete);
  for (std::size_t size = 1; size < text.size(); ++size) {
    std::string out;
    const Repair repair = repair_event({std::string_view(text).substr(0, size), false, event_start, 10000}, out);
    if (repair.outcome == Outcome::incomplete) continue;
    EXPECT_GE(size, expected.size);
    EXPECT_EQ(repair.outcome, Outcome::complete);
    EXPECT_EQ(out, whole);
    EXPECT_EQ(repair.size, expected.size);
  }
}

TEST(Repair, OutputIsBounded) {
  const EventStart event_start;
  const std::string text = "{\"a\": \"" + std::string(1000, '\x01') + "\"}";
  std::string out;
  EXPECT_EQ(repair_event({text, true, event_start, 7000}, out).outcome, Outcome::complete);
  EXPECT_EQ(repair_event({text, true, event_start, 5000}, out).outcome, Outcome::too_large);
  EXPECT_LT(out.size(), 5100U);
}

}  // namespace
}  // namespace graphtag::kineto
