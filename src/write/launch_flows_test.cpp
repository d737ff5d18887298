#include "write/launch_flows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace graphtag {
namespace {

TEST(LaunchFlows, ALaunchHasOneArrowForEachOfItsOperations) {
  LaunchFlows flows;
  const auto a = flows.add_operation(12), other = flows.add_operation(7), b = flows.add_operation(12);
  flows.all_added();
  std::vector<std::uint64_t> ids{99};
  EXPECT_FALSE(flows.claimed(12, a));
  EXPECT_TRUE(flows.claim(12, ids));
  EXPECT_THAT(ids, testing::ElementsAre(a, b));
  EXPECT_TRUE(flows.claimed(12, a));
  EXPECT_TRUE(flows.claimed(12, b));
  EXPECT_FALSE(flows.claimed(7, other));
  EXPECT_FALSE(flows.claimed(7, a));
}

TEST(LaunchFlows, TheSecondLaunchOfACorrelationGetsNone) {
  LaunchFlows flows;
  flows.add_operation(3);
  flows.all_added();
  std::vector<std::uint64_t> ids;
  EXPECT_TRUE(flows.claim(3, ids));
  EXPECT_FALSE(flows.claim(3, ids));
  EXPECT_TRUE(ids.empty());
  EXPECT_TRUE(flows.claim(4, ids));
  EXPECT_TRUE(ids.empty());
}

}  // namespace
}  // namespace graphtag
