// What does a record cost the writer's thread, and how many bytes does it take? A graph of 700 kernels in 70 regions, over and over; beside it the same
// kernels through the general event encoder that `annotate -o x.pftrace` uses.
#include <benchmark/benchmark.h>

#include <nlohmann/json.hpp>
#include <string>

#include "base/recording_layout.h"
#include "base/unix_time.h"
#include "record/record_encoder.h"
#include "tests/fake/fake_cuda.h"

namespace graphtag {
namespace {

constexpr std::uint32_t kNodes = 700;
constexpr std::size_t kChunk = std::size_t{1} << 20;
constexpr const char* kName =
    "_ZN7cutlass7Kernel2I66cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_32x3_tn_align8EEvNT_6ParamsE";

struct Made {
  Registry registry;
  fake::FakeCuda cuda;
  Made() {
    registry.graph_created(GraphId{1}, unix_time_ns());
    for (std::uint32_t i = 0; i < kNodes; ++i) {
      const AnnotationId layer = registry.name("model.layers." + std::to_string(i / 70));
      const AnnotationId part = registry.name("part" + std::to_string(i / 10 % 7));
      registry.node_created(NodeId{GraphId{1}, LocalId{i}}, registry.merge(layer, part));
    }
    registry.exec_created(GraphId{2}, GraphId{1}, unix_time_ns());
  }
};
Made& made() {
  static Made* const one = new Made;
  return *one;
}

GpuActivity operation_of(std::uint64_t number, std::uint64_t begin_ns) {
  GpuActivity operation;
  operation.name = kName;
  operation.node = NodeId{GraphId{2}, LocalId{static_cast<std::uint32_t>(number % kNodes)}};
  operation.graph = GraphId{2};
  operation.correlation = static_cast<std::uint32_t>(number / kNodes + 1000);
  operation.context = 1;
  operation.stream = 7;
  operation.start_ns = begin_ns + number % 1000000;
  operation.end_ns = operation.start_ns + 1;
  operation.grid[0] = 132;
  operation.grid[1] = operation.grid[2] = operation.block[1] = operation.block[2] = 1;
  operation.block[0] = 256;
  operation.registers = 255;
  operation.shared_bytes = 98304;
  return operation;
}

void recorder(benchmark::State& state) {
  RecordCounts counts;
  std::string out;
  out.reserve(2 * kChunk);
  RecordEncoder encoder(out, TrackOwner{1, "bench", 1}, made().registry, made().cuda.driver(), counts);
  std::uint64_t begin_ns = 0;
  static_cast<void>(made().cuda.driver().timestamp_ns(begin_ns));
  encoder.clock().begin({unix_time_ns(), begin_ns});
  encoder.begin_chapter();
  std::uint64_t number = 0, bytes = 0;
  for (auto _ : state) {
    encoder.operation(operation_of(number++, begin_ns));
    if (out.size() > kChunk) {
      bytes += out.size();
      out.clear();
    }
  }
  bytes += out.size();
  state.counters["bytes"] = static_cast<double>(bytes) / static_cast<double>(number);
  if (counts.graph_named != number) state.SkipWithError("not all were named");
}
BENCHMARK(recorder);

void general_encoder(benchmark::State& state) {
  std::string out;
  out.reserve(2 * kChunk);
  InternedStrings strings;
  EventEncoder encoder(strings);
  PacketSequence sequence(3, strings);
  std::uint64_t number = 0, bytes = 0;
  for (auto _ : state) {
    const GpuActivity operation = operation_of(number++, 1);
    const Resolution found = made().registry.resolve(operation.node, unix_time_ns());
    encoder.clear();
    encoder.category(recording::kKernel);
    encoder.name(operation.name);
    {
      ArgWriter args = encoder.args();
      args.unsigned_integer(recording::kDevice, operation.device);
      args.unsigned_integer(recording::kContext, operation.context);
      args.unsigned_integer(recording::kStream, operation.stream);
      args.unsigned_integer(recording::kCorrelation, operation.correlation);
      args.unsigned_integer(recording::kGraphId, operation.graph.value);
      args.unsigned_integer(recording::kGraphNodeId, operation.node.value);
      args.string(recording::kOrigin, to_string(found.origin));
      for (const auto& [key, values] :
           {std::pair{recording::kGrid, operation.grid}, std::pair{recording::kBlock, operation.block}}) {
        ArgWriter array = args.array(key);
        for (int i = 0; i < 3; ++i) array.integer({}, values[i]);
      }
      args.unsigned_integer(recording::kRegisters, operation.registers);
      args.unsigned_integer(recording::kSharedMemory, operation.shared_bytes);
      const Annotation& annotation = made().registry[found.annotation];
      for (const auto& member : annotation.object->items()) write_json_arg(args, member.key(), member.value());
      ArgWriter path = args.array(recording::kPath);
      for (const std::string& name : annotation.path) path.string({}, name);
    }
    TrackEvent event;
    event.type = TrackEventType::slice_begin;
    event.track = 1;
    event.timestamp_ns = operation.start_ns;
    event.body = encoder.body();
    event.used = encoder.used();
    sequence.append(out, event);
    event.type = TrackEventType::slice_end;
    event.body = {};
    event.used = {};
    sequence.append(out, event);
    if (out.size() > kChunk) {
      bytes += out.size();
      out.clear();
    }
  }
  bytes += out.size();
  state.counters["bytes"] = static_cast<double>(bytes) / static_cast<double>(number);
}
BENCHMARK(general_encoder);

}  // namespace
}  // namespace graphtag

BENCHMARK_MAIN();
