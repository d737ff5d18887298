#include "base/external_sort.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>
#include <algorithm>
#include <tuple>

namespace graphtag {
namespace {

using Record = std::pair<SortKey, std::string>;

std::vector<Record> sorted_by(const ExternalSortOptions& options, const std::vector<Record>& records,
                              std::uint64_t* spooled = nullptr) {
  ExternalSort sort{options};
  for (const auto& [key, bytes] : records) EXPECT_TRUE(sort.add(key, bytes).ok());
  std::vector<Record> out;
  const auto result = sort.for_each([&out](const SortKey& key, std::string_view bytes) -> Result<void> {
    out.emplace_back(key, bytes);
    return {};
  });
  EXPECT_TRUE(result.ok());
  if (spooled != nullptr) *spooled = sort.spooled_bytes();
  return out;
}

TEST(ExternalSort, StaysInMemoryWhileItFits) {
  std::uint64_t spooled = 1;
  const auto out = sorted_by({}, {{{2, 0, 0}, "b"}, {{1, 5, 0}, "a"}, {{2, 0, 0}, ""}}, &spooled);
  EXPECT_EQ(out, (std::vector<Record>{{{1, 5, 0}, "a"}, {{2, 0, 0}, "b"}, {{2, 0, 0}, ""}}));
  EXPECT_EQ(spooled, 0u);
}

TEST(ExternalSort, StopsAtTheFirstErrorOfTheVisitor) {
  ExternalSort sort;
  ASSERT_TRUE(sort.add({1, 0, 0}, "x").ok());
  ASSERT_TRUE(sort.add({2, 0, 0}, "y").ok());
  int visits = 0;
  const auto result = sort.for_each([&visits](const SortKey&, std::string_view) -> Result<void> {
    ++visits;
    return Error{ErrorCode::io, "disk full", {}, {}};
  });
  EXPECT_FALSE(result.ok());
  EXPECT_EQ(visits, 1);
}

// The twin is std::stable_sort; runs of a few records, merges of two and more, and records beside the runs.
RC_GTEST_PROP(ExternalSort, EqualsAStableSort, ()) {
  ExternalSortOptions options;
  options.run_bytes = *rc::gen::inRange<std::size_t>(1, 600);
  options.merge_bytes = *rc::gen::inRange<std::size_t>(1, 600);
  options.merge_runs = *rc::gen::inRange<std::size_t>(2, 5);
  options.large_record_bytes = *rc::gen::inRange<std::size_t>(0, 12);
  const auto count = *rc::gen::inRange<std::size_t>(0, 120);
  std::vector<Record> records;
  for (std::size_t i = 0; i < count; ++i) {
    const auto small = rc::gen::inRange<std::uint64_t>(0, 3);
    const SortKey key{*small, *small, *small};
    records.emplace_back(key, std::to_string(i) + std::string(*rc::gen::inRange<std::size_t>(0, 20), 'x'));
  }
  auto expected = records;
  std::stable_sort(expected.begin(), expected.end(), [](const Record& a, const Record& b) { return a.first < b.first; });
  RC_ASSERT(sorted_by(options, records) == expected);
}

}  // namespace
}  // namespace graphtag
