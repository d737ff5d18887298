#include "driver/instantiation_turns.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace graphtag {
namespace {

TEST(InstantiationTurns, OneThreadAtATimeIsInside) {
  InstantiationTurns turns;
  turns.open();
  std::atomic<int> inside{0}, most{0}, calls{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        turns.enter();
        const int now = ++inside;
        if (now > most) most = now;
        turns.enter();  // the driver's own call of a second entry point
        turns.leave();
        ++calls;
        --inside;
        turns.leave();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(most, 1);
  EXPECT_EQ(calls, 2000);
}

TEST(InstantiationTurns, WhoWaitsWhenTheyCloseGoesOn) {
  InstantiationTurns turns;
  turns.open();
  turns.enter();
  std::atomic<bool> through{false};
  std::thread waiting([&] {
    turns.enter();
    through = true;
    turns.leave();
  });
  turns.close();
  waiting.join();
  EXPECT_TRUE(through);
  turns.enter();  // nobody waits any more, also after an end that was never told
  turns.leave();
}

TEST(InstantiationTurns, AnEndWithoutABeginningFreesNothing) {
  InstantiationTurns turns;
  turns.open();
  turns.enter();
  std::thread([&] { turns.leave(); }).join();
  std::atomic<bool> through{false};
  std::thread second([&] {
    turns.enter();
    through = true;
    turns.leave();
  });
  std::this_thread::yield();
  EXPECT_FALSE(through);
  turns.leave();
  second.join();
  EXPECT_TRUE(through);
}

// A thread that was inside when they closed is no holder of the next ones, and its end frees nobody else's turn.
TEST(InstantiationTurns, ALaterPeriodKnowsNothingOfAnEarlierOne) {
  InstantiationTurns turns;
  turns.open();
  turns.enter();
  turns.close();
  turns.open();
  std::atomic<bool> inside{false}, go_on{false}, through{false};
  std::thread second([&] {
    turns.enter();
    inside = true;
    while (!go_on) std::this_thread::yield();
    turns.leave();
  });
  while (!inside) std::this_thread::yield();
  turns.leave();  // of the call that began in the earlier period
  std::thread third([&] {
    turns.enter();
    through = true;
    turns.leave();
  });
  std::this_thread::yield();
  EXPECT_FALSE(through);
  go_on = true;
  second.join();
  third.join();
  EXPECT_TRUE(through);
}

TEST(InstantiationTurns, NobodyWaitsWhileTheyAreNotOpen) {
  InstantiationTurns turns;
  turns.enter();
  std::thread([&] {
    turns.enter();
    turns.leave();
  }).join();
  turns.leave();
}

}  // namespace
}  // namespace graphtag
