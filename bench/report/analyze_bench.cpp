// Is the analysis small beside the reading? Half a million records as a decoding server makes them, and a hundred thousand that all overlap.
// Reading 0.5 M records of JSON takes about 0.6 s, so analysis is to stay well under 0.1 s.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analyze/check.h"
#include "analyze/regions.h"

namespace graphtag {
namespace {

constexpr std::uint32_t kGraphs = 4;
constexpr std::uint32_t kNodes = 172;
constexpr int kLayers = 12;

// Replays of four graphs in turn, 12 layers of 14 kernels each and 4 kernels around them; every third kernel on a second stream, recorded late.
OperationTable decode_like(std::size_t records) {
  OperationTable table;
  std::vector<AnnotationId> of_node;
  const auto region = [&](const std::string& name, std::uint32_t graph) {
    return table.annotations.annotations().intern(Json{{"name", name}, {"bs", 1 << graph}}).value();
  };
  const std::vector<std::string> parts = {"input_norm",
                                          "self_attn.q_proj",
                                          "self_attn.k_proj",
                                          "self_attn.v_proj",
                                          "self_attn",
                                          "self_attn",
                                          "self_attn.o_proj",
                                          "post_norm",
                                          "mlp.gate_proj",
                                          "mlp.up_proj",
                                          "mlp",
                                          "mlp",
                                          "mlp.down_proj",
                                          "mlp"};
  for (std::uint32_t graph = 0; graph < kGraphs; ++graph) {
    of_node.push_back(region("model.embed", graph));
    for (int layer = 0; layer < kLayers; ++layer) {
      for (const std::string& part : parts)
        of_node.push_back(region("model.layers." + std::to_string(layer) + "." + part, graph));
    }
    of_node.push_back(region("model.norm", graph));
    of_node.push_back(region("model.lm_head", graph));
    of_node.push_back(AnnotationId::none);
  }
  table.devices = {0};
  const std::uint32_t name = table.names.intern("gemm");
  std::int64_t now_ns = 1'000;
  for (std::size_t i = 0; i < records; ++i) {
    GpuOperation operation;
    const auto replay = static_cast<std::uint32_t>(i / kNodes);
    if (i % kNodes == 0) table.replays.push_back({GraphId{100 + replay % kGraphs}, replay});
    operation.local_id = static_cast<std::uint32_t>(i % kNodes);
    operation.replay = replay;
    operation.annotation = of_node[(replay % kGraphs) * kNodes + operation.local_id];
    operation.origin = Origin::callback;
    operation.name = name;
    operation.stream = i % 3 == 2 ? 8 : 7;
    operation.start_ns = i % 3 == 2 ? now_ns - 2'500 : now_ns;
    operation.end_ns = operation.start_ns + 2'000 + static_cast<std::int64_t>(i * 7919 % 1000);
    now_ns += 3'000;
    table.operations.push_back(operation);
  }
  return table;
}

OperationTable all_overlapping(std::size_t records) {
  OperationTable table = decode_like(records);
  for (std::size_t i = 0; i < records; ++i)
    table.operations[i].end_ns = static_cast<std::int64_t>(records * 3'000 + i * 7919 % records);
  return table;
}

template <OperationTable make(std::size_t)>
void report(benchmark::State& state, const RegionOptions& options) {
  const auto records = static_cast<std::size_t>(state.range(0));
  for (auto _ : state) {
    state.PauseTiming();
    OperationTable table = make(records);
    state.ResumeTiming();
    const Result<RegionReport> result = analyze_regions(table, options);
    if (!result || result->records != records) std::abort();
    benchmark::DoNotOptimize(result->busy_ns);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void report_decode(benchmark::State& state) {
  report<decode_like>(state, {});
}
void report_decode_by_stream(benchmark::State& state) {
  RegionOptions options;
  options.by = {"bs", "stream"};
  report<decode_like>(state, options);
}
void report_all_overlapping(benchmark::State& state) {
  report<all_overlapping>(state, {});
}

void check_decode(benchmark::State& state) {
  const auto records = static_cast<std::size_t>(state.range(0));
  for (auto _ : state) {
    state.PauseTiming();
    OperationTable table = decode_like(records);
    state.ResumeTiming();
    const CheckReport result = check_operations(table, {}).value();
    if (result.graphs.size() != kGraphs) std::abort();
    benchmark::DoNotOptimize(result.busy_ns);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

BENCHMARK(report_decode)->Arg(500'000)->Unit(benchmark::kMillisecond);
BENCHMARK(report_decode_by_stream)->Arg(500'000)->Unit(benchmark::kMillisecond);
BENCHMARK(report_all_overlapping)->Arg(100'000)->Unit(benchmark::kMillisecond);
BENCHMARK(check_decode)->Arg(500'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace graphtag

BENCHMARK_MAIN();
