#include "registry/run_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <tuple>

namespace graphtag {
namespace {

using testing::ElementsAre;

constexpr Tag tag(std::uint32_t annotation) {
  return {AnnotationId{annotation}, Origin::callback};
}
constexpr Tag kA = tag(1), kB = tag(2);
constexpr Tag kGap{Origin::outside_scope};

void set(RunList& runs, std::uint32_t first, std::uint32_t end, Tag value) {
  runs.reserve_edit();
  runs.set(first, end, value, kGap);
}

std::vector<RunList::Entry> entries(const RunList& runs) {
  return {runs.entries().begin(), runs.entries().end()};
}

TEST(Tag, HoldsBothParts) {
  const Tag both{AnnotationId{0x0abcdef}, Origin::boundary_approximate};
  EXPECT_EQ(both.annotation(), AnnotationId{0x0abcdef});
  EXPECT_EQ(both.origin(), Origin::boundary_approximate);
  EXPECT_TRUE(Tag{Origin::no_node_id}.is_none());
  EXPECT_EQ(Tag{Origin::no_node_id}.origin(), Origin::no_node_id);
}

TEST(Tag, TheWeakestStepIsTold) {
  EXPECT_EQ(weaker(Origin::callback, Origin::boundary), Origin::boundary);
  EXPECT_EQ(weaker(Origin::boundary, Origin::updated), Origin::updated);
  EXPECT_EQ(weaker(Origin::boundary_approximate, Origin::updated), Origin::boundary_approximate);
  EXPECT_EQ(weaker(Origin::updated, Origin::modelled), Origin::modelled);
  EXPECT_EQ(qualified(kA, Origin::modelled), (Tag{AnnotationId{1}, Origin::modelled}));
  EXPECT_EQ(qualified(kGap, Origin::updated), kGap);
  EXPECT_EQ(qualified(kGap, Origin::modelled), Tag{Origin::outside_scope_approximate});
  EXPECT_EQ(qualified(kGap, Origin::boundary_approximate), Tag{Origin::outside_scope_approximate});
  EXPECT_EQ(qualified(Tag{Origin::captured_before_start}, Origin::modelled), Tag{Origin::captured_before_start});
}

// The drawing in the header.
TEST(RunList, AppendsLeavesGapsAndSplits) {
  RunList runs;
  set(runs, 0, 4, kA);
  set(runs, 6, 8, kB);
  EXPECT_THAT(entries(runs), ElementsAre(RunList::Entry{0, kA}, RunList::Entry{4, kGap}, RunList::Entry{6, kB}));
  set(runs, 7, 8, kA);
  EXPECT_THAT(entries(runs),
              ElementsAre(RunList::Entry{0, kA}, RunList::Entry{4, kGap}, RunList::Entry{6, kB}, RunList::Entry{7, kA}));
  set(runs, 4, 6, kB);
  EXPECT_THAT(entries(runs), ElementsAre(RunList::Entry{0, kA}, RunList::Entry{4, kB}, RunList::Entry{7, kA}));
  EXPECT_EQ(runs.end(), 8u);
}

RC_GTEST_PROP(RunListProperty, IsAnArrayOfTags,
              (const std::vector<std::tuple<std::uint8_t, std::uint8_t, std::uint8_t>>& edits)) {
  RunList runs;
  std::vector<Tag> plain;
  for (const auto& [at, length, value] : edits) {
    const std::uint32_t first = at % 40;
    const std::uint32_t end = first + 1 + length % 12;
    const Tag wanted = tag(value % 3);
    set(runs, first, end, wanted);
    if (plain.size() < first) plain.resize(first, kGap);
    if (plain.size() < end) plain.resize(end, wanted);
    std::fill(plain.begin() + first, plain.begin() + end, wanted);
  }
  RC_ASSERT(runs.end() == plain.size());
  for (std::uint32_t id = 0; id < plain.size(); ++id) RC_ASSERT(runs.at(id) == plain[id]);
  for (std::size_t i = 1; i < runs.entries().size(); ++i) RC_ASSERT(runs.entries()[i - 1].tag != runs.entries()[i].tag);

  const std::uint32_t from = *rc::gen::inRange(0, 50);
  const std::uint32_t to = *rc::gen::inRange(0, 60);
  std::uint32_t next = from;
  runs.for_each_in(from, to, [&](std::uint32_t first, std::uint32_t end, Tag value) {
    RC_ASSERT(first == next);
    RC_ASSERT(first < end);
    for (std::uint32_t id = first; id < end; ++id) RC_ASSERT(plain[id] == value);
    next = end;
  });
  RC_ASSERT(next == std::max<std::uint32_t>(from, std::min<std::uint32_t>(to, runs.end())));
}

}  // namespace
}  // namespace graphtag
