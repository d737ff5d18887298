#include "inject/bounded_set.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace graphtag::inject {
namespace {

TEST(BoundedSet, HasWhatWasAddedAndNoMoreThanItsLimit) {
  BoundedSet<100> set;
  for (std::uint64_t i = 0; i < 100; ++i) EXPECT_TRUE(set.has_or_adds(i));
  EXPECT_EQ(set.size(), 100u);
  for (std::uint64_t i = 0; i < 100; ++i) EXPECT_TRUE(set.has_or_adds(i)) << "again";
  for (std::uint64_t i = 100; i < 1000; ++i) EXPECT_FALSE(set.has_or_adds(i));
  EXPECT_EQ(set.size(), 100u);
}

TEST(BoundedSet, CountsEachNumberOnceFromManyThreads) {
  BoundedSet<10'000> set;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (std::uint64_t i = 0; i < 10'000; ++i) EXPECT_TRUE(set.has_or_adds(i << 32));
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(set.size(), 10'000u);
}

TEST(BoundedIndex, FindsWhatWasAddedAmongThoseOfTheSameHash) {
  BoundedIndex<std::string, 4> index;
  const auto find = [&](const std::string& text) {
    return index.find(7, [&](const std::string& other) { return other == text; });
  };
  EXPECT_EQ(find("a"), nullptr);
  const std::string* a = index.add(7, std::make_unique<std::string>("a"));
  index.add(7, std::make_unique<std::string>("b"));
  EXPECT_EQ(find("a"), a);
  EXPECT_EQ(*find("b"), "b");
  EXPECT_EQ(find("c"), nullptr);
  EXPECT_NE(index.add(8, std::make_unique<std::string>("c")), nullptr);
  EXPECT_NE(index.add(9, std::make_unique<std::string>("d")), nullptr);
  EXPECT_EQ(index.add(10, std::make_unique<std::string>("e")), nullptr) << "there is no room";
  EXPECT_EQ(index.size(), 4u);
}

}  // namespace
}  // namespace graphtag::inject
