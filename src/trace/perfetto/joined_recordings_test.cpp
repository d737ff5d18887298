// Files of recordings joined with `cat`: one process is read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/made_recording.h"
#include "tests/support/read_recording.h"
#include "trace/perfetto/packet_stream.h"
#include "trace/perfetto/perfetto_reader.h"

namespace graphtag {
namespace {

namespace layout = recording;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::MadeRecording;
using ::testing::Not;
using testing::RecordedOperation;
using Reading = test::NamedReading;

constexpr std::uint64_t kNode = std::uint64_t{3} << 32 | 5;  // of each process

void work(MadeRecording& made, const std::string& name, std::uint64_t at = 1000) {
  made.host_slice(layout::kRange, name, at, at + 900, Json::object());
  RecordedOperation kernel{.start_ns = at, .end_ns = at + 100, .node = kNode};
  kernel.annotation = {{"name", name}, {name, 1}};
  made.operation(kernel);
}

std::string recording_of(const Json& about, const std::string& name) {
  MadeRecording made(about);
  work(made, name);
  made.end();
  return made.bytes;
}

Reading read_of(const std::string& bytes, std::int64_t pid) {
  return test::read_recording(bytes, {}, true, pid);
}

std::vector<std::string> names(const Reading& reading) {
  std::vector<std::string> found;
  for (const auto& operation : reading.operations()) found.push_back(operation.annotation.at("name"));
  return found;
}

TEST(JoinedRecordings, SeveralProcessesNeedAChoice) {
  MadeRecording lost(Json{{"pid", 200}});
  work(lost, "b");
  lost.begin_chapter();
  work(lost, "b", 5000);
  lost.counter(layout::kDroppedCounter, 3);
  const std::string joined = recording_of({{"pid", 100}}, "a") + lost.bytes + recording_of({{"pid", 300}}, "c");
  EXPECT_THAT(test::read_recording(joined).error, AllOf(HasSubstr("several processes: 100, 200, 300;"), HasSubstr("--process")));

  const Reading first = read_of(joined, 100), second = read_of(joined, 200);
  ASSERT_EQ(first.error + second.error, "");
  EXPECT_THAT(names(first), ElementsAre("a"));
  EXPECT_TRUE(first.result.problems.empty()) << test::describe(first.result.problems);
  EXPECT_THAT(names(second), ElementsAre("b", "b"));
  EXPECT_EQ(second.result.problems[ProblemKind::lost_by_recorder].count, 3U);
  EXPECT_EQ(second.result.problems[ProblemKind::truncated].count, 1U) << "its end is missing";
  EXPECT_EQ(second.result.info.pid, 200);
  EXPECT_THAT(second.result.info.annotation_keys, AllOf(Contains("b"), Not(Contains("a")), Not(Contains("c"))));
  for (const auto& event : second.events) {
    if (event.kind != EventKind::host_slice) continue;
    EXPECT_EQ(Json::parse(event.json).at("pid"), 200) << event.json;
  }
  EXPECT_THAT(read_of(joined, 7).error, HasSubstr("no recording of process 7; there is one of 100, 200, 300"));
}

TEST(JoinedRecordings, AProcessWithoutAChoiceIsReadAsEver) {
  const std::string one = recording_of({{"pid", 100}}, "a");
  EXPECT_EQ(read_of(one, 100).events, test::read_recording(one).events);
}

TEST(JoinedRecordings, OneThatWasKilledWithinASliceTakesNothingFromTheNext) {
  MadeRecording made(Json{{"pid", 100}});
  work(made, "a");
  const auto source = memory_source(made.bytes);
  perfetto::PacketStream packets(*source);
  std::uint64_t last = 0;
  while (*packets.next()) last = packets.offset();
  const std::string joined = made.bytes.substr(0, last) + recording_of({{"pid", 200}}, "b");
  const Reading killed = read_of(joined, 100), next = read_of(joined, 200);
  ASSERT_EQ(killed.error + next.error, "");
  EXPECT_TRUE(killed.operations().empty());
  EXPECT_EQ(killed.result.problems[ProblemKind::unparsable_event].count, 1U);
  EXPECT_EQ(killed.result.problems[ProblemKind::truncated].count, 1U);
  EXPECT_THAT(names(next), ElementsAre("b"));
  EXPECT_TRUE(next.result.problems.empty()) << test::describe(next.result.problems);
}

TEST(JoinedRecordings, TheSameIdOnTwoHostsOrBeforeAnExecIsNoChoice) {
  for (const Json& other : {Json{{"host", "elsewhere"}, {"loaded_ns", 1}}, Json{{"loaded_ns", 2}}}) {
    const std::string joined = recording_of({{"loaded_ns", 1}}, "a") + recording_of(other, "b");
    EXPECT_THAT(test::read_recording(joined).error, HasSubstr("several processes")) << other;
    EXPECT_THAT(read_of(joined, 100).error, AllOf(HasSubstr("the id 100"), HasSubstr("give each file by itself"))) << other;
  }
  EXPECT_THAT(test::read_recording(recording_of({{"host", "a"}}, "a") + recording_of({{"host", "b"}}, "b")).error,
              HasSubstr("100 on a, 100 on b"));
}

// Graphs of one process never have the same id.
TEST(JoinedRecordings, SeveralRecordingsOfOneProcessAreOne) {
  const std::uint64_t later = MadeRecording::kBase + 5000;
  const std::string joined = recording_of({{"loaded_ns", 1}}, "a") + recording_of({{"loaded_ns", 1}, {"begin_ns", later}}, "b");
  for (const Reading& reading : {test::read_recording(joined), read_of(joined, 100)}) {
    ASSERT_EQ(reading.error, "");
    EXPECT_THAT(names(reading), ElementsAre("a", "b"));
    EXPECT_TRUE(reading.result.problems.empty()) << test::describe(reading.result.problems);
  }
}

TEST(JoinedRecordings, SegmentsComeInAnyOrder) {
  MadeRecording made;
  work(made, "a");
  const std::size_t first = made.bytes.size();
  made.begin_chapter();
  work(made, "b", 5000);
  made.end();
  const Reading reading = test::read_recording(made.bytes.substr(first) + made.bytes.substr(0, first));
  ASSERT_EQ(reading.error, "");
  EXPECT_THAT(names(reading), ElementsAre("b", "a"));
  EXPECT_TRUE(reading.result.problems.empty()) << test::describe(reading.result.problems);
  // One of two recordings has no end.
  MadeRecording killed(Json{{"begin_ns", MadeRecording::kBase + 1}});
  EXPECT_EQ(test::read_recording(killed.bytes + made.bytes).result.problems[ProblemKind::truncated].count, 1U);
}

}  // namespace
}  // namespace graphtag
