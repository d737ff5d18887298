#include "join/lanes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

namespace graphtag {
namespace {

using ::testing::ElementsAre;

// Events made by hand: only what LanePlan looks at.
class Events {
 public:
  const Event& operation(const std::string& pid, const std::string& tid, std::int64_t start_ns, std::uint64_t correlation) {
    Event& event = add({pid, tid, "\"kernel\"", "1"});
    event.kind = EventKind::kernel;
    event.start_ns = start_ns;
    event.correlation = correlation;
    return event;
  }
  const Event& flow_end(const std::string& pid, const std::string& tid, std::int64_t start_ns, const std::string& id,
                        const std::string& category = "\"ac2g\"") {
    Event& event = add({pid, tid, category, id});
    event.kind = EventKind::flow_end;
    event.start_ns = start_ns;
    return event;
  }

 private:
  Event& add(const std::vector<std::string>& tokens) {
    std::string& text = texts_.emplace_back();
    std::vector<TextSpan> spans;
    for (const std::string& token : tokens) {
      spans.push_back({static_cast<std::uint32_t>(text.size()), static_cast<std::uint32_t>(text.size() + token.size())});
      text += token;
    }
    Event& event = events_.emplace_back();
    event.json = text;
    event.pid = spans[0];
    event.tid = spans[1];
    event.category = spans[2];
    event.id = spans[3];
    return event;
  }

  std::deque<std::string> texts_;
  std::deque<Event> events_;
};

TEST(LanePlan, AFlowEndFollowsItsOperationInAnyOrder) {
  Events events;
  LanePlan plan;
  for (int i = 0; i < 50; ++i) plan.add_operation(events.operation("0", "143", i * 10, 5), 60 + i % 3, "");
  plan.finish_collecting();
  for (int i = 49; i >= 0; --i) EXPECT_EQ(plan.lane_of_flow_end(events.flow_end("0", "143", i * 10, "5")), 60 + i % 3) << i;
  EXPECT_EQ(plan.lane_of_flow_end(events.flow_end("0", "143", 0, "5")), std::nullopt);  // each has one
}

TEST(LanePlan, OperationsThatShareEverythingEachHaveAFlowEnd) {
  Events events;
  LanePlan plan;
  for (int i = 0; i < 3; ++i) plan.add_operation(events.operation("0", "143", 10, 5), 61, "");
  plan.add_operation(events.operation("0", "143", 20, 5), 62, "");
  plan.finish_collecting();
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(plan.lane_of_flow_end(events.flow_end("0", "143", 10, "5")), 61);
    if (i == 0) {
      EXPECT_EQ(plan.lane_of_flow_end(events.flow_end("0", "143", 20, "5")), 62);
    }
  }
  EXPECT_EQ(plan.lane_of_flow_end(events.flow_end("0", "143", 10, "\"5\"")), 61);
  EXPECT_EQ(plan.lane_of_flow_end(events.flow_end("0", "143", 10, "5")), std::nullopt);
}

TEST(LanePlan, OtherArrowsStay) {
  Events events;
  LanePlan plan;
  plan.add_operation(events.operation("0", "143", 10, 5), 61, "");
  plan.add_operation(events.operation("0", "144", 10, 5), std::nullopt, "");
  plan.finish_collecting();
  EXPECT_EQ(plan.lane_of_flow_end(events.flow_end("0", "143", 10, "5", "\"fwdbwd\"")), std::nullopt);
  EXPECT_EQ(plan.lane_of_flow_end(events.flow_end("0", "143", 10, "6")), std::nullopt);
  EXPECT_EQ(plan.lane_of_flow_end(events.flow_end("0", "143", 11, "5")), std::nullopt);
  EXPECT_EQ(plan.lane_of_flow_end(events.flow_end("0", "144", 10, "5")), std::nullopt);
  EXPECT_EQ(plan.lane_of_flow_end(events.flow_end("1", "143", 10, "5")), std::nullopt);
  EXPECT_EQ(plan.lane_of_flow_end(events.flow_end("0", "143", 10, "\"five\"")), std::nullopt);
  EXPECT_EQ(plan.lane_of_flow_end(events.flow_end("0", "143", 10, "5")), 61);
}

TEST(LanePlan, NewLanesHaveTheFirstNameGivenAndTheEarliestStart) {
  Events events;
  LanePlan plan;
  plan.add_operation(events.operation("1", "143", 30, 5), 62, "");
  plan.add_operation(events.operation("1", "143", 20, 5), 62, "tensor parallel");
  plan.add_operation(events.operation("1", "143", 40, 5), 62, "something else");
  plan.add_operation(events.operation("1", "143", 50, 5), 61, "");
  plan.add_operation(events.operation("0", "143", 60, 5), 61, "");
  plan.add_operation(events.operation("0", "143", 70, 5), 9, "");
  plan.add_operation(events.operation("0", "9", 80, 5), std::nullopt, "");
  plan.finish_collecting();
  std::vector<std::string> lanes;
  for (const NewLane& lane : plan.new_lanes()) {
    lanes.push_back(lane.pid + "/" + std::to_string(lane.stream) + " " + lane.name + " " + std::to_string(lane.first_ns));
  }
  // Stream 9 of device 0 was there before.
  EXPECT_THAT(lanes, ElementsAre("1/61 stream 61 50", "1/62 tensor parallel 20", "0/61 stream 61 60"));
}

TEST(LanePlan, ALaneLostAllItsWorkIfNoneStaysAndNoneCame) {
  Events events;
  LanePlan plan;
  plan.add_operation(events.operation("0", "1", 10, 5), 2, "");
  plan.add_operation(events.operation("0", "2", 10, 5), 3, "");
  plan.add_operation(events.operation("0", "4", 10, 5), 3, "");
  plan.add_operation(events.operation("0", "4", 20, 5), std::nullopt, "");
  plan.finish_collecting();
  EXPECT_TRUE(plan.lost_all_work(events.operation("0", "1", 0, 0)));
  EXPECT_FALSE(plan.lost_all_work(events.operation("0", "2", 0, 0)));  // its own went, another's came
  EXPECT_FALSE(plan.lost_all_work(events.operation("0", "3", 0, 0)));
  EXPECT_FALSE(plan.lost_all_work(events.operation("0", "4", 0, 0)));
  EXPECT_FALSE(plan.lost_all_work(events.operation("0", "5", 0, 0)));  // never had any
}

}  // namespace
}  // namespace graphtag
