#include "topology/update_pairing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/graph_shapes.h"
#include "topology/exec_numbering.h"

namespace graphtag {
namespace {

using test::node;
using test::shape;
using testing::ElementsAre;

GraphShape drawn_template() {
  return shape(1, {0, 1, 2}, {{.node = {1}, .bodies = {shape(2, {0, 1})}}});
}

// The drawing in the header.
TEST(PairForUpdate, KthForKthNestedToo) {
  const GraphShape updated = shape(7, {0, 2, 3}, {{.node = {2}, .bodies = {shape(8, {0, 1})}}});
  const auto pairs = pair_for_update(drawn_template(), number_nested(drawn_template(), 3).pairs, updated);
  ASSERT_TRUE(pairs);
  EXPECT_THAT(*pairs, ElementsAre(NodePairs{{0}, node(7, 0), 1}, NodePairs{{1}, node(7, 2), 2}, NodePairs{{3}, node(8, 0), 2}));
}

TEST(PairForUpdate, GapsOnBothSides) {
  const GraphShape from = shape(1, {0, 3, 4, 9});
  const GraphShape to = shape(2, {5, 6, 8, 10});
  const auto pairs = pair_for_update(from, {}, to);
  ASSERT_TRUE(pairs);
  EXPECT_THAT(*pairs, ElementsAre(NodePairs{{0}, node(2, 5), 1}, NodePairs{{3}, node(2, 6), 1}, NodePairs{{4}, node(2, 8), 1},
                                  NodePairs{{9}, node(2, 10), 1}));
}

TEST(PairForUpdate, OtherShapesDoNotPair) {
  const auto pairs = [](const GraphShape& updated) {
    return pair_for_update(drawn_template(), number_nested(drawn_template(), 3).pairs, updated);
  };
  EXPECT_FALSE(pairs(shape(7, {0, 1, 2}))) << "no child graph";
  EXPECT_FALSE(pairs(shape(7, {0, 1}, {{.node = {1}, .bodies = {shape(8, {0, 1})}}}))) << "a node less";
  EXPECT_FALSE(pairs(shape(7, {0, 1, 2}, {{.node = {1}, .bodies = {shape(8, {0})}}}))) << "a nested node less";
  EXPECT_FALSE(pairs(shape(7, {0, 1, 2}, {{.node = {2}, .bodies = {shape(8, {0, 1})}}}))) << "another node holds it";
  EXPECT_FALSE(pairs(shape(7, {0, 1, 2}, {{.node = {1}, .conditional = true, .bodies = {shape(8, {0, 1})}}}))) << "a conditional";
  EXPECT_FALSE(pairs(shape(7, {0, 1, 2}, {{.node = {1}, .bodies_known = false}}))) << "unknown bodies";
}

TEST(PairForUpdate, PlacementOfAnotherGraphDoesNotPair) {
  const GraphShape updated = shape(7, {0, 2, 3}, {{.node = {2}, .bodies = {shape(8, {0, 1})}}});
  EXPECT_FALSE(pair_for_update(drawn_template(), {{{3}, node(99, 0), 2}}, updated));
  EXPECT_FALSE(pair_for_update(drawn_template(), {{{3}, node(2, 0), 3}}, updated)) << "beyond the body's nodes";
}

TEST(PairForUpdate, AGraphMetTwiceIsNotAShape) {
  const GraphShape twice = shape(1, {0, 1}, {{.node = {0}, .bodies = {shape(2, {0})}}, {.node = {1}, .bodies = {shape(2, {0})}}});
  EXPECT_FALSE(pair_for_update(twice, {}, twice));
}

}  // namespace
}  // namespace graphtag
