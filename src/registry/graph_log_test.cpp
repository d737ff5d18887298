#include "registry/graph_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace graphtag {
namespace {

using testing::ElementsAre;
using testing::FieldsAre;

constexpr Tag tag(std::uint32_t annotation) {
  return {AnnotationId{annotation}, Origin::callback};
}
constexpr Tag kA = tag(1), kB = tag(2), kC = tag(3);
constexpr Tag kOutside{Origin::outside_scope};
constexpr Tag kBefore{Origin::captured_before_start};

// (0, a) (4, b), next local id 6: where the drawings in the header begin.
class DrawnLog : public testing::Test {
 protected:
  DrawnLog() {
    log.mark_created(1000);
    EXPECT_TRUE(log.record({0}, 4, kA));
    EXPECT_TRUE(log.record({4}, 2, kB));
  }
  Ledger ledger;
  GraphLog log{GraphId{3}, ledger};
};

TEST_F(DrawnLog, NextNodeWithTheSameTagMovesTheTailAlone) {
  EXPECT_TRUE(log.append({6}, kB));
  EXPECT_EQ(log.next_local_id(), 7u);
  EXPECT_EQ(log.run_count(), 2u);
  EXPECT_THAT(log.spans(0, 8), ElementsAre(FieldsAre(0, 4, kA), FieldsAre(4, 7, kB), FieldsAre(7, 8, kOutside)));
}

TEST_F(DrawnLog, AnotherTagOrAnotherIdIsNotAppended) {
  EXPECT_FALSE(log.append({6}, kC));
  EXPECT_FALSE(log.append({7}, kB));
  EXPECT_FALSE(log.append({5}, kB));
  EXPECT_EQ(log.next_local_id(), 6u);
}

TEST_F(DrawnLog, AnotherTagBeginsARun) {
  EXPECT_TRUE(log.append({6}, kB));
  EXPECT_TRUE(log.record({7}, 1, kC));
  EXPECT_TRUE(log.append({8}, kC));
  EXPECT_THAT(log.spans(0, 9), ElementsAre(FieldsAre(0, 4, kA), FieldsAre(4, 7, kB), FieldsAre(7, 9, kC)));
}

TEST_F(DrawnLog, SkippedIdsAreNotNamedUntilTheyAreReported) {
  EXPECT_TRUE(log.record({9}, 1, kB));
  EXPECT_THAT(log.spans(4, 6), ElementsAre(FieldsAre(4, 6, kB), FieldsAre(6, 9, kOutside), FieldsAre(9, 10, kB)));
  EXPECT_TRUE(log.record({6}, 3, kB));
  EXPECT_EQ(log.run_count(), 2u);
}

TEST_F(DrawnLog, ALateIdIsPutInTheMiddle) {
  EXPECT_TRUE(log.record({2}, 1, kB));
  EXPECT_THAT(log.spans(0, 6), ElementsAre(FieldsAre(0, 2, kA), FieldsAre(2, 3, kB), FieldsAre(3, 4, kA), FieldsAre(4, 6, kB)));
  EXPECT_TRUE(log.append({6}, kB)) << "the tail is as it was";
}

TEST_F(DrawnLog, TheLastNodeAgainChangesTheTail) {
  EXPECT_TRUE(log.append({6}, kB));
  EXPECT_TRUE(log.record({6}, 1, kC));
  EXPECT_FALSE(log.append({7}, kB));
  EXPECT_TRUE(log.append({7}, kC));
  EXPECT_EQ(log.at({5}), kB);
  EXPECT_EQ(log.at({6}), kC);
}

TEST_F(DrawnLog, SpansBeginAnywhere) {
  EXPECT_TRUE(log.append({6}, kB));
  EXPECT_THAT(log.spans(6, 1), ElementsAre(FieldsAre(6, 7, kB))) << "appended without the lock";
  EXPECT_THAT(log.spans(5, 2), ElementsAre(FieldsAre(5, 7, kB)));
  EXPECT_THAT(log.spans(100, 5), ElementsAre(FieldsAre(100, 105, kOutside)));
  EXPECT_THAT(log.spans(4294967290u, 4294967295u), ElementsAre(FieldsAre(4294967290u, 4294967295u, kOutside)));
}

TEST_F(DrawnLog, ClosedTakesNoNode) {
  EXPECT_TRUE(log.close(2000));
  EXPECT_FALSE(log.close(3000));
  EXPECT_FALSE(log.record({6}, 1, kB));
  EXPECT_EQ(log.facts().destroyed_ns, 2000);
}

TEST_F(DrawnLog, BytesAreAccountedUntilFrozen) {
  const std::uint64_t before = ledger.live_bytes;
  for (std::uint32_t id = 6; id < 1006; ++id) EXPECT_TRUE(log.record({id}, 1, id % 2 == 0 ? kA : kB));
  EXPECT_GE(ledger.live_bytes - before, 900u * sizeof(RunList::Entry));
  EXPECT_EQ(log.freeze(), log.freeze());
  EXPECT_EQ(ledger.live_bytes, 0u);
}

TEST(GraphLog, NodesBeforeTheFirstOneSeenWereCapturedBeforeTheStart) {
  Ledger ledger;
  GraphLog log(GraphId{3}, ledger);
  EXPECT_EQ(log.at({0}), kBefore);
  EXPECT_TRUE(log.record({5}, 1, kA));
  EXPECT_EQ(log.at({0}), kBefore);
  EXPECT_EQ(log.at({5}), kA);
  EXPECT_EQ(log.at({6}), kOutside);
}

}  // namespace
}  // namespace graphtag
