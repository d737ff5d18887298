#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/support/made_event.h"
#include "tests/support/perfetto_decoder.h"
#include "write/trace_writer.h"

namespace graphtag {
namespace {

using nlohmann::json;
using testing::DecodedSlice;
using testing::DecodedTrace;
using testing::DecodedTrack;
using testing::MadeEvent;

// An annotation file of graph 3, whose node N has the N-th annotation.
AnnotationSource source_of(const std::vector<std::string>& annotations) {
  AnnotationSource source;
  source.input = {"a.json", "00"};
  GraphRecord graph;
  graph.id = GraphId{3};
  for (const auto& text : annotations) {
    auto id = source.file->annotations.intern(Json::parse(text));
    EXPECT_TRUE(id.ok());
    graph.runs.push_back({LocalId{static_cast<std::uint32_t>(graph.runs.size())}, *id, Origin::callback});
  }
  source.file->graphs.push_back(std::move(graph));
  return source;
}

// A writer with what it writes to, for one trace.
struct Fixture {
  explicit Fixture(const std::vector<std::string>& objects = {}) {
    source.push_back(source_of(objects));
    annotations = AnnotationSet{{&source[0]}};
    sink = string_sink(bytes);
    writer = perfetto_writer(*sink);
    info.device_names = {"NVIDIA H200"};
  }
  void begin(Lanes lanes = Lanes::none) { ASSERT_TRUE(writer->begin({&info, &annotations, lanes, 7}).ok()); }
  AnnotationId id_of(std::uint32_t local) { return annotations.resolve(NodeId{GraphId{3}, LocalId{local}}).annotation; }
  DecodedTrace finish(const std::vector<NewLane>& lanes = {}) {
    ReadResult read;
    read.info = info;
    const auto result = writer->finish(lanes, coverage, read);
    EXPECT_TRUE(result.ok());
    return DecodedTrace{bytes};
  }

  std::vector<AnnotationSource> source;
  AnnotationSet annotations;
  TraceInfo info;
  Coverage coverage;
  std::string bytes;
  std::unique_ptr<ByteSink> sink;
  std::unique_ptr<NamedEventConsumer> writer;
};

MadeEvent kernel(std::string name, std::int64_t start_ns, std::int64_t duration_ns) {
  MadeEvent event;
  event.name = std::move(name);
  event.start_ns = start_ns;
  event.duration_ns = duration_ns;
  return event;
}

MadeEvent graphed(std::string name, std::int64_t start_ns, std::int64_t duration_ns, std::uint64_t correlation,
                  AnnotationId annotation) {
  MadeEvent event = kernel(std::move(name), start_ns, duration_ns);
  event.graph_id = 3;
  event.correlation = correlation;
  event.annotation = annotation;
  return event;
}

MadeEvent host(std::string name, std::string category, std::int64_t start_ns, std::int64_t duration_ns) {
  MadeEvent event = kernel(std::move(name), start_ns, duration_ns);
  event.category = std::move(category);
  event.kind = EventKind::host_slice;
  event.pid = event.tid = "1066";
  return event;
}

MadeEvent metadata(std::string name, std::string pid, std::string tid, std::string key, std::string value) {
  MadeEvent event = kernel(std::move(name), 0, 0);
  event.phase = "M";
  event.kind = EventKind::metadata;
  event.pid = std::move(pid);
  event.tid = std::move(tid);
  event.args = {{std::move(key), std::move(value)}};
  return event;
}

// "name start-end depth" of every slice on a track, in file order.
std::vector<std::string> on_track(const DecodedTrace& trace, std::uint64_t track) {
  std::vector<std::string> out;
  for (const auto& slice : trace.slices()) {
    if (slice.track != track) continue;
    out.push_back(slice.begin.name + " " + std::to_string(slice.start) + "-" + std::to_string(slice.end) + " " +
                  std::to_string(slice.depth));
  }
  return out;
}

std::vector<const DecodedTrack*> named(const DecodedTrace& trace, const std::string& name) {
  std::vector<const DecodedTrack*> out;
  for (const auto& [uuid, track] : trace.tracks) {
    if (track.name == name || track.thread_name == name || track.process_name == name) out.push_back(&track);
  }
  return out;
}

json left_out(const DecodedTrace& trace) {
  return trace.events.back().args.value("left_out", json::object());
}

TEST(PerfettoWriter, StreamsLieUnderTheirGpuAndThreadsUnderTheirProcess) {
  Fixture f;
  f.begin();
  ASSERT_TRUE(metadata("process_name", "1066", "0", "name", "\"python3\"").give_to(*f.writer).ok());
  ASSERT_TRUE(metadata("thread_name", "1066", "1066", "name", "\"main\"").give_to(*f.writer).ok());
  ASSERT_TRUE(metadata("thread_name", "0", "7", "name", "\"stream 7 \"").give_to(*f.writer).ok());
  ASSERT_TRUE(kernel("gemm", 100, 10).give_to(*f.writer).ok());
  ASSERT_TRUE(host("aten::mm", "cpu_op", 50, 10).give_to(*f.writer).ok());
  auto strange = host("Profiler", "Trace", 40, 10);
  strange.pid = "\"Spans\"";
  strange.tid = "\"PyTorch Profiler\"";
  ASSERT_TRUE(strange.give_to(*f.writer).ok());
  const auto trace = f.finish();
  const auto gpu = named(trace, "GPU 0 NVIDIA H200"), stream = named(trace, "stream 7"), python = named(trace, "python3"),
             main = named(trace, "main"), spans = named(trace, "Spans"), profiler = named(trace, "PyTorch Profiler");
  ASSERT_EQ(gpu.size(), 1u);
  ASSERT_EQ(stream.size(), 1u);
  ASSERT_EQ(python.size(), 1u);
  ASSERT_EQ(main.size(), 1u);
  ASSERT_EQ(spans.size(), 1u);
  ASSERT_EQ(profiler.size(), 1u);
  EXPECT_TRUE(gpu[0]->is_process);
  EXPECT_EQ(gpu[0]->pid, 0);
  EXPECT_EQ(stream[0]->parent, gpu[0]->uuid);
  EXPECT_EQ(stream[0]->merge_behavior, 3);
  EXPECT_EQ(python[0]->pid, 1066);
  EXPECT_TRUE(main[0]->is_thread);
  EXPECT_EQ(main[0]->tid, 1066);
  EXPECT_EQ(main[0]->parent, python[0]->uuid);
  EXPECT_FALSE(spans[0]->is_process);
  EXPECT_EQ(profiler[0]->parent, spans[0]->uuid);
  EXPECT_THAT(on_track(trace, stream[0]->uuid), ::testing::ElementsAre("gemm 100-110 0"));
  EXPECT_THAT(on_track(trace, main[0]->uuid), ::testing::ElementsAre("aten::mm 50-60 0"));
}

TEST(PerfettoWriter, ArgsAreTypedAndNested) {
  Fixture f;
  f.begin();
  auto event = kernel("gemm", 1, 1);
  event.args = {{"i", "-3"},
                {"u", "18446744073709551615"},
                {"d", "0.25"},
                {"s", R"("a\"b\u00e9")"},
                {"t", "true"},
                {"n", "null"},
                {"big", "123456789012345678901"},
                {"beyond", "[-1e999]"},
                {"grid", "[256, 1, 1]"},
                {"dims", "[[], [2, {\"k\": {}}], \"x\"]"},
                {"o", R"({"a": 1, "b": {"c": [false]}})"},
                {"i32", "2147483648"},
                {"f1", "1.0"}};
  ASSERT_TRUE(event.give_to(*f.writer).ok());
  const auto trace = f.finish();
  ASSERT_EQ(trace.slices().size(), 1u);
  const auto& args = trace.slices()[0].begin.args;
  const auto expected = json::parse(R"({"i": -3, "u": 18446744073709551615, "d": 0.25, "s": "a\"bé", "t": true, "n": null,
      "big": 123456789012345678901, "beyond": ["-1e999"], "grid": [256, 1, 1], "dims": [[], [2, {"k": {}}], "x"], "o": {"a": 1, "b": {"c": [false]}},
      "i32": 2147483648, "f1": 1.0})");
  EXPECT_EQ(args, expected);
  EXPECT_TRUE(args["i"].is_number_integer());
  EXPECT_TRUE(args["f1"].is_number_float());
}

TEST(PerfettoWriter, RegionsNestAboveTheirKernelsAndEndWithTheirRun) {
  Fixture f{{R"({"name": "model"})", R"({"name": "model.mlp"})", R"({"name": "model.mlp.gelu"})", R"({"name": "other"})"}};
  f.begin();
  const auto model = f.id_of(0), mlp = f.id_of(1), gelu = f.id_of(2), other = f.id_of(3);
  // Out of order in the file; two replays; one kernel that has no name, which ends every run.
  for (auto event :
       {graphed("f", 300, 10, 2, mlp), graphed("a", 100, 10, 1, model), graphed("b", 110, 10, 1, mlp),
        graphed("c", 125, 5, 1, gelu), graphed("d", 130, 0, 1, mlp), graphed("e", 140, 10, 1, mlp),
        graphed("x", 160, 5, 1, AnnotationId::none), graphed("y", 170, 5, 1, mlp), graphed("g", 310, 10, 2, other)}) {
    ASSERT_TRUE(event.give_to(*f.writer).ok());
  }
  const auto trace = f.finish();
  const auto stream = named(trace, "stream 7");
  ASSERT_EQ(stream.size(), 1u);
  EXPECT_THAT(on_track(trace, stream[0]->uuid),
              ::testing::ElementsAre("model 100-150 0", "a 100-110 1", "model.mlp 110-150 1", "b 110-120 2",
                                     "model.mlp.gelu 125-130 2", "c 125-130 3", "d 130-130 2", "e 140-150 2", "x 160-165 0",
                                     "model 170-175 0", "model.mlp 170-175 1", "y 170-175 2", "model 300-310 0",
                                     "model.mlp 300-310 1", "f 300-310 2", "other 310-320 0", "g 310-320 1"));
  for (const auto& slice : trace.slices()) {
    if (slice.begin.name == "other") {
      EXPECT_EQ(slice.begin.category, "region");
      EXPECT_EQ(slice.begin.args, json::parse(R"({"graph id": 3, "correlation": 2})"));
    }
  }
}

TEST(PerfettoWriter, AnnotationsAddTheirKeysTypedAndOverwriteNothing) {
  Fixture f{{R"({"name": "attn", "bs": 8, "stream": 61, "device": 5, "priority": 0, "nested": {"a": [1, null]}})"}};
  f.begin();
  auto event = graphed("gemm", 1, 1, 1, f.id_of(0));
  event.args = {{"device", "0"}, {"stream", "7"}, {"priority", "0"}};
  ASSERT_TRUE(event.give_to(*f.writer).ok());
  const auto trace = f.finish();
  ASSERT_EQ(trace.slices().size(), 2u);
  EXPECT_EQ(trace.slices()[1].begin.args, json::parse(R"({"device": 0, "stream": 7, "priority": 0, "name": "attn", "bs": 8,
      "annotated_stream": 61, "annotation.device": 5, "annotation.priority": 0, "nested": {"a": [1, null]}})"));
}

TEST(PerfettoWriter, LanesMoveOperations) {
  Fixture f{{R"({"name": "attn", "stream": 61})"}};
  f.begin(Lanes::all);
  auto event = graphed("gemm", 1, 1, 1, f.id_of(0));
  event.args = {{"stream", "7"}};
  event.lane = 61;
  ASSERT_TRUE(event.give_to(*f.writer).ok());
  const auto trace = f.finish({{"0", 61, "copy lane", 1}});
  const auto lane = named(trace, "copy lane");
  ASSERT_EQ(lane.size(), 1u);
  EXPECT_TRUE(named(trace, "stream 7").empty());
  EXPECT_THAT(on_track(trace, lane[0]->uuid), ::testing::ElementsAre("attn 1-2 0", "gemm 1-2 1"));
  EXPECT_EQ(trace.slices()[1].begin.args["stream"], 61);
}

TEST(PerfettoWriter, OverlappingOperationsShareOneMergeKey) {
  Fixture f;
  f.begin();
  for (auto event : {kernel("a", 0, 12), kernel("b", 10, 10), kernel("c", 14, 10), kernel("d", 30, 0), kernel("e", 30, 5)}) {
    ASSERT_TRUE(event.give_to(*f.writer).ok());
  }
  const auto trace = f.finish();
  const auto tracks = named(trace, "stream 7");
  ASSERT_EQ(tracks.size(), 2u);
  EXPECT_EQ(tracks[0]->merge_key, tracks[1]->merge_key);
  EXPECT_FALSE(tracks[0]->merge_key.empty());
  EXPECT_EQ(tracks[0]->parent, tracks[1]->parent);
  EXPECT_THAT(on_track(trace, tracks[0]->uuid), ::testing::ElementsAre("a 0-12 0", "c 14-24 0", "d 30-30 0", "e 30-35 0"));
  EXPECT_THAT(on_track(trace, tracks[1]->uuid), ::testing::ElementsAre("b 10-20 0"));
}

// More tracks than remember their strings.
TEST(PerfettoWriter, ManyOverlappingOperationsKeepTheirNamesAndRegions) {
  Fixture f{{R"({"name": "a.b"})"}};
  f.begin();
  constexpr int kOperations = 100;
  for (int i = 0; i < kOperations; ++i) {
    ASSERT_TRUE(graphed("k" + std::to_string(i), i, 1000, 1, f.id_of(0)).give_to(*f.writer).ok());
    ASSERT_TRUE(graphed("k" + std::to_string(i), 2000 + i, 1000, 2, f.id_of(0)).give_to(*f.writer).ok());
  }
  const auto trace = f.finish();
  const auto tracks = named(trace, "stream 7");
  ASSERT_EQ(tracks.size(), 100u);
  for (int i = 0; i < kOperations; ++i) {
    const auto span = [i](int start) { return std::to_string(start + i) + "-" + std::to_string(start + i + 1000); };
    const auto kernel_name = "k" + std::to_string(i) + " ";
    EXPECT_THAT(on_track(trace, tracks[static_cast<std::size_t>(i)]->uuid),
                ::testing::ElementsAre("a " + span(0) + " 0", "a.b " + span(0) + " 1", kernel_name + span(0) + " 2",
                                       "a " + span(2000) + " 0", "a.b " + span(2000) + " 1", kernel_name + span(2000) + " 2"));
  }
}

TEST(PerfettoWriter, HostSlicesNestAndThoseThatDoNotGoBelow) {
  Fixture f;
  f.begin();
  for (auto event : {host("inner", "cpu_op", 10, 5), host("outer", "cpu_op", 10, 20), host("crossing", "cpu_op", 25, 20),
                     host("last", "cpu_op", 30, 5), host("nothing", "cpu_op", 30, 0)}) {
    ASSERT_TRUE(event.give_to(*f.writer).ok());
  }
  const auto trace = f.finish();
  std::vector<const DecodedTrack*> tracks;
  for (const auto& [uuid, track] : trace.tracks) {
    if (track.is_thread || (track.parent != 0 && trace.tracks.at(track.parent).is_thread)) tracks.push_back(&track);
  }
  ASSERT_EQ(tracks.size(), 2u);
  EXPECT_THAT(on_track(trace, tracks[0]->uuid),
              ::testing::ElementsAre("outer 10-30 0", "inner 10-15 1", "last 30-35 0", "nothing 30-30 1"));
  EXPECT_THAT(on_track(trace, tracks[1]->uuid), ::testing::ElementsAre("crossing 25-45 0"));
}

TEST(PerfettoWriter, OneLaunchHasAnArrowToEachOfItsOperations) {
  Fixture f;
  f.begin();
  auto launch = host("cudaGraphLaunch", "cuda_runtime", 0, 5);
  launch.correlation = 12;
  auto again = host("cudaGraphLaunch", "cuda_runtime", 8, 1);
  again.correlation = 12;
  auto alone = kernel("alone", 30, 1);
  alone.correlation = 13;
  for (auto event :
       {graphed("a", 10, 5, 12, AnnotationId::none), launch, graphed("b", 15, 5, 12, AnnotationId::none), again, alone}) {
    ASSERT_TRUE(event.give_to(*f.writer).ok());
  }
  const auto trace = f.finish();
  std::map<std::string, std::vector<std::uint64_t>> starts, ends;
  for (const auto& slice : trace.slices()) {
    for (const auto id : slice.begin.flows) starts[slice.begin.name + " " + std::to_string(slice.start)].push_back(id);
    for (const auto id : slice.begin.ending_flows) ends[slice.begin.name].push_back(id);
  }
  ASSERT_EQ(starts.size(), 1u);
  const auto& arrows = starts["cudaGraphLaunch 0"];
  ASSERT_EQ(arrows.size(), 2u);
  EXPECT_NE(arrows[0], arrows[1]);
  EXPECT_THAT(ends["a"], ::testing::ElementsAre(arrows[0]));
  EXPECT_THAT(ends["b"], ::testing::ElementsAre(arrows[1]));
  EXPECT_EQ(ends.count("alone"), 0u);
  EXPECT_EQ(left_out(trace), json::parse(R"({"arrows of a second launch with the same correlation id": 1})"));
}

TEST(PerfettoWriter, TimesAreUnixTimesOnceTheBaseIsKnown) {
  Fixture f;
  f.begin();
  ASSERT_TRUE(kernel("a", 1500, 20).give_to(*f.writer).ok());
  f.info.base_time_ns = 1790857026000000000;  // stood behind the events
  const auto trace = f.finish();
  EXPECT_EQ(trace.slices()[0].start, 1790857026000001500u);
  EXPECT_EQ(trace.clocks.at(6), trace.clocks.at(1));
  EXPECT_EQ(trace.clocks.at(1), 1790857026000001500u);
  EXPECT_EQ(trace.primary_clock, 6);
}

TEST(PerfettoWriter, InstantsAndCountersKeepTheirTime) {
  Fixture f;
  f.begin();
  auto instant = host("Iteration", "x", 15, 0);
  instant.phase = "i";
  instant.kind = EventKind::other;
  auto counter = host("memory", "x", 16, 0);
  counter.phase = "C";
  counter.kind = EventKind::other;
  counter.args = {{"bytes", "512"}, {"ratio", "0.5"}, {"what", "\"text\""}};
  for (auto event : {instant, counter, host("op", "cpu_op", 10, 10)}) ASSERT_TRUE(event.give_to(*f.writer).ok());
  const auto trace = f.finish();
  std::vector<std::string> seen;
  for (const auto& event : trace.events) {
    if (event.type == 3 && event.name == "Iteration") seen.push_back("instant " + std::to_string(event.timestamp));
    if (event.type == 4) {
      seen.push_back(trace.tracks.at(event.track).name + " " + std::to_string(event.timestamp) + " " +
                     json(event.counter).dump());
      EXPECT_TRUE(trace.tracks.at(event.track).is_counter);
    }
  }
  EXPECT_THAT(seen, ::testing::UnorderedElementsAre("instant 15", "memory bytes 16 512.0", "memory ratio 16 0.5"));
  EXPECT_EQ(left_out(trace), json::parse(R"({"counter values without a time or a number": 1})"));
}

TEST(PerfettoWriter, CountersBeyondAnIntegerAreDoublesAndThoseBeyondADoubleLeftOut) {
  Fixture f;
  f.begin();
  auto counter = host("memory", "x", 16, 0);
  counter.phase = "C";
  counter.kind = EventKind::other;
  counter.args = {{"a", "9223372036854775807"},
                  {"b", "9223372036854775808"},
                  {"c", "18446744073709551615"},
                  {"d", "-9223372036854775809"},
                  {"e", "1e999"},
                  {"f", "-1e999"}};
  ASSERT_TRUE(counter.give_to(*f.writer).ok());
  const auto trace = f.finish();
  std::map<std::string, json> seen;
  for (const auto& event : trace.events) {
    if (event.type == 4) seen[trace.tracks.at(event.track).name] = json(event.counter);
  }
  EXPECT_EQ(json(seen), json::parse(R"({"memory a": 9223372036854775807.0, "memory b": 9223372036854775808.0,
      "memory c": 18446744073709551615.0, "memory d": -9223372036854775809.0})"));
  EXPECT_EQ(left_out(trace), json::parse(R"({"counter values without a time or a number": 2})"));
}

TEST(PerfettoWriter, SaysWhatItLeftOut) {
  Fixture f;
  f.begin();
  auto timeless = kernel("a", 0, 0);
  timeless.start_ns.reset();
  auto backward = kernel("b", 5, -1);
  auto early = kernel("c", -5, 1);
  auto begin = host("d", "x", 0, 0);
  begin.phase = "B";
  begin.kind = EventKind::other;
  auto flow = host("fwdbwd", "fwdbwd", 0, 0);
  flow.phase = "s";
  flow.kind = EventKind::flow_start;
  auto drawn = flow;
  drawn.category = "ac2g";
  for (auto event : {timeless, backward, early, begin, flow, drawn}) ASSERT_TRUE(event.give_to(*f.writer).ok());
  ASSERT_TRUE(metadata("something", "1", "1", "a", "1").give_to(*f.writer).ok());
  const auto trace = f.finish();
  EXPECT_TRUE(trace.slices().empty());
  EXPECT_EQ(left_out(trace),
            json::parse(R"({"events without a usable time": 2, "before 1970 or beyond 2262": 1, "events of phase B": 1,
      "arrows of category fwdbwd": 1, "metadata events": 1})"));
}

TEST(PerfettoWriter, TheSummaryHasTheMembersAndTheCoverage) {
  Fixture f;
  ASSERT_TRUE(f.writer->member("schemaVersion", "1", false).ok());
  f.begin();
  ASSERT_TRUE(f.writer->member("deviceProperties", R"([{"id": 0, "name": "NVIDIA H200"}])", true).ok());
  f.coverage.records = 5;
  f.coverage.named = 3;
  f.coverage.unnamed[Origin::outside_scope] = 2;
  const auto trace = f.finish();
  ASSERT_EQ(trace.events.size(), 1u);
  const auto& args = trace.events[0].args;
  EXPECT_EQ(args["trace"], json::parse(R"({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H200"}]})"));
  EXPECT_EQ(args["graphtagCoverage"]["named"], 3);
  EXPECT_EQ(args["graphtagCoverage"]["unnamed"], json::parse(R"({"outside-scope": 2})"));
  EXPECT_EQ(args["graphtag"]["inputs"], json::parse(R"([{"name": "a.json", "sha256": "00"}])"));
}

}  // namespace
}  // namespace graphtag
