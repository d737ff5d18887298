#include "trace/perfetto/perfetto_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>

#include "base/file.h"
#include "tests/support/join_fixtures.h"
#include "tests/support/made_recording.h"
#include "tests/support/read_recording.h"

namespace graphtag {
namespace {

namespace layout = recording;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MadeRecording;
using testing::RecordedOperation;
using Reading = test::NamedReading;
using test::NamedEvent;

constexpr std::uint64_t kNode = std::uint64_t{3} << 32 | 5;

MadeRecording small() {
  MadeRecording made;
  made.host_slice(layout::kRuntimeCall, "cudaGraphLaunch", 100, 150, {{"correlation", 50U}, {"cbid", 311U}},
                  MadeRecording::kRuntime);
  made.host_slice(layout::kRange, "step", 50, 900, {{"nvtx_domain", "layers"}, {"payload", 7U}});
  made.mark("here", 120);
  RecordedOperation kernel{.start_ns = 1500, .end_ns = 1750, .correlation = 50, .node = kNode};
  kernel.annotation = {{"name", "attention"}, {"bs", 8U}};
  kernel.path = {"decoder", "attention"};
  made.operation(kernel);
  made.operation({.category = layout::kMemset,
                  .name = "Memset (Device)",
                  .start_ns = 2000,
                  .end_ns = 2100,
                  .correlation = 50,
                  .node = kNode + 1,
                  .origin = "outside-scope"});
  RecordedOperation eager{.start_ns = 3000, .end_ns = 3100, .correlation = 51};
  eager.annotation = {{"name", "loss"}};
  made.operation(eager);
  return made;
}

TEST(ReadPerfetto, OperationsHaveTheirNames) {
  MadeRecording made = small();
  made.end();
  const Reading reading = test::read_recording(made.bytes);
  ASSERT_EQ(reading.error, "");
  EXPECT_TRUE(reading.result.problems.empty()) << test::describe(reading.result.problems);
  const auto operations = reading.operations();
  ASSERT_EQ(operations.size(), 3U);
  EXPECT_EQ(operations[0].annotation, Json({{"name", "attention"}, {"bs", 8}}));
  EXPECT_THAT(operations[0].path, ElementsAre("decoder", "attention"));
  EXPECT_EQ(operations[0].origin, Origin::callback);
  EXPECT_EQ(operations[0].node, kNode);
  EXPECT_EQ(operations[1].origin, Origin::outside_scope);
  EXPECT_EQ(operations[1].kind, EventKind::memset);
  EXPECT_EQ(operations[2].annotation, Json({{"name", "loss"}}));
  EXPECT_EQ(operations[2].origin, Origin::callback);
  EXPECT_EQ(Json::parse(operations[0].json),
            Json::parse(R"({"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":1.5,"dur":0.25,
      "args":{"device":0,"stream":7,"correlation":50,"graph id":3,"graph node id":12884901893,"grid":[8,2,1]}})"));
  const TraceInfo& info = reading.result.info;
  EXPECT_EQ(info.host, "vm");
  EXPECT_EQ(info.pid, 100);
  EXPECT_EQ(info.base_time_ns, static_cast<std::int64_t>(MadeRecording::kBase));
  EXPECT_EQ(info.producer, "graphtag 0.1.0 recording");
  EXPECT_THAT(info.device_names, ElementsAre("NVIDIA H200"));
  EXPECT_EQ(reading.members.at("deviceProperties"), Json::parse(R"([{"id":0,"name":"NVIDIA H200"}])"));
}

TEST(ReadPerfetto, HostSlicesStandOnTheirThreads) {
  const Reading reading = test::read_recording(small().bytes);
  std::vector<std::string> host;
  for (const NamedEvent& event : reading.events) {
    const Json json = Json::parse(event.json);
    if (event.kind != EventKind::host_slice && json.at("ph") != "i") continue;
    host.push_back(json.at("cat").get<std::string>() + " " + json.at("name").get<std::string>() + " " + json.at("pid").dump() +
                   ":" + json.at("tid").dump());
  }
  EXPECT_THAT(host, ElementsAre("cuda_runtime cudaGraphLaunch 100:101", "nvtx step 100:101", "nvtx here 100:101"));
}

TEST(ReadPerfetto, EventsAreWhatTheirTextSays) {
  test::expect_events_are_what_their_text_says(test::read_recording(small().bytes));
}

TEST(ReadPerfetto, AFileThatEndsAnywhereIsReadAsFarAsItGoes) {
  MadeRecording made = small();
  const std::size_t before_end = made.bytes.size();
  made.end();
  const Reading whole = test::read_recording(made.bytes);
  std::size_t events = 0;
  for (std::size_t size = 0; size < made.bytes.size(); ++size) {
    const Reading cut = test::read_recording(made.bytes.substr(0, size));
    if (!cut.error.empty()) {
      EXPECT_EQ(events, 0U) << size;
      EXPECT_THAT(cut.error, HasSubstr("before a recording begins"));
      continue;
    }
    EXPECT_GE(cut.events.size(), events);
    events = cut.events.size();
    EXPECT_TRUE(std::equal(cut.events.begin(), cut.events.end(), whole.events.begin()));
    EXPECT_GE(cut.result.problems[ProblemKind::truncated].count, 1U) << size;
    EXPECT_EQ(cut.result.problems.left_out(), cut.result.problems[ProblemKind::truncated].count);
  }
  EXPECT_EQ(test::read_recording(made.bytes.substr(0, before_end)).events, whole.events);
}

TEST(ReadPerfetto, ChaptersBeginAnew) {
  MadeRecording made = small();
  made.begin_chapter();
  RecordedOperation kernel{.start_ns = 5000, .end_ns = 5100, .node = kNode};
  kernel.annotation = {{"name", "later"}};
  made.operation(kernel);
  made.end();
  const Reading reading = test::read_recording(made.bytes);
  ASSERT_EQ(reading.error, "");
  EXPECT_TRUE(reading.result.problems.empty()) << test::describe(reading.result.problems);
  EXPECT_EQ(reading.operations().back().annotation, Json({{"name", "later"}}));
  // As `cat` of two files.
  const Reading twice = test::read_recording(made.bytes + made.bytes);
  EXPECT_EQ(twice.operations().size(), 2 * reading.operations().size());
  EXPECT_TRUE(twice.result.problems.empty());
}

TEST(ReadPerfetto, KeysThatRecordsHaveThemselvesComeBack) {
  MadeRecording made;
  RecordedOperation kernel{.node = kNode};
  kernel.annotation = {{"name", "a"},
                       {"annotation.grid", "mine"},
                       {"annotated_stream", 60},
                       {"deep", {{"x", {1, nullptr}}}},
                       {"empty", Json::array()},
                       {"real", 0.5}};
  made.operation(kernel);
  made.end();
  const Reading reading = test::read_recording(made.bytes, {}, true);
  EXPECT_EQ(reading.operations().at(0).annotation, Json({{"name", "a"},
                                                         {"grid", "mine"},
                                                         {"stream", 60},
                                                         {"deep", {{"x", {1, nullptr}}}},
                                                         {"empty", Json::array()},
                                                         {"real", 0.5}}));
  for (const char* key : {"name", "grid", "stream", "deep", "empty", "real"}) {
    EXPECT_THAT(reading.result.info.annotation_keys, ::testing::Contains(key));
  }
}

TEST(ReadPerfetto, WhatTheRecorderLostIsAProblem) {
  MadeRecording made = small();
  made.counter(layout::kDroppedCounter, 3);
  made.counter(layout::kDroppedCounter, 12);
  made.counter(layout::kBadTimesCounter, 5);  // those are in the file, marked
  made.end();
  EXPECT_EQ(test::read_recording(made.bytes).result.problems[ProblemKind::lost_by_recorder].count, 12U);
}

TEST(ReadPerfetto, RecordsWithBadTimesAreNotCountedAsWork) {
  MadeRecording made;
  made.operation({.start_ns = 10, .end_ns = 10, .node = kNode, .bad_time = true});
  made.end();
  const Reading reading = test::read_recording(made.bytes);
  EXPECT_FALSE(reading.operations().at(0).start_ns.has_value());
  EXPECT_EQ(reading.result.problems[ProblemKind::bad_time].count, 1U);
}

TEST(ReadPerfetto, TracesOfOthersAreRefused) {
  const std::string golden = std::string(GRAPHTAG_SOURCE_DIR) + "/tests/golden/h200/";
  EXPECT_THAT(test::read_recording(test::content_of(golden + "train_step_cuspy.pftrace.gz")).error,
              HasSubstr("no recording of graphtag"));
  EXPECT_THAT(test::read_recording(MadeRecording(Json::object(), "graphtag.recording/7").bytes).error,
              HasSubstr("graphtag.recording/7"));
  EXPECT_THAT(test::read_recording("").error, HasSubstr("before a recording begins"));
}

TEST(ReadPerfetto, DamageIsCounted) {
  MadeRecording made = small();
  made.bytes += "nonsense";
  EXPECT_EQ(test::read_recording(made.bytes).result.problems[ProblemKind::trailing_garbage].count, 1U);
  MadeRecording other = small();
  other.bytes += std::string("\x0a\x03\xff\xff\xff", 5);
  other.end();
  EXPECT_EQ(test::read_recording(other.bytes).result.problems[ProblemKind::unparsable_event].count, 1U);
}

TEST(ReadPerfetto, TracksThatTakeTooMuchMemoryAreCounted) {
  constexpr std::uint64_t kTracks = 20;
  MadeRecording made = small(), again = small();
  TrackDescription track;
  track.name = std::string(std::size_t{4} << 20, 'x');
  for (std::uint64_t i = 0; i < kTracks; ++i) {
    track.uuid = 1000 + i;
    append_track(made.bytes, layout::kDescriptorSequence, track);
    track.uuid = 1000;
    append_track(again.bytes, layout::kDescriptorSequence, track);
  }
  made.end();
  again.end();
  // 64 MiB hold 15 of them beside those of the recording.
  EXPECT_EQ(test::read_recording(made.bytes).result.problems[ProblemKind::unparsable_event].count, kTracks - 15);
  // One that is described again takes no more.
  EXPECT_TRUE(test::read_recording(again.bytes).result.problems.empty());
}

// tests/golden/recordings/sample.pftrace: the recorder's own file over the model of CUDA, five replays of twenty nodes, and one record with bad times.
TEST(ReadPerfetto, WhatTheRecorderWrites) {
  const Reading reading =
      test::read_recording(test::content_of(std::string(GRAPHTAG_SOURCE_DIR) + "/tests/golden/recordings/sample.pftrace"));
  ASSERT_EQ(reading.error, "");
  const auto operations = reading.operations();
  ASSERT_EQ(operations.size(), 101U);
  std::map<std::uint64_t, int> replays;  // node -> records
  for (const NamedEvent& operation : operations) {
    if (!operation.start_ns) continue;
    EXPECT_EQ(operation.origin, Origin::callback);
    EXPECT_TRUE(operation.annotation.contains("name"));
    ++replays[operation.node];
  }
  EXPECT_EQ(replays.size(), 20U);
  for (const auto& [node, records] : replays) EXPECT_EQ(records, 5);
  EXPECT_EQ(reading.result.problems[ProblemKind::bad_time].count, 1U);
  EXPECT_EQ(reading.result.problems.left_out(), 0U);
  EXPECT_EQ(reading.result.info.host, "here");
}

TEST(ReadPerfetto, GzipIsReadTheSame) {
  const testing::TempFolder folder;
  MadeRecording made = small();
  made.end();
  auto sink = open_sink(folder.path("a.pftrace.gz"), true);
  ASSERT_TRUE(sink.ok());
  ASSERT_TRUE((*sink)->write(made.bytes).ok() && (*sink)->finish().ok());
  struct Counter : EventVisitor {
    Result<void> on_event(const Event& event) override {
      named += is_provenance(event.origin) ? 1 : 0;
      return {};
    }
    int named = 0;
  } counter;
  ReadOptions options;
  options.survey = true;
  const auto result = read_trace(folder.path("a.pftrace.gz"), counter, options);
  ASSERT_TRUE(result.ok()) << result.error().to_string();
  EXPECT_EQ(counter.named, 2);
  EXPECT_THAT(result->info.annotation_keys, ::testing::IsSupersetOf({"name", "bs", "graphtag.path"}));
}

RC_GTEST_PROP(ReadPerfettoProperty, WhatIsWrittenIsReadHoweverTheBytesCome, ()) {
  MadeRecording made;
  std::vector<RecordedOperation> written;
  const auto word = [] { return *rc::gen::element<std::string>("a", "b", "decoder", "\"q\"\n", "\xc3\xa9"); };
  const int count = *rc::gen::inRange(0, 20);
  for (int i = 0; i < count; ++i) {
    if (*rc::gen::inRange(0, 6) == 0) made.begin_chapter();
    RecordedOperation operation;
    operation.category = *rc::gen::element(layout::kKernel, layout::kMemcpy, layout::kMemset);
    operation.name = word();
    operation.start_ns = *rc::gen::inRange<std::uint64_t>(0, 1000000);
    operation.end_ns = operation.start_ns + *rc::gen::inRange<std::uint64_t>(0, 1000);
    if (*rc::gen::arbitrary<bool>()) operation.node = std::uint64_t{7} << 32 | *rc::gen::inRange<std::uint64_t>(0, 9);
    if (*rc::gen::arbitrary<bool>()) {
      operation.annotation["name"] = word();
      if (*rc::gen::arbitrary<bool>()) operation.annotation["v"] = *rc::gen::arbitrary<std::int64_t>();
      operation.path = {"x", operation.annotation["name"]};
      if (*rc::gen::arbitrary<bool>()) operation.path.insert(operation.path.begin(), word());
    }
    written.push_back(operation);
    made.operation(operation);
  }
  made.end();
  const std::vector<std::size_t> chunks =
      *rc::gen::nonEmpty(rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(1, 300)));
  const Reading reading = test::read_recording(made.bytes, chunks);
  RC_ASSERT(reading.error == "");
  RC_ASSERT(reading.result.problems.empty());
  const auto operations = reading.operations();
  RC_ASSERT(operations.size() == written.size());
  for (std::size_t i = 0; i < written.size(); ++i) {
    RC_ASSERT(Json::parse(operations[i].json).at("name") == written[i].name);
    RC_ASSERT(operations[i].annotation == written[i].annotation);
    RC_ASSERT(operations[i].path == written[i].path);
    RC_ASSERT(operations[i].node == written[i].node);
    RC_ASSERT(operations[i].start_ns == static_cast<std::int64_t>(written[i].start_ns));
    RC_ASSERT(operations[i].duration_ns == static_cast<std::int64_t>(written[i].end_ns - written[i].start_ns));
  }
}

}  // namespace
}  // namespace graphtag
