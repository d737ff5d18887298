// How fast is Perfetto output? The trace is read from memory; "read" is the reader alone, "chrome" and "perfetto" add a writer into nowhere. The
// trace is tests/golden/h200/decode_60 (41 280 kernels; run this in the repository), or the file named by GRAPHTAG_BENCH_TRACE.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "trace/byte_stream.h"
#include "trace/kineto/kineto_reader.h"
#include "write/trace_writer.h"

namespace graphtag {
namespace {

const std::string& content() {
  static const std::string text = [] {
    const char* named = std::getenv("GRAPHTAG_BENCH_TRACE");
    const std::string path = named != nullptr ? named : "tests/golden/h200/decode_60.json.gz";
    Problems problems;
    auto opened = open_source(path, problems);
    if (!opened) return std::string{};
    std::string all;
    std::string buffer(std::size_t{1} << 20, '\0');
    while (true) {
      const auto got = opened->source->read(buffer.data(), buffer.size());
      if (!got || *got == 0) return all;
      all.append(buffer, 0, *got);
    }
  }();
  return text;
}

class Nowhere final : public ByteSink {
 public:
  Result<void> write(std::string_view bytes) override {
    bytes_ += bytes.size();
    return {};
  }
  Result<void> finish() override { return {}; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  std::uint64_t bytes_ = 0;
};

// Hands events on as they are, every graphed one with the same annotation.
class Feeder final : public EventVisitor {
 public:
  explicit Feeder(NamedEventConsumer* consumer) : consumer_(consumer) {
    GraphRecord graph;
    graph.id = GraphId{1};
    const auto id = source_.file->annotations.intern(Json{{"name", "model.layers.3.mlp"}, {"bs", 8}});
    graph.runs.push_back({LocalId{0}, id ? *id : AnnotationId::none, Origin::callback});
    source_.file->graphs.push_back(std::move(graph));
    annotations_ = AnnotationSet{{&source_}};
    annotation_ = annotations_.resolve(NodeId{GraphId{1}, LocalId{0}}).annotation;
  }
  Result<void> on_member(std::string_view key, std::string_view value, bool after_events) override {
    return consumer_ != nullptr ? consumer_->member(key, value, after_events) : Result<void>{};
  }
  Result<void> on_events_begin(const TraceInfo& info) override {
    return consumer_ != nullptr ? consumer_->begin({&info, &annotations_, Lanes::none, 7}) : Result<void>{};
  }
  Result<void> on_event(const Event& event) override {
    ++events_;
    if (consumer_ == nullptr) return {};
    NamedEvent named{event, AnnotationId::none, Origin::no_node_id, {}};
    if (is_gpu_operation(event.kind) && event.graph_id != 0) named.annotation = annotation_;
    return consumer_->event(named);
  }
  std::uint64_t events() const { return events_; }

 private:
  NamedEventConsumer* consumer_;
  AnnotationSource source_;
  AnnotationSet annotations_;
  AnnotationId annotation_ = AnnotationId::none;
  std::uint64_t events_ = 0;
};

void run(benchmark::State& state, std::unique_ptr<NamedEventConsumer> (*writer)(ByteSink&)) {
  if (content().empty()) {
    state.SkipWithError("cannot read the trace");
    return;
  }
  Nowhere last;
  for (auto _ : state) {
    Nowhere sink;
    const auto consumer = writer != nullptr ? writer(sink) : nullptr;
    Feeder feeder{consumer.get()};
    ReadResult read;
    const auto source = memory_source(content());
    auto result = read_kineto(*source, "trace", feeder, read);
    if (result && consumer != nullptr) result = consumer->finish({}, {}, read);
    if (!result) {
      state.SkipWithError(result.error().message.c_str());
      return;
    }
    state.counters["events"] = static_cast<double>(feeder.events());
    state.counters["out_MB"] = static_cast<double>(sink.bytes()) / 1e6;
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * static_cast<std::int64_t>(content().size()));
}

void read(benchmark::State& state) {
  run(state, nullptr);
}
void chrome(benchmark::State& state) {
  run(state, chrome_writer);
}
void perfetto(benchmark::State& state) {
  run(state, perfetto_writer);
}

BENCHMARK(read)->Unit(benchmark::kMillisecond);
BENCHMARK(chrome)->Unit(benchmark::kMillisecond);
BENCHMARK(perfetto)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace graphtag

BENCHMARK_MAIN();
