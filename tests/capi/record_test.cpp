// gt_record: a recording through the C ABI, over the false CUPTI with its own layouts.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/capi/record_fixture.h"
#include "tests/support/no_new_thread.h"

namespace graphtag::capi {
namespace {

using nlohmann::json;

using DriverCall = bool (*)(std::uint32_t callback_id, std::int32_t site);

// cuGraphInstantiateWithParams, which CUPTI cannot trace on two threads at once.
TEST_F(RecordTest, InstantiatesOnOneThreadAtATime) {
  constexpr std::uint32_t kCall = 656;
  void* library = dlopen(GRAPHTAG_FAKE_DIR "/libcupti.so.13", RTLD_NOW | RTLD_NOLOAD);
  ASSERT_NE(library, nullptr);
  const auto call = reinterpret_cast<DriverCall>(dlsym(library, "gtfake_driver_call"));
  ASSERT_NE(call, nullptr);
  const gt_window window = open_window(GT_OBSERVER_CALLBACKS);
  const gt_recording recording = begin();
  std::atomic<int> inside{0}, most{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        EXPECT_TRUE(call(kCall, 0));
        const int now = ++inside;
        if (now > most) most = now;
        --inside;
        EXPECT_TRUE(call(kCall, 1));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(most, 1);

  // One that is inside when the recording ends keeps nobody waiting, now or in the next one.
  EXPECT_TRUE(call(kCall, 0));
  end(recording);
  const gt_recording next = begin();
  std::thread([&] {
    EXPECT_TRUE(call(kCall, 0));
    EXPECT_TRUE(call(kCall, 1));
  }).join();
  end(next);
  EXPECT_EQ(gt_window_close(window), GT_OK);
  dlclose(library);
}

TEST_F(RecordTest, GraphsAndWhatIsOutsideOfThemAreNamed) {
  const std::string metadata = R"({"command":["app","--fast"]})";
  gt_record_options wanted = options();
  wanted.flags = GT_RECORD_ANNOTATIONS;
  wanted.metadata = metadata.data();
  wanted.metadata_length = metadata.size();
  const gt_recording recording = begin(wanted);
  EXPECT_NE(gt_active(), 0) << "a recording opens a window";
  EXPECT_NE(gt_recording_active(), 0);

  const StreamHandle stream = cuda().stream_create();
  cuda().begin_capture(stream);
  ASSERT_EQ(gt_scope_begin_name("attention", GT_NUL), GT_OK);
  cuda().launch(stream, NodeType::kernel, 1);
  ASSERT_EQ(gt_scope_end(), GT_OK);
  const ExecHandle exec = cuda().instantiate(cuda().end_capture(stream));
  const auto records = cuda().replay(exec);
  ASSERT_EQ(records.size(), 1u);
  launch(1, records[0].id.value);

  ASSERT_EQ(gt_scope_begin_name("outer", GT_NUL), GT_OK);
  gt_scope scope{0};
  ASSERT_EQ(gt_scope_open(annotation(R"({"name":"warmup","step":3})"), &scope), GT_OK);
  launch(2);
  ASSERT_EQ(gt_scope_end(), GT_OK);
  launch(3);
  ASSERT_EQ(gt_scope_close(scope), GT_OK);
  launch(4);
  std::thread([&] { launch(5); }).join();

  const gt_record_stats stats = end(recording);
  EXPECT_EQ(stats.state, static_cast<gt_record_state>(GT_RECORD_ENDED));
  EXPECT_EQ(stats.kernels, 5u);
  EXPECT_EQ(stats.api_calls, 5u);
  EXPECT_EQ(stats.graph_operations, 1u);
  EXPECT_EQ(stats.graph_named, 1u);
  EXPECT_EQ(stats.other_named, 2u);
  EXPECT_EQ(stats.bytes_written, std::filesystem::file_size(path_));

  const DecodedTrace trace = decoded();
  std::map<int, json> by_correlation;
  for (const DecodedSlice& kernel : kernels(trace)) by_correlation[kernel.begin.args["correlation"]] = kernel.begin.args;
  EXPECT_EQ(by_correlation[1]["name"], "attention");
  EXPECT_EQ(by_correlation[1]["graphtag.origin"], "callback");
  EXPECT_EQ(by_correlation[2]["name"], "warmup");
  EXPECT_EQ(by_correlation[2]["step"], 3);
  EXPECT_EQ(by_correlation[2]["graphtag.path"], json({"outer", "warmup"}));
  EXPECT_EQ(by_correlation[3]["name"], "warmup");
  EXPECT_FALSE(by_correlation[4].contains("name"));
  EXPECT_FALSE(by_correlation[5].contains("name"));
  bool said = false;
  for (const auto& event : trace.events) {
    if (event.name != "graphtag.begin") continue;
    said = true;
    EXPECT_EQ(event.args["metadata"], json::parse(metadata));
    EXPECT_EQ(event.args["pid"], getpid());
    EXPECT_EQ(event.args["cupti"], 130001);
    EXPECT_EQ(event.args["process"], "test_capi");
  }
  EXPECT_TRUE(said);
  const auto file = json::parse(std::ifstream(folder_ / "app.annotations.json"));
  EXPECT_EQ(file["schema"], "graphtag.annotations/1");
  EXPECT_EQ(gt_active(), 0);
  EXPECT_FALSE(cuda().activity().is_on());
  cuda().destroy_exec(exec);
}

// Both files are where the path was when it began, wherever the program goes.
TEST_F(RecordTest, APathIsOfTheFolderInWhichItBegan) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder_);
  const std::string relative = "relative.pftrace";
  gt_record_options wanted = options();
  wanted.flags = GT_RECORD_ANNOTATIONS;
  wanted.path = relative.data();
  wanted.path_length = relative.size();
  const gt_recording recording = begin(wanted);
  std::filesystem::create_directory("elsewhere");
  std::filesystem::current_path("elsewhere");
  end(recording);
  std::filesystem::current_path(before);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "relative.pftrace"));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "relative.annotations.json"));
  EXPECT_TRUE(std::filesystem::is_empty(folder_ / "elsewhere"));
}

TEST_F(RecordTest, ThreadsThatHadAScopeInTheLastRecordingHaveNoneInTheNext) {
  gt_recording recording = begin();
  ASSERT_EQ(gt_scope_begin_name("first", GT_NUL), GT_OK);
  launch(1);
  EXPECT_EQ(end(recording).other_named, 1u);
  recording = begin();
  launch(1);
  EXPECT_EQ(end(recording).other_named, 0u);
}

TEST_F(RecordTest, OneRecordingAProcess) {
  const gt_recording recording = begin();
  gt_recording second{0};
  const gt_record_options wanted = options();
  EXPECT_EQ(gt_record_begin(&wanted, &second), GT_ERROR_BUSY);
  gt_record_stats stats{};
  stats.size = sizeof stats;
  EXPECT_EQ(gt_record_stats_get(recording, &stats), GT_OK);
  EXPECT_EQ(stats.state, static_cast<gt_record_state>(GT_RECORD_RUNNING));
  EXPECT_EQ(gt_record_flush(recording, 20'000), GT_OK);
  end(recording);
  EXPECT_EQ(gt_record_end(recording, nullptr), GT_ERROR_INVALID_HANDLE);
  EXPECT_EQ(gt_record_flush(recording, 0), GT_ERROR_INVALID_HANDLE);
  EXPECT_EQ(gt_record_stats_get(recording, &stats), GT_ERROR_INVALID_HANDLE);
  end(begin());
}

TEST_F(RecordTest, AnotherToolsSubscriptionIsLeftToIt) {
  ASSERT_TRUE(cuda().take_subscription());
  gt_recording recording{0};
  const gt_record_options wanted = options();
  EXPECT_EQ(gt_record_begin(&wanted, &recording), GT_ERROR_BUSY);
  EXPECT_FALSE(std::filesystem::exists(path_));
  ASSERT_TRUE(cuda().release_subscription());
  end(begin());
}

TEST_F(RecordTest, WhereNoThreadCanBeMadeNothingIsLeftOpen) {
  {
    const graphtag::testing::NoNewThread limit;
    gt_recording recording{0};
    const gt_record_options wanted = options();
    EXPECT_EQ(gt_record_begin(&wanted, &recording), GT_ERROR_OUT_OF_MEMORY);
    EXPECT_NE(std::string(gt_last_error()).find("another thread"), std::string::npos) << gt_last_error();
  }
  EXPECT_EQ(gt_active(), 0) << "the window is closed";
  EXPECT_FALSE(cuda().activity().is_on());
  end(begin());
}

TEST_F(RecordTest, AnExistingWindowGoesOn) {
  const gt_window window = open_window(GT_OBSERVER_CALLBACKS);
  end(begin());
  EXPECT_NE(gt_active(), 0);
  EXPECT_EQ(gt_window_close(window), GT_OK);
}

TEST_F(RecordTest, MisuseIsAStatus) {
  gt_recording recording{0};
  gt_record_options wanted = options();
  EXPECT_EQ(gt_record_begin(nullptr, &recording), GT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(gt_record_begin(&wanted, nullptr), GT_ERROR_INVALID_ARGUMENT);
  const auto refused = [&](auto change, gt_status status) {
    gt_record_options wrong = options();
    change(wrong);
    EXPECT_EQ(gt_record_begin(&wrong, &recording), status) << gt_last_error();
  };
  refused([](gt_record_options& o) { o.size = 8; }, GT_ERROR_INVALID_SIZE);
  refused([](gt_record_options& o) { o.flags = 64; }, GT_ERROR_INVALID_ARGUMENT);
  refused([](gt_record_options& o) { o.buffer_count = 1; }, GT_ERROR_INVALID_ARGUMENT);
  refused([](gt_record_options& o) { o.buffer_count = 5000; }, GT_ERROR_INVALID_ARGUMENT);
  refused([](gt_record_options& o) { o.buffer_bytes = 4097; }, GT_ERROR_INVALID_ARGUMENT);
  refused([](gt_record_options& o) { o.buffer_bytes = 1U << 30; }, GT_ERROR_INVALID_ARGUMENT);
  refused([](gt_record_options& o) { o.flush_ms = 1; }, GT_ERROR_INVALID_ARGUMENT);
  refused([](gt_record_options& o) { o.max_bytes = 1; }, GT_ERROR_INVALID_ARGUMENT);
  refused([](gt_record_options& o) { o.path = nullptr; }, GT_ERROR_INVALID_ARGUMENT);
  refused([](gt_record_options& o) { o.path_length = 0; }, GT_ERROR_INVALID_ARGUMENT);
  refused([](gt_record_options& o) { o.metadata = "[1]", o.metadata_length = 3; }, GT_ERROR_MALFORMED);
  refused([](gt_record_options& o) { o.metadata = "{", o.metadata_length = 1; }, GT_ERROR_MALFORMED);
  refused([](gt_record_options& o) { o.metadata_length = 1; }, GT_ERROR_INVALID_ARGUMENT);
  refused([](gt_record_options& o) { o.path = "/no/such/folder/x", o.path_length = GT_NUL; }, GT_ERROR_IO);
  EXPECT_EQ(gt_active(), 0);

  gt_range range{};
  EXPECT_EQ(gt_record_range(nullptr), GT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(gt_record_range(&range), GT_ERROR_INVALID_SIZE);
  range.size = sizeof range;
  EXPECT_EQ(gt_record_range(&range), GT_OK) << "nothing is recorded";
  range.start_ns = 5;
  EXPECT_EQ(gt_record_range(&range), GT_ERROR_INVALID_ARGUMENT) << "ends before it starts";
  range.flags = GT_RANGE_MARK;
  EXPECT_EQ(gt_record_range(&range), GT_OK);
  range.flags = 128;
  EXPECT_EQ(gt_record_range(&range), GT_ERROR_INVALID_ARGUMENT);
  range.flags = 0;
  range.payload_type = 17;
  EXPECT_EQ(gt_record_range(&range), GT_ERROR_INVALID_ARGUMENT);
  gt_record_stats stats{};
  EXPECT_EQ(gt_record_stats_get(recording, &stats), GT_ERROR_INVALID_SIZE);
  EXPECT_EQ(gt_record_stats_get(recording, nullptr), GT_ERROR_INVALID_ARGUMENT);
}

TEST_F(RecordTest, RangesOfTheCallingThread) {
  const gt_recording recording = begin();
  gt_range range{};
  range.size = sizeof range;
  range.start_ns = gt_record_now();
  range.end_ns = gt_record_now();
  range.text = "step";
  range.text_length = GT_NUL;
  range.payload_type = GT_PAYLOAD_INT64;
  range.payload.as_int64 = -3;
  EXPECT_EQ(gt_record_range(&range), GT_OK);
  EXPECT_EQ(end(recording).ranges, 1u);
  const DecodedTrace trace = decoded();
  ASSERT_EQ(trace.slices().size(), 1u);
  EXPECT_EQ(trace.slices()[0].begin.name, "step");
  EXPECT_EQ(trace.slices()[0].begin.args["payload"], -3);
  EXPECT_EQ(trace.tracks.at(trace.slices()[0].track).tid, gettid());
}

TEST_F(RecordTest, ItEndsWithTheProcess) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    gt_record_options wanted = options();
    wanted.flags = GT_RECORD_ANNOTATIONS;
    gt_recording recording{0};
    if (gt_record_begin(&wanted, &recording) != GT_OK) _exit(1);
    launch(1);
    std::exit(7);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
  const DecodedTrace trace = decoded();
  EXPECT_EQ(kernels(trace).size(), 1u);
  EXPECT_EQ(trace.events.back().name, "graphtag.end");
  EXPECT_TRUE(std::filesystem::exists(folder_ / "app.annotations.json"));
}

// What the header says of 0, and what the recording says of itself.
TEST_F(RecordTest, TakesTheBuffersThatTheHeaderTellsOf) {
  const auto buffers = [&] {
    for (const graphtag::testing::DecodedEvent& event : decoded().events) {
      if (event.name == "graphtag.begin") return std::pair(event.args.at("buffers"), event.args.at("buffer_bytes"));
    }
    return std::pair<json, json>();
  };
  end(begin());
  EXPECT_EQ(buffers(), std::pair(json(64), json(512 << 10)));
  gt_record_options wanted = options();
  wanted.buffer_count = 3;
  wanted.buffer_bytes = 4096;
  end(begin(wanted));
  EXPECT_EQ(buffers(), std::pair(json(3), json(4096)));
}

TEST_F(RecordTest, AChildOfForkRecordsNothingAndDisturbsNothing) {
  const gt_recording recording = begin();
  launch(1);
  ASSERT_EQ(gt_record_flush(recording, 20'000), GT_OK);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    int wrong = 0;
    if (gt_recording_active() != 0) wrong |= 1;
    if (gt_record_end(recording, nullptr) != GT_ERROR_INVALID_HANDLE) wrong |= 2;
    gt_range range{};
    range.size = sizeof range;
    if (gt_record_range(&range) != GT_OK) wrong |= 4;
    std::exit(wrong);  // runs what the parent had asked for at its exit
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  launch(2);
  EXPECT_EQ(end(recording).kernels, 2u);
  EXPECT_EQ(kernels(decoded()).size(), 2u);
}

TEST_F(RecordTest, ManyThreadsWhileItBeginsAndEnds) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      gt_range range{};
      range.size = sizeof range;
      range.text = "range";
      range.text_length = GT_NUL;
      while (!stop) {
        gt_scope_begin_name("scope", GT_NUL);
        const std::uint64_t start = 1;
        cuda().activity().call({false, 211, start, start, 1, 1, 0});
        range.start_ns = range.end_ns = gt_record_now();
        EXPECT_EQ(gt_record_range(&range), GT_OK);
        gt_scope_end();
        std::this_thread::sleep_for(std::chrono::microseconds(100));  // decoding what they make takes its time
      }
    });
  }
  for (int i = 0; i < 10; ++i) {
    const gt_recording recording = begin();
    EXPECT_EQ(gt_record_flush(recording, 20'000), GT_OK);
    const gt_record_stats stats = end(recording);
    EXPECT_LE(stats.buffers_kept, 4u) << "a thread that is within a call as the recording ends may hold one";
    EXPECT_NO_THROW(decoded());
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace graphtag::capi
