// What goes wrong around a recording: full disks, kills, programs that close its file, records that never stop.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <random>
#include <thread>

#include "record/recording_fixture.h"
#include "tests/support/no_new_thread.h"
#include "tests/support/sanitized.h"

#if !defined(GRAPHTAG_SANITIZED)
// How often anything in this program allocates, on whatever thread.
namespace {
std::atomic<std::uint64_t> allocations{0};
// While `failing`, every third allocation of threads that are not the test's own fails.
std::atomic<bool> failing{false};
thread_local bool of_test = false;
}  // namespace
void* operator new(std::size_t size) {
  if (++allocations % 3 == 0 && failing && !of_test) throw std::bad_alloc();
  if (void* block = std::malloc(size == 0 ? 1 : size)) return block;
  throw std::bad_alloc();
}
#endif

namespace graphtag {
namespace {

using nlohmann::json;
namespace layout = recording;
using testing::DecodedTrace;

class RecordingFaults : public WithRecording {
 protected:
  // Kernels that take no time, their numbers as correlations.
  void kernels(int count) {
    fake::FakeActivity::Kernel kernel;
    for (int i = 0; i < count; ++i) {
      kernel.start_ns = kernel.end_ns = now();
      kernel.correlation = ++last_correlation_;
      ASSERT_TRUE(gpu().kernel(kernel));
    }
  }
  void flush() { ASSERT_EQ(recording_->flush(std::chrono::seconds(60)), Recording::Flushed::ok); }
  std::vector<std::uint32_t> numbers_in(const std::string& bytes) {
    std::vector<std::uint32_t> numbers;
    const DecodedTrace trace(bytes, testing::DecoderRules::of_killed_recordings());
    for (const auto& slice : slices_of(trace, layout::kKernel)) {
      numbers.push_back(slice.begin.args["correlation"].get<std::uint32_t>());
    }
    std::sort(numbers.begin(), numbers.end());
    return numbers;
  }
  std::uint32_t last_correlation_ = 0;
};

// Files of this process cannot grow beyond this while it lives. The signal that would come with it is the writer's to block.
class FileLimit {
 public:
  explicit FileLimit(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileLimit() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

TEST_F(RecordingFaults, AFullDiskCostsWhatDoesNotFitAndNothingElse) {
  begin();
  kernels(100);
  flush();
  const std::string before = content_of(file());
  {
    // In the middle of a packet.
    const FileLimit limit(before.size() + 777);
    kernels(500);
    EXPECT_EQ(recording_->flush(std::chrono::seconds(60)), Recording::Flushed::not_written);
    kernels(1);
    EXPECT_EQ(recording_->flush(std::chrono::seconds(60)), Recording::Flushed::not_written);
    EXPECT_TRUE(content_of(file()) == before);
  }
  EXPECT_EQ(counts().records_lost, 501u);
  EXPECT_GE(counts().write_errors, 2u);
  kernels(10);
  flush();
  end();
  std::vector<std::uint32_t> expected;
  for (std::uint32_t i = 1; i <= 100; ++i) expected.push_back(i);
  for (std::uint32_t i = 602; i <= 611; ++i) expected.push_back(i);
  EXPECT_EQ(numbers_in(content_of(file())), expected);
  const DecodedTrace trace = decoded();
  EXPECT_FALSE(instants_of(trace, "write-failed").empty());
  EXPECT_EQ(instants_of(trace, layout::kEndEvent).at(0).args["records_lost"], 501);
  EXPECT_EQ(recording_->state(), RecordingState::ended);
}

TEST_F(RecordingFaults, AProgramThatClosesAllItsFilesDoesNotGetOurPackets) {
  begin();
  kernels(5);
  flush();
  for (int fd = 100; fd < 1024; ++fd) close(fd);
  // Somebody else's file under the same numbers.
  std::vector<int> others;
  const auto other = folder_ / "other";
  for (int i = 0; i < 300; ++i) others.push_back(open(other.c_str(), O_CREAT | O_RDWR, 0600));
  kernels(5);
  flush();
  end();
  for (const int fd : others) {
    EXPECT_NE(fcntl(fd, F_GETFD), -1) << "the recording closed it";
    close(fd);
  }
  EXPECT_EQ(std::filesystem::file_size(other), 0u);
  EXPECT_EQ(numbers_in(content_of(file())).size(), 10u);
}

TEST_F(RecordingFaults, WhereNoThreadCanBeMadeCuptiIsGivenBack) {
  {
    const testing::NoNewThread limit;
    auto begun = Recording::begin(cuda_.driver(), registry_, options());
    ASSERT_FALSE(begun);
    EXPECT_EQ(begun.error().code, ErrorCode::too_large);
    EXPECT_THAT(begun.error().to_string(), ::testing::HasSubstr("another thread"));
  }
  EXPECT_FALSE(gpu().is_on());
  begin();
  kernels(5);
  end();
  EXPECT_EQ(numbers_in(content_of(file())).size(), 5u);
}

TEST_F(RecordingFaults, AFileThatIsMovedAwayIsFollowedAndOneThatIsDeletedIsWrittenUnseen) {
  begin();
  kernels(5);
  flush();
  const auto moved = folder_ / "moved.pftrace";
  std::filesystem::rename(file(), moved);
  kernels(5);
  flush();
  end();
  EXPECT_EQ(numbers_in(content_of(moved)).size(), 10u);
  EXPECT_FALSE(std::filesystem::exists(file()));
}

// Whatever the last write filled.
TEST_F(RecordingFaults, NoSegmentOfARingIsLeftEmpty) {
  RecordingOptions wanted = options();
  wanted.max_bytes = 1;  // so that each write fills its segment
  begin(wanted);
  kernels(5);
  flush();
  kernels(5);
  end();
  std::uint64_t ends = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
    EXPECT_GT(entry.file_size(), 0U) << entry.path();
    const DecodedTrace trace = decode_recording(content_of(entry.path()));
    EXPECT_EQ("app." + instants_of(trace, layout::kBeginEvent).at(0).args["segment"].dump() + ".pftrace",
              entry.path().filename());
    ends += instants_of(trace, layout::kEndEvent).size();
  }
  EXPECT_EQ(ends, 1U);
}

TEST_F(RecordingFaults, ARingReplacesThatOfAnEarlierRecording) {
  for (const char* name : {"app.1.pftrace", "app.2.pftrace", "app.93.pftrace", "app.host.4.pftrace", "app.annotations.json"}) {
    std::ofstream(folder_ / name) << "x";
  }
  RecordingOptions wanted = options();
  wanted.max_bytes = 1 << 20;
  begin(wanted);
  kernels(5);
  end();
  EXPECT_EQ(numbers_in(content_of(folder_ / "app.1.pftrace")).size(), 5U);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "app.2.pftrace"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "app.93.pftrace"));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "app.host.4.pftrace"));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "app.annotations.json"));
}

TEST_F(RecordingFaults, ARingKeepsTheLastAndEachSegmentStandsAlone) {
  RecordingOptions wanted = options();
  wanted.max_bytes = 1 << 20;
  begin(wanted);
  registry_.graph_created(GraphId{1}, unix_time_ns());
  registry_.node_created(NodeId{GraphId{1}, LocalId{0}}, registry_.name("region"));
  constexpr int kKernels = 30000;  // about 4 MB
  for (int i = 0; i < kKernels; ++i) {
    fake::FakeActivity::Kernel kernel;
    kernel.name = i % 2 == 0 ? "even" : "odd";
    kernel.node_id = std::uint64_t{1} << 32;
    kernel.correlation = static_cast<std::uint32_t>(i + 1);
    kernel.start_ns = kernel.end_ns = now();
    while (!gpu().kernel(kernel)) std::this_thread::yield();
    if (i % 1000 == 0) {
      flush();
      std::uint64_t bytes = 0;
      for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) bytes += entry.file_size();
      EXPECT_LE(bytes, wanted.max_bytes);
    }
  }
  flush();
  end();
  std::map<int, std::filesystem::path> segments;
  std::uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
    int number = 0;
    ASSERT_EQ(std::sscanf(entry.path().filename().c_str(), "app.%d.pftrace", &number), 1) << entry.path();
    segments[number] = entry.path();
    bytes += entry.file_size();
  }
  EXPECT_GT(segments.size(), 4u);
  EXPECT_LE(bytes, wanted.max_bytes);
  EXPECT_GT(bytes, wanted.max_bytes / 2);
  EXPECT_EQ(counts().segments_deleted, static_cast<std::uint64_t>(segments.begin()->first - 1));
  EXPECT_EQ(counts().bytes_written - counts().bytes_deleted, bytes);
  std::vector<std::uint32_t> numbers;
  std::string joined;
  for (const auto& [number, path] : segments) {
    const std::string content = content_of(path);
    joined += content;
    const DecodedTrace trace = decode_recording(content);
    EXPECT_EQ(instants_of(trace, layout::kBeginEvent).at(0).args["segment"], number);
    for (const auto& slice : slices_of(trace, layout::kKernel)) {
      const auto correlation = slice.begin.args["correlation"].get<std::uint32_t>();
      EXPECT_EQ(slice.begin.name, correlation % 2 == 1 ? "even" : "odd");
      EXPECT_EQ(slice.begin.args["name"], "region");
      numbers.push_back(correlation);
    }
  }
  EXPECT_EQ(numbers_in(joined), numbers);
  // The last ones without a gap.
  for (std::size_t i = 0; i < numbers.size(); ++i) ASSERT_EQ(numbers[i], kKernels - numbers.size() + i + 1);
}

// What the parent knows of a child that is to be killed.
struct Progress {
  std::atomic<std::uint32_t> made, flushed;
};

// Records kernels until it is killed, and notes after each flush how many there were.
[[noreturn]] void record_until_killed(const RecordingOptions& options, Progress& progress) {
  fake::FakeCuda cuda;
  Registry registry;
  auto begun = Recording::begin(cuda.driver(), registry, options);
  if (!begun) _exit(1);
  while (true) {
    for (int i = 0; i < 10; ++i) {
      fake::FakeActivity::Kernel kernel;
      kernel.correlation = progress.made + 1;
      if (!cuda.driver().timestamp_ns(kernel.start_ns).ok()) _exit(1);
      kernel.end_ns = kernel.start_ns;
      if (cuda.activity().kernel(kernel)) ++progress.made;
    }
    const std::uint32_t made = progress.made;
    if ((*begun)->flush(std::chrono::seconds(60)) == Recording::Flushed::ok) progress.flushed = made;
    std::this_thread::sleep_for(std::chrono::microseconds(made % 300));  // so that the file stays small
  }
}

// A sanitizer makes fork() and each flush many times slower, and what it looks for is the same in each round: that the moments differ is for the
// plain build to show.
#ifdef GRAPHTAG_SANITIZED
constexpr int kKills = 10;
#else
constexpr int kKills = 100;
#endif

TEST_F(RecordingFaults, KilledAtAnyMomentTheFileHasWhatWasFlushed) {
  auto* progress =
      static_cast<Progress*>(mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(progress, MAP_FAILED);
  std::mt19937 random(1);
  for (int round = 0; round < kKills; ++round) {
    new (progress) Progress{};
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) record_until_killed(options(), *progress);
    int status = 0;
    while (progress->flushed == 0) {
      ASSERT_EQ(waitpid(child, &status, WNOHANG), 0) << "it ended by itself: " << status;
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 10000));
    kill(child, SIGKILL);
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    // It may have been killed within a write.
    const std::vector<std::uint32_t> numbers = numbers_in(testing::whole_packets(content_of(file())));
    ASSERT_GE(numbers.size(), progress->flushed);
    ASSERT_LE(numbers.size(), progress->made);
    for (std::size_t i = 0; i < numbers.size(); ++i) ASSERT_EQ(numbers[i], i + 1);
  }
  munmap(progress, sizeof(Progress));
}

TEST_F(RecordingFaults, AFileThatIsCutAnywhereHasItsWholePackets) {
  begin();
  kernels(20);
  end();
  const std::string whole = content_of(file());
  std::size_t last = 0;
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    const std::string packets = testing::whole_packets(whole.substr(0, size));
    const std::size_t count = numbers_in(packets).size();
    EXPECT_GE(count, last);
    last = count;
  }
  EXPECT_EQ(last, 20u);
}

// Many more than there is room for, each time until the writer is woken, which does not wait for the next flush.
TEST_F(RecordingFaults, RangesThatFillTheirQueueAreTakenFromIt) {
  RecordingOptions wanted = options();
  wanted.flush_period = std::chrono::seconds(60);
  begin(wanted);
  const std::string text(RangeQueue::kTextBytes, 'x');
  HostRange range;
  range.thread = 1;
  range.text = text;
  constexpr std::uint64_t kRounds = 30, kHalfFull = 32;
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    for (std::uint64_t i = 0; i < kHalfFull; ++i) {
      range.start_ns = range.end_ns = unix_time_ns();
      recording_->range(range);
    }
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (counts().ranges != round * kHalfFull && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    if (counts().ranges != round * kHalfFull) break;
  }
  EXPECT_EQ(counts().ranges, kRounds * kHalfFull);
  end();
  EXPECT_EQ(counts().ranges_dropped, 0u);
  EXPECT_EQ(slices_of(decoded(), layout::kRange).size(), kRounds * kHalfFull);
}

TEST_F(RecordingFaults, ManyThreadsRecordAndNothingIsLost) {
  RecordingOptions wanted = options();
  wanted.buffer_bytes = 4096;
  wanted.buffer_count = 4096;
  begin(wanted);
  constexpr int kThreads = 4, kEach = 2000;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        fake::FakeActivity::Kernel kernel;
        kernel.correlation = static_cast<std::uint32_t>(t * kEach + i + 1);
        kernel.start_ns = kernel.end_ns = now();
        ASSERT_TRUE(gpu().kernel(kernel));
        ASSERT_TRUE(
            gpu().call({false, 211, kernel.start_ns, kernel.end_ns, static_cast<std::uint32_t>(t), kernel.correlation, 0}));
        HostRange range;
        range.start_ns = range.end_ns = unix_time_ns();
        range.thread = t + 1;
        range.text = "range";
        recording_->range(range);
      }
    });
  }
  for (int i = 0; i < 20; ++i) flush();
  for (std::thread& thread : threads) thread.join();
  end();
  EXPECT_EQ(counts().kernels, std::uint64_t{kThreads * kEach});
  EXPECT_EQ(counts().api_calls, std::uint64_t{kThreads * kEach});
  EXPECT_EQ(counts().ranges + counts().ranges_dropped, std::uint64_t{kThreads * kEach});
  EXPECT_EQ(counts().dropped_by_cupti, 0u);
  EXPECT_EQ(numbers_in(content_of(file())).size(), std::size_t{kThreads * kEach});
}

#if !defined(GRAPHTAG_SANITIZED)
TEST_F(RecordingFaults, WhereThereIsNoMemoryRecordsAreLostWholeAndCounted) {
  of_test = true;
  for (std::uint32_t i = 0; i < 2000; ++i) {
    registry_.node_created(NodeId{GraphId{1}, LocalId{i}}, registry_.name("region " + std::to_string(i)));
  }
  RecordingOptions wanted = options();
  wanted.flush_period = std::chrono::seconds(60);
  wanted.buffer_bytes = 4096;
  begin(wanted);
  std::vector<std::string> names;
  for (int i = 0; i < 2000; ++i) names.push_back("kernel number " + std::to_string(i));
  for (std::uint32_t i = 0; i < 2000; ++i) {
    if (i == 500) failing = true;
    fake::FakeActivity::Kernel kernel;
    kernel.name = names[i].c_str();
    kernel.node_id = std::uint64_t{1} << 32 | i;
    kernel.correlation = i + 1;
    kernel.start_ns = kernel.end_ns = now();
    while (!gpu().kernel(kernel)) std::this_thread::yield();
    if (i == 1500) {
      // The writer has had its share.
      while (counts().records_lost == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      failing = false;
    }
  }
  failing = false;
  flush();
  end();
  of_test = false;
  const auto kernels = slices_of(decoded(), layout::kKernel);
  EXPECT_EQ(kernels.size() + counts().records_lost, 2000u);
  EXPECT_GT(counts().records_lost, 0u);
  EXPECT_LT(counts().records_lost, 2000u);
  for (const auto& kernel : kernels) {
    const std::uint32_t number = kernel.begin.args["correlation"].get<std::uint32_t>() - 1;
    EXPECT_EQ(kernel.begin.name, names[number]);
    EXPECT_EQ(kernel.begin.args["name"], "region " + std::to_string(number));
  }
}

TEST_F(RecordingFaults, InTheSteadyStateARecordAllocatesNothing) {
  registry_.graph_created(GraphId{1}, unix_time_ns());
  registry_.node_created(NodeId{GraphId{1}, LocalId{0}}, registry_.name("region"));
  begin();
  const auto round = [&] {
    for (int i = 0; i < 5000; ++i) {
      fake::FakeActivity::Kernel kernel;
      kernel.node_id = std::uint64_t{1} << 32;
      kernel.correlation = static_cast<std::uint32_t>(i + 1);
      kernel.start_ns = kernel.end_ns = now();
      ASSERT_TRUE(gpu().kernel(kernel));
    }
    HostRange range;
    range.text = "range";
    range.start_ns = range.end_ns = unix_time_ns();
    for (int i = 0; i < 500; ++i) recording_->range(range);
    flush();
  };
  round();
  round();
  const std::uint64_t before = allocations;
  round();
  // The false CUPTI's own lists, one a buffer or so; not one a record.
  EXPECT_LT(allocations - before, 100u);
  end();
}
#endif

}  // namespace
}  // namespace graphtag
