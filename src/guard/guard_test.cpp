// The guard before a false CUPTI. This program is linked with it, and with no CUPTI: a library that is loaded for itself alone is.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <thread>
#include <vector>

#include "tests/fake/vendor/process_fake.h"

extern "C" {
void graphtag_guard_watch(void (*make_way)());
std::int32_t cuptiSubscribe(void** subscriber, void* callback, void* user);
}

namespace graphtag {
namespace {

constexpr int kNotInitialized = 15, kMultipleSubscribers = 39;

std::atomic<int> ways_made{0};

// As a recording does: gives the subscription back, if it has it.
void make_way() {
  ++ways_made;
  fake::process_fake().release_subscription();
}

class Library {
 public:
  explicit Library(const char* path, int mode = RTLD_LOCAL) : handle_(dlopen(path, RTLD_NOW | mode)) {
    EXPECT_NE(handle_, nullptr) << dlerror();
  }
  ~Library() { dlclose(handle_); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  template <typename... Arguments>
  int call(const char* name, Arguments... arguments) {
    const auto function = reinterpret_cast<int (*)(Arguments...)>(dlsym(handle_, name));
    EXPECT_NE(function, nullptr) << name;
    return function == nullptr ? -1 : function(arguments...);
  }

 private:
  void* handle_;
};

class Guard : public ::testing::Test {
 protected:
  Guard() { ways_made = 0; }
  ~Guard() override {
    graphtag_guard_watch(nullptr);
    if (subscription_ != nullptr) cupti_.call("cuptiUnsubscribe", subscription_);
    fake::process_fake().release_subscription();
  }
  int subscribe(const char* how = "profiler_subscribe") { return plugin_.call(how, &subscription_); }

  // As CUPTI does, the false one keeps memory that it would lose if it were unloaded.
  Library plugin_{GRAPHTAG_FAKE_DIR "/libprofiler_plugin.so", RTLD_NODELETE};
  Library cupti_{GRAPHTAG_FAKE_DIR "/libcupti.so.13", RTLD_NOLOAD | RTLD_NODELETE};
  void* subscription_ = nullptr;
};

TEST_F(Guard, LetsThroughWhereNobodyRecords) {
  EXPECT_EQ(subscribe(), 0);
  void* second = nullptr;
  EXPECT_EQ(plugin_.call("profiler_subscribe", &second), kMultipleSubscribers);
  EXPECT_EQ(plugin_.call("profiler_record"), 0);
}

TEST_F(Guard, MakesWayBeforeTheSubscription) {
  for (const char* how : {"profiler_subscribe", "profiler_subscribe_v2", "profiler_subscribe_by_jump"}) {
    ASSERT_TRUE(fake::process_fake().take_subscription());
    EXPECT_EQ(subscribe(how), kMultipleSubscribers) << how;
    graphtag_guard_watch(&make_way);
    ways_made = 0;
    EXPECT_EQ(subscribe(how), 0) << how;
    EXPECT_EQ(ways_made, 1) << how << ": CUPTI's calls of its own are not the program's";
    graphtag_guard_watch(nullptr);
    EXPECT_EQ(cupti_.call("cuptiUnsubscribe", subscription_), 0) << how;
  }
  subscription_ = nullptr;
}

TEST_F(Guard, MakesWayBeforeTheRecords) {
  graphtag_guard_watch(&make_way);
  EXPECT_EQ(plugin_.call("profiler_record"), 0);
  EXPECT_EQ(ways_made, 1);
}

TEST_F(Guard, ManyThreadsAtOnce) {
  ASSERT_TRUE(fake::process_fake().take_subscription());
  graphtag_guard_watch(&make_way);
  std::atomic<int> succeeded{0}, refused{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      void* subscription = nullptr;
      const int answer = plugin_.call("profiler_subscribe", &subscription);
      succeeded += answer == 0 ? 1 : 0;
      refused += answer == kMultipleSubscribers ? 1 : 0;
      if (answer == 0) subscription_ = subscription;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(succeeded, 1);
  EXPECT_EQ(refused, 7);
}

// The version of the name would have decided so.
TEST_F(Guard, OfTwoCopiesTheCallersOwnIsTaken) {
  const Library global{GRAPHTAG_FAKE_DIR "/libcupti.so.fake", RTLD_GLOBAL};
  ASSERT_EQ(subscribe(), 0);
  EXPECT_EQ(cupti_.call("cuptiUnsubscribe", subscription_), 0) << "it is none of that copy's";
  subscription_ = nullptr;
}

TEST_F(Guard, AnotherLibraryBeforeCuptiIsNotPassedBy) {
  const Library other{GRAPHTAG_FAKE_DIR "/libother_guard.so", RTLD_GLOBAL};
  EXPECT_EQ(subscribe(), 77);
}

TEST(GuardDeathTest, WithoutCuptiItIsAnError) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // in a process that has not loaded it
  graphtag_guard_watch(&make_way);
  void* subscription = nullptr;
  EXPECT_EXIT(std::exit(cuptiSubscribe(&subscription, nullptr, nullptr) == kNotInitialized && ways_made == 0 ? 3 : 4),
              ::testing::ExitedWithCode(3), "");
}

}  // namespace
}  // namespace graphtag
