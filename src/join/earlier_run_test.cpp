#include "join/earlier_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace graphtag {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::optional<EarlierRun> run_of(const std::string& json) {
  TraceInfo info;
  info.graphtag_json = json;
  return earlier_run(info);
}

TEST(EarlierRun, NoMarkNoRun) {
  EXPECT_FALSE(earlier_run(TraceInfo{}).has_value());
}

TEST(EarlierRun, ReadsTheMark) {
  const std::optional<EarlierRun> run = run_of(
      R"({"version":"9","keys":["name","k\"1"],"lanes":"all","default_stream":-3,"inputs":[{"name":"a.pkl","sha256":"12"},{"name":"b","sha256":"34"}],"more":1})");
  ASSERT_TRUE(run.has_value());
  EXPECT_THAT(run->keys, ElementsAre("name", "k\"1"));
  EXPECT_EQ(run->lanes, Lanes::all);
  EXPECT_EQ(run->default_stream, -3);
  EXPECT_TRUE(run->same_inputs({{"renamed.pkl", "12"}, {"b", "34"}}));
  EXPECT_FALSE(run->same_inputs({{"b", "34"}, {"a.pkl", "12"}}));  // of two that know an id the later wins
  EXPECT_FALSE(run->same_inputs({{"a.pkl", "12"}}));
  EXPECT_TRUE(run->same_lanes(Lanes::all, -3));
  EXPECT_FALSE(run->same_lanes(Lanes::all, 7));
  EXPECT_FALSE(run->same_lanes(Lanes::none, -3));
}

TEST(EarlierRun, WithoutLanesTheDefaultStreamIsOfNoAccount) {
  EXPECT_TRUE(run_of(R"({"lanes":"none"})")->same_lanes(Lanes::none, 99));
}

TEST(EarlierRun, TakesFromADamagedMarkWhatItCan) {
  for (const char* json : {"5", "{", "{}", R"({"keys":3,"lanes":7,"default_stream":"x","inputs":{"name":1}})"}) {
    const std::optional<EarlierRun> run = run_of(json);
    ASSERT_TRUE(run.has_value()) << json;
    EXPECT_THAT(run->keys, IsEmpty());
    EXPECT_EQ(run->lanes, Lanes::none);
    EXPECT_EQ(run->default_stream, 7);
    EXPECT_FALSE(run->same_inputs({{"a.pkl", "12"}}));
  }
  const std::optional<EarlierRun> run = run_of(R"({"keys":["name",1,null],"inputs":[3,{"sha256":"12"}]})");
  EXPECT_THAT(run->keys, ElementsAre("name"));
  EXPECT_TRUE(run->same_inputs({{"a.pkl", "12"}}));
}

}  // namespace
}  // namespace graphtag
