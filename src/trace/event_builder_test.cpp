#include "trace/event_builder.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/read_everything.h"

namespace graphtag {
namespace {

// What is built and decoded at once is what the reader of Chrome JSON decodes from the text.
void expect_reads_back(const Event& event) {
  const test::Everything read = test::read_everything("[" + std::string(event.json) + "]");
  ASSERT_EQ(read.error, "") << event.json;
  ASSERT_EQ(read.problems, "") << event.json;
  ASSERT_EQ(read.events.size(), 1U);
  EXPECT_EQ(read.events[0].fields, test::describe(event)) << event.json;
}

TEST(EventBuilder, AKernel) {
  EventBuilder builder;
  builder.begin(EventKind::kernel, 'X', "\"kernel\"", "\"gemm\"");
  builder.place(0, 7);
  builder.time(1500, 250);
  builder.argument("device", std::int64_t{0});
  builder.event().device = 0;
  builder.argument("grid", 8, 2, 1);
  builder.argument("correlation", std::uint64_t{12});
  builder.event().correlation = 12;
  const Event& event = builder.finish(77);
  EXPECT_EQ(event.json, R"({"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":1.500,"dur":0.250,)"
                        R"("args":{"device":0,"grid":[8,2,1],"correlation":12}})");
  EXPECT_EQ(event.offset, 77U);
  EXPECT_EQ(event.text(event.members[1].value), "[8,2,1]");
  expect_reads_back(event);
}

TEST(EventBuilder, AFlowEndAndANameWithoutArgs) {
  EventBuilder builder;
  builder.begin(EventKind::flow_end, 'f', "\"ac2g\"", "\"ac2g\"");
  builder.id(12);
  builder.place(-1, 7);
  builder.time(-1);
  builder.bind_to_enclosing();
  const Event& event = builder.finish(0);
  EXPECT_EQ(nlohmann::json::parse(event.json)["bp"], "e");
  expect_reads_back(event);
}

TEST(EventBuilder, TimesAreExact) {
  for (const auto& [ns, text] : {std::pair<std::int64_t, const char*>{0, "0.000"},
                                 {1, "0.001"},
                                 {-1, "-0.001"},
                                 {999, "0.999"},
                                 {-1000, "-1.000"},
                                 {std::numeric_limits<std::int64_t>::max(), "9223372036854775.807"},
                                 {std::numeric_limits<std::int64_t>::min(), "-9223372036854775.808"}}) {
    std::string out;
    append_microseconds(out, ns);
    EXPECT_EQ(out, text);
  }
}

RC_GTEST_PROP(EventBuilder, ReadsBackWhateverTheTexts,
              (const std::string& name, std::int64_t start_ns, std::uint32_t duration_ns)) {
  std::string token;
  append_json_string(token, name);
  RC_ASSERT(nlohmann::json::accept(token));
  EventBuilder builder;
  builder.begin(EventKind::host_slice, 'X', "\"nvtx\"", token);
  builder.place(1, 2);
  const bool fits = start_ns <= std::numeric_limits<std::int64_t>::max() - std::int64_t{duration_ns};
  if (fits) {
    builder.time(start_ns, duration_ns);
  } else {
    builder.time(0, duration_ns);
  }
  expect_reads_back(builder.finish(0));
}

}  // namespace
}  // namespace graphtag
