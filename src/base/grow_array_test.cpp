#include "base/grow_array.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace graphtag {
namespace {

TEST(GrowArray, HoldsWhatAVectorHolds) {
  GrowArray<std::uint32_t> array;
  std::vector<std::uint32_t> twin;
  EXPECT_TRUE(array.empty());
  for (std::uint32_t i = 0; i < 1'000'000; ++i) {
    array.push_back(i * 7);
    twin.push_back(i * 7);
  }
  EXPECT_EQ(std::vector<std::uint32_t>(array.begin(), array.end()), twin);
  array.resize_down(3);
  EXPECT_EQ(array.size(), 3u);
  EXPECT_EQ(array.back(), 14u);
}

TEST(GrowArray, ElementsThatCrossAPageStayWhole) {
  struct Odd {
    std::uint8_t bytes[48];
  };
  GrowArray<Odd> array;
  for (int i = 0; i < 100'000; ++i) {
    Odd odd{};
    odd.bytes[47] = static_cast<std::uint8_t>(i);
    array.push_back(odd);
  }
  for (int i = 0; i < 100'000; ++i) ASSERT_EQ(array[static_cast<std::size_t>(i)].bytes[47], static_cast<std::uint8_t>(i));
}

TEST(GrowArray, MovesTakeTheContent) {
  GrowArray<int> one;
  one.push_back(5);
  GrowArray<int> two = std::move(one);
  EXPECT_EQ(two.size(), 1u);
  EXPECT_EQ(two[0], 5);
}

}  // namespace
}  // namespace graphtag
