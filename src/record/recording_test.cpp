#include <gmock/gmock.h>

#include <cstdio>

#include "record/recording_fixture.h"

namespace graphtag {
namespace {

using nlohmann::json;
namespace layout = recording;
using testing::DecodedEvent;
using testing::DecodedSlice;
using testing::DecodedTrace;

TEST_F(WithRecording, AKernelIsASliceOnItsStreamWithWhatCuptiSaid) {
  begin();
  const std::int64_t unix_before = unix_time_ns();
  const std::uint64_t start = now();
  fake::FakeActivity::Kernel kernel;
  kernel.name = "_Z4gemmIfEvPT_";
  kernel.start_ns = start;
  kernel.end_ns = start + 1500;
  kernel.device = 0;
  kernel.context = 2;
  kernel.stream = 13;
  kernel.correlation = 4711;
  kernel.grid[0] = 100;
  kernel.grid[1] = 2;
  kernel.block[0] = 256;
  kernel.registers = 255;
  kernel.static_shared = 1024;
  kernel.dynamic_shared = 100000;
  ASSERT_TRUE(gpu().kernel(kernel));
  end();
  const DecodedTrace trace = decoded();
  const auto slices = slices_of(trace, layout::kKernel);
  ASSERT_EQ(slices.size(), 1u);
  const DecodedSlice& slice = slices[0];
  EXPECT_EQ(slice.begin.name, "void gemm<float>(float*)");
  EXPECT_EQ(slice.end - slice.start, 1500u);
  // Unix time: the reading of the two clocks is off by less than the test takes.
  EXPECT_NEAR(static_cast<double>(static_cast<std::int64_t>(slice.start) - unix_before), 0, 5e7);
  const json expected = {{"device", 0},
                         {"context", 2},
                         {"stream", 13},
                         {"correlation", 4711},
                         {"grid", {100, 2, 1}},
                         {"block", {256, 1, 1}},
                         {"registers per thread", 255},
                         {"shared memory", 101024}};
  EXPECT_EQ(slice.begin.args, expected);
  const auto& track = trace.tracks.at(slice.track);
  EXPECT_EQ(track.name, "stream 13");
  const auto& device = trace.tracks.at(track.parent);
  EXPECT_EQ(device.name, "GPU 0 Fake 0");
  const auto& process = trace.tracks.at(device.parent);
  EXPECT_TRUE(process.is_process);
  EXPECT_EQ(process.pid, getpid());
  EXPECT_EQ(process.process_name, "test");
  EXPECT_EQ(counts().kernels, 1u);
  EXPECT_EQ(counts().graph_operations, 0u);
}

TEST_F(WithRecording, CopiesAndSetsSayWhatTheyMove) {
  begin();
  const std::uint64_t start = now();
  fake::FakeActivity::Copy copy;
  copy.bytes = 4000;
  copy.start_ns = start;
  copy.end_ns = start + 1000;
  ASSERT_TRUE(gpu().copy(copy));
  copy.peer = true;
  copy.kind = 10;
  copy.source = copy.target = 3;
  copy.source_device = 5;
  copy.start_ns = start + 1000;
  copy.end_ns = start + 1000;
  ASSERT_TRUE(gpu().copy(copy));
  fake::FakeActivity::Set set;
  set.bytes = 64;
  set.value = 7;
  set.start_ns = start + 2000;
  set.end_ns = start + 3000;
  ASSERT_TRUE(gpu().set(set));
  end();
  const DecodedTrace trace = decoded();
  const auto copies = slices_of(trace, layout::kMemcpy);
  ASSERT_EQ(copies.size(), 2u);
  EXPECT_EQ(copies[0].begin.name, "Memcpy HtoD (Pinned -> Device)");
  EXPECT_EQ(copies[0].begin.args["bytes"], 4000);
  EXPECT_EQ(copies[0].begin.args["memory bandwidth (GB/s)"], 4.0);
  EXPECT_EQ(copies[1].begin.name, "Memcpy PtoP (Device -> Device)");
  EXPECT_EQ(copies[1].begin.args["fromDevice"], 5);
  EXPECT_FALSE(copies[1].begin.args.contains("memory bandwidth (GB/s)"));  // it took no time
  const auto sets = slices_of(trace, layout::kMemset);
  ASSERT_EQ(sets.size(), 1u);
  EXPECT_EQ(sets[0].begin.name, "Memset (Device)");
  EXPECT_EQ(sets[0].begin.args["bytes"], 64);
  EXPECT_EQ(sets[0].begin.args["value"], 7);
  EXPECT_EQ(counts().memcpys, 2u);
  EXPECT_EQ(counts().memsets, 1u);
}

TEST_F(WithRecording, WorkOfGraphsHasTheAnnotationsOfItsNodes) {
  const AnnotationId outer = registry_.name("decoder");
  const AnnotationId inner = *registry_.annotation(
      Json{{"name", "attention"}, {"bs", 8}, {"grid", "mine"}, {"stream", 60}, {"deep", {{"a", {1, nullptr}}}}});
  const AnnotationId merged = registry_.merge(outer, inner);
  registry_.graph_created(GraphId{1}, unix_time_ns());
  registry_.node_created(NodeId{GraphId{1}, LocalId{0}}, merged);
  registry_.node_created(NodeId{GraphId{1}, LocalId{1}}, outer);
  registry_.node_created(NodeId{GraphId{1}, LocalId{2}}, AnnotationId::none);
  registry_.exec_created(GraphId{2}, GraphId{1}, unix_time_ns());
  begin();
  const std::uint64_t start = now();
  for (std::uint32_t node = 0; node < 3; ++node) {
    fake::FakeActivity::Kernel kernel;
    kernel.node_id = std::uint64_t{2} << 32 | node;
    kernel.start_ns = start + node * 10;
    kernel.end_ns = start + node * 10 + 5;
    ASSERT_TRUE(gpu().kernel(kernel));
  }
  fake::FakeActivity::Set stranger;
  stranger.node_id = std::uint64_t{77} << 32;
  stranger.start_ns = stranger.end_ns = start + 50;
  ASSERT_TRUE(gpu().set(stranger));
  end();
  const DecodedTrace trace = decoded();
  const auto kernels = slices_of(trace, layout::kKernel);
  ASSERT_EQ(kernels.size(), 3u);
  json args = kernels[0].begin.args;
  EXPECT_EQ(args["name"], "attention");
  EXPECT_EQ(args["bs"], 8);
  EXPECT_EQ(args["grid"], json({1, 1, 1}));
  EXPECT_EQ(args["annotation.grid"], "mine");
  EXPECT_EQ(args["stream"], 7);
  EXPECT_EQ(args["annotated_stream"], 60);
  EXPECT_EQ(args["deep"], json({{"a", {1, nullptr}}}));
  EXPECT_EQ(args["graphtag.path"], json({"decoder", "attention"}));
  EXPECT_EQ(args["graphtag.origin"], "callback");
  EXPECT_EQ(args["graph id"], 2);
  EXPECT_EQ(args["graph node id"], std::uint64_t{2} << 32);
  EXPECT_EQ(kernels[1].begin.args["name"], "decoder");
  EXPECT_FALSE(kernels[1].begin.args.contains("graphtag.path"));  // its name alone
  EXPECT_FALSE(kernels[2].begin.args.contains("name"));
  EXPECT_EQ(kernels[2].begin.args["graphtag.origin"], "outside-scope");
  EXPECT_EQ(slices_of(trace, layout::kMemset)[0].begin.args["graphtag.origin"], "unknown-graph");
  EXPECT_EQ(counts().graph_operations, 4u);
  EXPECT_EQ(counts().graph_named, 2u);
}

TEST_F(WithRecording, CallsLieOnTheirThreadsWithArrowsToWhatTheyLaunched) {
  begin();
  const std::uint64_t start = now();
  const auto thread = static_cast<std::uint32_t>(getpid());
  // CUPTI writes the inner call first.
  ASSERT_TRUE(gpu().call({true, 307, start + 10, start + 20, thread, 9, 0}));
  ASSERT_TRUE(gpu().call({false, 211, start, start + 30, thread, 9, 0}));
  ASSERT_TRUE(gpu().call({false, 9999, start + 40, start + 50, thread, 10, 700}));
  fake::FakeActivity::Kernel kernel;
  kernel.correlation = 9;
  kernel.start_ns = start + 40;
  kernel.end_ns = start + 60;
  ASSERT_TRUE(gpu().kernel(kernel));
  ASSERT_TRUE(gpu().kernel(kernel));
  end();
  const DecodedTrace trace = decoded();
  const auto runtime = slices_of(trace, layout::kRuntimeCall);
  ASSERT_EQ(runtime.size(), 2u);
  EXPECT_EQ(runtime[0].begin.name, "cudaLaunchKernel");
  EXPECT_EQ(runtime[0].begin.args, json({{"correlation", 9}, {"cbid", 211}}));
  EXPECT_EQ(runtime[1].begin.name, "runtime call 9999");
  EXPECT_EQ(runtime[1].begin.args["return value"], 700);
  EXPECT_EQ(trace.tracks.at(runtime[0].track).name, "CUDA runtime");
  const auto& owner = trace.tracks.at(trace.tracks.at(runtime[0].track).parent);
  EXPECT_TRUE(owner.is_thread);
  EXPECT_EQ(owner.tid, getpid());
  const auto driver = slices_of(trace, layout::kDriverCall);
  ASSERT_EQ(driver.size(), 1u);
  EXPECT_EQ(driver[0].begin.name, "cuLaunchKernel");
  EXPECT_EQ(trace.tracks.at(driver[0].track).name, "CUDA driver");
  const auto kernels = slices_of(trace, layout::kKernel);
  ASSERT_EQ(kernels.size(), 2u);
  ASSERT_EQ(kernels[0].begin.ending_flows.size(), 1u);
  EXPECT_EQ(kernels[0].begin.ending_flows, runtime[0].begin.flows);
  EXPECT_TRUE(kernels[1].begin.ending_flows.empty());  // the same launch
  EXPECT_NE(kernels[0].track, kernels[1].track);       // they overlap
  EXPECT_EQ(trace.tracks.at(kernels[0].track).merge_key, trace.tracks.at(kernels[1].track).merge_key);
  EXPECT_EQ(counts().api_calls, 3u);
}

TEST_F(WithRecording, WorkOutsideGraphsHasTheScopeOfItsCall) {
  begin();
  const AnnotationId scope = registry_.name("warmup");
  const std::uint64_t start = now();
  const auto launch = [&](std::uint32_t correlation) {
    fake::FakeActivity::Kernel kernel;
    kernel.correlation = correlation;
    kernel.start_ns = start;
    kernel.end_ns = start + 1;
    // The work stands before its call.
    EXPECT_TRUE(gpu().kernel(kernel));
    EXPECT_TRUE(gpu().call({false, 211, start, start + 1, 1, correlation, 0}));
  };
  bool pushed = recording_->name_calls(scope, false);
  EXPECT_TRUE(pushed);
  launch(1);
  pushed = recording_->name_calls(AnnotationId::none, pushed);
  EXPECT_FALSE(pushed);
  launch(2);
  // Of another tool, and of an earlier recording.
  ASSERT_TRUE(gpu().push_external_id(3, static_cast<std::uint32_t>(scope)).ok());
  ASSERT_TRUE(gpu().push_external_id(5, std::uint64_t{7} << 32 | static_cast<std::uint32_t>(scope)).ok());
  launch(3);
  end();
  const auto kernels = slices_of(decoded(), layout::kKernel);
  ASSERT_EQ(kernels.size(), 3u);
  for (const DecodedSlice& kernel : kernels) {
    const bool first = kernel.begin.args["correlation"] == 1;
    EXPECT_EQ(kernel.begin.args.value("name", "-"), first ? "warmup" : "-");
  }
  EXPECT_EQ(counts().other_named, 1u);
}

TEST_F(WithRecording, BadTimesAreMarkedAndCountedAndNotDrawn) {
  begin();
  const std::uint64_t start = now();
  struct Case {
    std::uint64_t start_ns, end_ns;
    bool start_fits;
  };
  const Case cases[] = {{0, 0, false},
                        {0, start, false},
                        {start, 0, true},
                        {start + 100, start, true},
                        {start - 3'600'000'000'000, start, false},
                        {start, start + 3'600'000'000'000, true},
                        {~std::uint64_t{0}, ~std::uint64_t{0}, false}};
  fake::FakeActivity::Kernel good;
  good.start_ns = good.end_ns = start;
  ASSERT_TRUE(gpu().kernel(good));
  for (const Case& c : cases) {
    fake::FakeActivity::Kernel kernel;
    kernel.start_ns = c.start_ns;
    kernel.end_ns = c.end_ns;
    ASSERT_TRUE(gpu().kernel(kernel));
  }
  ASSERT_TRUE(gpu().call({false, 211, start + 5, start, 1, 1, 0}));
  end();
  const DecodedTrace trace = decoded();
  std::multimap<std::pair<std::uint64_t, std::uint64_t>, const DecodedSlice*> marked;
  const auto kernels = slices_of(trace, layout::kKernel);
  ASSERT_EQ(kernels.size(), std::size(cases) + 1);
  std::uint64_t good_start = 0;
  for (const DecodedSlice& slice : kernels) {
    EXPECT_EQ(slice.start, slice.end);
    if (!slice.begin.args.contains("graphtag.bad_time")) {
      good_start = slice.start;
      continue;
    }
    const json& times = slice.begin.args["graphtag.bad_time"];
    marked.emplace(std::pair{times["start"].get<std::uint64_t>(), times["end"].get<std::uint64_t>()}, &slice);
  }
  ASSERT_EQ(marked.size(), std::size(cases));
  for (const Case& c : cases) {
    const auto found = marked.find({c.start_ns, c.end_ns});
    ASSERT_NE(found, marked.end()) << c.start_ns << " " << c.end_ns;
    if (c.start_fits) {
      EXPECT_EQ(found->second->start - good_start, c.start_ns - start);
    }
  }
  EXPECT_EQ(counts().bad_times, std::size(cases) + 1);
  EXPECT_EQ(slices_of(trace, layout::kRuntimeCall).at(0).begin.args["graphtag.bad_time"]["end"], start);
  double last = -1;
  for (const DecodedEvent& event : trace.events) {
    if (event.type == 4 && trace.tracks.at(event.track).name == layout::kBadTimesCounter) last = event.counter;
  }
  EXPECT_EQ(last, std::size(cases) + 1);
}

TEST_F(WithRecording, RangesAndMarksOfTheHost) {
  begin();
  const std::int64_t start = unix_time_ns();
  HostRange range;
  range.start_ns = start;
  range.end_ns = start + 100;
  range.thread = getpid();
  range.text = "step";
  range.domain = "app";
  range.category = "loop";
  range.payload_type = HostRange::Payload::real;
  range.payload_bits = std::bit_cast<std::uint64_t>(0.5);
  recording_->range(range);
  range.payload_type = HostRange::Payload::integer;
  range.payload_bits = static_cast<std::uint64_t>(std::int64_t{-5});
  range.overlaps = true;
  range.unfinished = true;
  recording_->range(range);
  range.start_ns += 50;
  range.end_ns += 50;
  recording_->range(range);
  HostRange mark;
  mark.mark = true;
  mark.start_ns = start + 7;
  mark.thread = getpid();
  mark.text = "bad \xff utf";
  recording_->range(mark);
  end();
  const DecodedTrace trace = decoded();
  const auto ranges = slices_of(trace, layout::kRange);
  ASSERT_EQ(ranges.size(), 3u);
  EXPECT_EQ(ranges[0].begin.name, "step");
  EXPECT_EQ(ranges[0].start, static_cast<std::uint64_t>(start));
  EXPECT_EQ(ranges[0].end, static_cast<std::uint64_t>(start + 100));
  EXPECT_EQ(ranges[0].begin.args, json({{"nvtx_domain", "app"}, {"nvtx_category", "loop"}, {"payload", 0.5}}));
  EXPECT_EQ(trace.tracks.at(ranges[0].track).tid, getpid());
  EXPECT_EQ(ranges[1].begin.args["payload"], -5);
  EXPECT_EQ(ranges[1].begin.args["unfinished"], true);
  EXPECT_EQ(trace.tracks.at(ranges[1].track).parent, ranges[0].track);
  EXPECT_NE(ranges[1].track, ranges[2].track);
  const auto marks = instants_of(trace, "bad \xEF\xBF\xBD utf");
  ASSERT_EQ(marks.size(), 1u);
  EXPECT_EQ(marks[0].timestamp, static_cast<std::uint64_t>(start + 7));
  EXPECT_EQ(counts().ranges, 4u);
}

TEST_F(WithRecording, TheFileSaysWhatItIsAndHowItEnded) {
  begin();
  ASSERT_TRUE(gpu().overhead(5U << 16, now(), now(), 1, 42));
  ASSERT_TRUE(gpu().unknown());
  end();
  const DecodedTrace trace = decoded();
  const auto begins = instants_of(trace, layout::kBeginEvent);
  ASSERT_EQ(begins.size(), 1u);
  EXPECT_EQ(begins[0].args["schema"], layout::kSchema);
  EXPECT_EQ(begins[0].args["host"], "here");
  EXPECT_EQ(begins[0].args["segment"], 1);
  EXPECT_EQ(begins[0].args["chapter"], 1);
  const auto ends = instants_of(trace, layout::kEndEvent);
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_EQ(ends[0].args["state"], "ended");
  EXPECT_EQ(ends[0].args["overheads"], 1);
  EXPECT_EQ(ends[0].args["records_unknown"], 1);
  const auto overheads = slices_of(trace, layout::kOverhead);
  ASSERT_EQ(overheads.size(), 1u);
  EXPECT_EQ(overheads[0].begin.name, "Lazy Function Loading");
  EXPECT_EQ(overheads[0].begin.args["thread"], 42);
  EXPECT_EQ(trace.primary_clock, 6);
  EXPECT_EQ(trace.clocks.at(6), trace.clocks.at(1));
  EXPECT_TRUE(trace.clocks.contains(3));
  EXPECT_TRUE(trace.clocks.contains(128));
  EXPECT_FALSE(gpu().is_on());
}

TEST_F(WithRecording, DropsForWantOfBuffersAreCounted) {
  RecordingOptions wanted = options();
  wanted.buffer_count = 2;
  wanted.buffer_bytes = 4096;
  begin(wanted);
  gpu().keep_full_buffers(true);
  std::uint64_t made = 0, kept = 0;
  for (; made < 1000; ++made) {
    fake::FakeActivity::Kernel kernel;
    kernel.start_ns = kernel.end_ns = now();
    kept += gpu().kernel(kernel) ? 1 : 0;
  }
  EXPECT_GE(kept, 2u * (4096 / 208));
  EXPECT_LT(kept, made);
  gpu().keep_full_buffers(false);
  end();
  EXPECT_EQ(counts().kernels, kept);
  EXPECT_EQ(counts().dropped_by_cupti, made - kept);
  EXPECT_EQ(counts().buffers_refused, made - kept);
  const DecodedTrace trace = decoded();
  EXPECT_EQ(slices_of(trace, layout::kKernel).size(), kept);
  const auto problems = instants_of(trace, "dropped");
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].category, layout::kProblemCategory);
  EXPECT_EQ(problems[0].args["count"], made - kept);
}

TEST_F(WithRecording, WhereBuffersRunOutCuptiIsAskedForTheFullOnes) {
  RecordingOptions wanted = options();
  wanted.buffer_count = 2;
  wanted.buffer_bytes = 4096;
  wanted.flush_period = std::chrono::minutes(1);
  begin(wanted);
  gpu().keep_full_buffers(true);  // until it is asked
  fake::FakeActivity::Kernel kernel;
  kernel.start_ns = kernel.end_ns = now();
  while (gpu().kernel(kernel)) {
  }
  while (!gpu().kernel(kernel)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  end();
}

TEST_F(WithRecording, WhatIsFlushedIsInTheFile) {
  begin();
  fake::FakeActivity::Kernel kernel;
  kernel.start_ns = kernel.end_ns = now();
  ASSERT_TRUE(gpu().kernel(kernel));
  EXPECT_EQ(recording_->flush(std::chrono::seconds(20)), Recording::Flushed::ok);
  EXPECT_EQ(slices_of(decoded(), layout::kKernel).size(), 1u);
  EXPECT_TRUE(instants_of(decoded(), layout::kEndEvent).empty());
  end();
}

TEST_F(WithRecording, ItIsWrittenByItself) {
  RecordingOptions wanted = options();
  wanted.flush_period = std::chrono::milliseconds(10);
  begin(wanted);
  fake::FakeActivity::Kernel kernel;
  kernel.start_ns = kernel.end_ns = now();
  ASSERT_TRUE(gpu().kernel(kernel));
  while (slices_of(decode_recording(testing::whole_packets(content_of(file()))), layout::kKernel).empty()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  end();
}

TEST_F(WithRecording, AFlushDoesNotWaitForCuptiBeyondItsTime) {
  begin();
  gpu().hold_flushes(true);
  EXPECT_EQ(recording_->flush(std::chrono::milliseconds(50)), Recording::Flushed::too_late);
  gpu().hold_flushes(false);
  end();
}

TEST_F(WithRecording, AnotherToolThatTakesTheRecordsOverIsSaid) {
  begin();
  fake::FakeActivity::Kernel kernel;
  kernel.start_ns = kernel.end_ns = now();
  ASSERT_TRUE(gpu().kernel(kernel));
  gpu().take_over();
  end();
  EXPECT_EQ(recording_->state(), RecordingState::other_profiler);
  EXPECT_EQ(counts().buffers_kept, 1u);
  const DecodedTrace trace = decoded();
  EXPECT_EQ(instants_of(trace, "other-profiler").size(), 1u);
  EXPECT_EQ(instants_of(trace, layout::kEndEvent).at(0).args["state"], "other-profiler");
}

TEST_F(WithRecording, WayIsMadeForAnotherProfiler) {
  begin();
  fake::FakeActivity::Kernel kernel;
  kernel.start_ns = kernel.end_ns = now();
  ASSERT_TRUE(gpu().kernel(kernel));
  ASSERT_TRUE(recording_->end(RecordingState::other_profiler));
  EXPECT_EQ(recording_->state(), RecordingState::other_profiler);
  EXPECT_FALSE(gpu().is_on());
  const DecodedTrace trace = decoded();
  EXPECT_EQ(slices_of(trace, "kernel").size(), 1u);
  const auto said = instants_of(trace, "other-profiler");
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0].category, "graphtag.problem");
  const DecodedEvent ended = instants_of(trace, layout::kEndEvent).at(0);
  EXPECT_EQ(ended.args["state"], "other-profiler");
  EXPECT_EQ(ended.args["buffers_kept"], 0);
}

// A thread that is within a call just then may hold a buffer.
TEST_F(WithRecording, WayIsMadeAlsoWhereABufferIsNotGivenBack) {
  begin();
  fake::FakeActivity::Kernel kernel;
  kernel.start_ns = kernel.end_ns = now();
  ASSERT_TRUE(gpu().kernel(kernel));
  gpu().take_over();
  ASSERT_TRUE(recording_->end(RecordingState::other_profiler));
  const DecodedTrace trace = decoded();
  const auto said = instants_of(trace, "other-profiler");
  ASSERT_EQ(said.size(), 1u);
  EXPECT_THAT(said[0].args["what"].get<std::string>(), ::testing::HasSubstr("started a profiler of its own"));
  EXPECT_EQ(instants_of(trace, layout::kEndEvent).at(0).args["buffers_kept"], 1);
}

TEST_F(WithRecording, RefusalsAreErrors) {
  gpu().refuse_next_start();
  const auto refused = Recording::begin(cuda_.driver(), registry_, options());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::refused);
  RecordingOptions nowhere = options();
  nowhere.path = (folder_ / "no/such/folder.pftrace").string();
  const auto no_file = Recording::begin(cuda_.driver(), registry_, nowhere);
  ASSERT_FALSE(no_file);
  EXPECT_EQ(no_file.error().code, ErrorCode::io);
  EXPECT_EQ(no_file.error().file, nowhere.path);
  nowhere.path = "/dev/null";
  EXPECT_FALSE(Recording::begin(cuda_.driver(), registry_, nowhere));  // no regular file
}

}  // namespace
}  // namespace graphtag
