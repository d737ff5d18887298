// gt_make_way, and what recordings leave on the program's threads: CUPTI is as another profiler needs it.
#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>
#include <vector>

#include "tests/capi/record_fixture.h"

namespace graphtag::capi {
namespace {

class MakeWayTest : public RecordTest {};

// What was recorded until then is in the file, and CUPTI free, when it returns; the one who began the recording still ends it.
TEST_F(MakeWayTest, MakesWayForAnotherProfiler) {
  EXPECT_EQ(gt_make_way(), GT_OK) << "nothing to do";
  const gt_window window = open_window(GT_OBSERVER_CALLBACKS);
  gt_record_options wanted = options();
  wanted.flags = GT_RECORD_ANNOTATIONS;
  const gt_recording recording = begin(wanted);
  ASSERT_EQ(gt_scope_begin_name("scope", GT_NUL), GT_OK);
  launch(1);
  ASSERT_EQ(gt_make_way(), GT_OK);
  EXPECT_EQ(gt_recording_active(), 0);
  ASSERT_TRUE(cuda().take_subscription()) << "no window holds it either";
  EXPECT_FALSE(cuda().activity().is_on());
  EXPECT_EQ(kernels(decoded()).size(), 1u);
  EXPECT_EQ(decoded().events.back().args["state"], "other-profiler");
  EXPECT_EQ(gt_make_way(), GT_OK);

  gt_record_stats stats{};
  stats.size = sizeof stats;
  EXPECT_EQ(gt_record_stats_get(recording, &stats), GT_OK);
  EXPECT_EQ(stats.state, static_cast<gt_record_state>(GT_RECORD_OTHER_PROFILER));
  EXPECT_EQ(gt_record_flush(recording, 0), GT_OK);
  gt_recording second{0};
  EXPECT_EQ(gt_record_begin(&wanted, &second), GT_ERROR_BUSY);
  stats = end(recording);
  EXPECT_EQ(stats.state, static_cast<gt_record_state>(GT_RECORD_OTHER_PROFILER));
  EXPECT_EQ(stats.kernels, 1u);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "app.annotations.json"));
  EXPECT_EQ(gt_record_end(recording, nullptr), GT_ERROR_INVALID_HANDLE);
  EXPECT_EQ(gt_scope_end(), GT_OK) << "the window goes on";
  EXPECT_EQ(gt_window_close(window), GT_OK);
  ASSERT_TRUE(cuda().release_subscription());
  end(begin());
}

// An id that was pushed for our recording would be in each record of the other profiler's.
TEST_F(MakeWayTest, LeavesNoIdOnTheThreadThatMakesWay) {
  const gt_recording recording = begin();
  ASSERT_EQ(gt_scope_begin_name("scope", GT_NUL), GT_OK);
  ASSERT_EQ(gt_make_way(), GT_OK);
  EXPECT_FALSE(cuda().activity().pop_external_id(5).ok()) << "CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2";
  end(recording);
}

// Nor where the recording has ended on another thread meanwhile: the next call of this one that ends a scope, or makes way, pops it.
TEST_F(MakeWayTest, LeavesNoIdOnAThreadWhoseScopesOutliveIt) {
  const auto has_id = [this] { return cuda().activity().pop_external_id(5).ok(); };
  const auto end_elsewhere = [](gt_recording recording) { std::thread([&] { end(recording); }).join(); };
  gt_annotation annotation{};
  ASSERT_EQ(gt_annotation_from_name("scope", GT_NUL, &annotation), GT_OK);
  gt_scope scope{};

  gt_recording recording = begin();
  ASSERT_EQ(gt_scope_open(annotation, &scope), GT_OK);
  end_elsewhere(recording);
  EXPECT_EQ(gt_scope_close(scope), GT_OK) << "its window is gone";
  EXPECT_FALSE(has_id());

  const gt_window window = open_window(GT_OBSERVER_CALLBACKS);
  recording = begin();
  ASSERT_EQ(gt_scope_begin(annotation), GT_OK);
  end_elsewhere(recording);
  EXPECT_EQ(gt_scope_begin(annotation), GT_OK);
  EXPECT_FALSE(has_id());
  EXPECT_EQ(gt_scope_end(), GT_OK);
  EXPECT_EQ(gt_scope_end(), GT_OK);
  EXPECT_EQ(gt_window_close(window), GT_OK);

  recording = begin();
  ASSERT_EQ(gt_scope_open(annotation, &scope), GT_OK);
  end_elsewhere(recording);
  ASSERT_EQ(gt_make_way(), GT_OK);
  EXPECT_FALSE(has_id());

  recording = begin();
  ASSERT_EQ(gt_scope_open(annotation, &scope), GT_OK);
  end(recording);
  EXPECT_FALSE(has_id()) << "on the thread that ends it";
}

// Whoever makes way in the middle of it waits: no recording goes on without the subscription.
TEST_F(MakeWayTest, MakesWayWhileItBegins) {
  std::thread other;
  cuda().activity().in_next_start([&] {
    other = std::thread([] { EXPECT_EQ(gt_make_way(), GT_OK); });
    std::this_thread::sleep_for(std::chrono::milliseconds(100));  // enough for one that does not wait
  });
  const gt_recording recording = begin();
  other.join();
  EXPECT_FALSE(cuda().has_subscriber());
  EXPECT_EQ(gt_recording_active(), 0);
  EXPECT_EQ(end(recording).state, static_cast<gt_record_state>(GT_RECORD_OTHER_PROFILER));
}

TEST_F(MakeWayTest, ManyThreadsMakeWayWhileItBegins) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      while (!stop) EXPECT_EQ(gt_make_way(), GT_OK);
    });
  }
  gt_record_options wanted = options();
  wanted.buffer_count = 2;
  wanted.buffer_bytes = 4096;
  gt_range range{};
  range.size = sizeof range;
  for (int i = 0; i < 400 && !HasFailure(); ++i) {
    end(begin(wanted));
    EXPECT_EQ(gt_recording_active(), 0) << "round " << i;
    EXPECT_EQ(gt_record_range(&range), GT_OK) << "and nobody takes it";
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

TEST_F(MakeWayTest, ManyThreadsMakeWayWhileItEnds) {
  for (int i = 0; i < 20; ++i) {
    const gt_recording recording = begin();
    launch(1);
    std::atomic<int> free{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        EXPECT_EQ(gt_make_way(), GT_OK);
        free += cuda().has_subscriber() ? 0 : 1;
      });
    }
    EXPECT_EQ(end(recording).kernels, 1u);
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(free, 4) << "each returns only when it is";
  }
}

}  // namespace
}  // namespace graphtag::capi
