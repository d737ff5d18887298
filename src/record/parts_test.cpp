// The parts of a recording alone: buffers, ranges on their way, the clock.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <thread>

#include "record/buffer_pool.h"
#include "record/external_names.h"
#include "record/range_queue.h"
#include "record/record_clock.h"

namespace graphtag {
namespace {

TEST(BufferPool, EachBufferIsWithOneOwnerAtATime) {
  Wake wake;
  BufferPool pool(wake);
  ASSERT_TRUE(pool.reserve(3, 4096));
  std::set<std::uint8_t*> given;
  std::size_t bytes = 0;
  for (int i = 0; i < 3; ++i) {
    given.insert(pool.give(bytes));
    EXPECT_EQ(bytes, 4096u);
  }
  EXPECT_EQ(given.size(), 3u);
  EXPECT_EQ(given.count(nullptr), 0u);
  EXPECT_EQ(pool.give(bytes), nullptr);
  EXPECT_EQ(bytes, 0u);
  EXPECT_EQ(pool.refused(), 1u);
  EXPECT_TRUE(pool.was_starved());
  EXPECT_FALSE(pool.was_starved());
  std::vector<BufferPool::Full> full;
  pool.take(*given.begin(), 100);
  pool.take(*given.begin(), 999);  // twice
  std::uint8_t foreign[8];
  pool.take(foreign, 8);
  pool.take_full(full);
  ASSERT_EQ(full.size(), 1u);
  EXPECT_EQ(full[0].bytes, *given.begin());
  EXPECT_EQ(full[0].valid_bytes, 100u);
  EXPECT_EQ(pool.given(), 2u);
  EXPECT_EQ(pool.give(bytes), nullptr) << "the writer has it";
  pool.release(full[0]);
  EXPECT_EQ(pool.give(bytes), *given.begin());
  for (std::uint8_t* buffer : given) pool.take(buffer, 1 << 20);
  pool.take_full(full);
  ASSERT_EQ(full.size(), 3u);
  EXPECT_EQ(full[2].valid_bytes, 4096u) << "no more than there is";
  EXPECT_LT(full[0].order, full[1].order);
}

TEST(BufferPool, ManyThreadsAtOnce) {
  Wake wake;
  BufferPool pool(wake);
  ASSERT_TRUE(pool.reserve(8, 4096));
  std::atomic<std::uint64_t> taken{0};
  std::atomic<int> running{4};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5000; ++i) {
        std::size_t bytes = 0;
        std::uint8_t* buffer = pool.give(bytes);
        if (buffer == nullptr) continue;
        buffer[0] = static_cast<std::uint8_t>(i);  // a race, if two had it
        ++taken;
        pool.take(buffer, 1);
      }
      --running;
    });
  }
  std::uint64_t read = 0, sum = 0;
  std::vector<BufferPool::Full> full;
  for (bool last = false; !last;) {
    last = running == 0;
    pool.take_full(full);
    for (const auto& one : full) {
      sum += one.bytes[0];
      ++read;
      pool.release(one);
    }
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(read, taken);
  EXPECT_GT(sum, 0u);
}

TEST(RangeQueue, GivesBackWhatWasPutIn) {
  Wake wake;
  RangeQueue queue(wake);
  queue.reserve();
  const std::string long_text = std::string(RangeQueue::kTextBytes - 1, 'a') + "\xC3\xA4" + "b";
  HostRange range{5, 6, 7, true, true, false, HostRange::Payload::integer, 8, long_text, "domain", ""};
  queue.push(range);
  std::vector<std::string> texts;
  queue.drain([&](const HostRange& out) {
    EXPECT_EQ(out.start_ns, 5);
    EXPECT_EQ(out.end_ns, 6);
    EXPECT_EQ(out.thread, 7);
    EXPECT_TRUE(out.mark && out.overlaps && !out.unfinished);
    EXPECT_EQ(out.payload_type, HostRange::Payload::integer);
    EXPECT_EQ(out.payload_bits, 8u);
    EXPECT_EQ(out.domain, "domain");
    EXPECT_EQ(out.category, "");
    texts.emplace_back(out.text);
  });
  EXPECT_THAT(texts, ::testing::ElementsAre(std::string(RangeQueue::kTextBytes - 1, 'a'))) << "no half a character";
  queue.drain([](const HostRange&) { FAIL(); });
}

TEST(RangeQueue, WhatDoesNotFitIsCounted) {
  Wake wake;
  RangeQueue queue(wake);
  queue.reserve();
  HostRange range;
  const std::string text(4000, 'x');
  range.text = text;
  constexpr int kPushed = 1000;  // 4 MB into 2
  for (int i = 0; i < kPushed; ++i) {
    range.thread = i;
    queue.push(range);
  }
  std::uint64_t kept = 0;
  queue.drain([&](const HostRange&) { ++kept; });
  EXPECT_GT(kept, 400u);
  EXPECT_EQ(kept + queue.dropped(), std::uint64_t{kPushed});
  EXPECT_GT(queue.dropped(), 0u);
}

TEST(RecordClock, PlacesTimesOnUnixTime) {
  RecordClock clock;
  clock.begin({1'700'000'000'000'000'000, 5'000'000'000});
  clock.advance(6'000'000'000);
  const auto good = clock.place(5'500'000'000, 5'600'000'000);
  EXPECT_FALSE(good.bad);
  EXPECT_EQ(good.start_ns, 1'700'000'000'500'000'000u);
  EXPECT_EQ(good.end_ns, 1'700'000'000'600'000'000u);
  EXPECT_FALSE(clock.place(4'999'999'000, 5'000'000'000).bad) << "clocks of GPUs are off by microseconds";
  const auto no_end = clock.place(5'500'000'000, 0);
  EXPECT_TRUE(no_end.bad);
  EXPECT_EQ(no_end.start_ns, 1'700'000'000'500'000'000u);
  const auto no_start = clock.place(0, 5'500'000'000);
  EXPECT_TRUE(no_start.bad);
  EXPECT_EQ(no_start.start_ns, 1'700'000'001'000'000'000u);
  EXPECT_EQ(no_start.start_ns, no_start.end_ns);
}

TEST(ExternalNames, OnlyTheLastCallsAreKept) {
  ExternalNames names;
  names.add(5, AnnotationId{1});
  EXPECT_EQ(names.of(5), AnnotationId{1});
  EXPECT_EQ(names.of(6), AnnotationId::none);
  EXPECT_EQ(names.of(5 + ExternalNames::kCalls), AnnotationId::none);
  names.add(5 + ExternalNames::kCalls, AnnotationId{2});
  EXPECT_EQ(names.of(5), AnnotationId::none);
  EXPECT_EQ(names.of(0), AnnotationId::none);
}

}  // namespace
}  // namespace graphtag
