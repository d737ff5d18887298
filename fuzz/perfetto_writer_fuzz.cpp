// Any bytes as a trace: what the Perfetto writer makes of it keeps the format's rules (tests/support/perfetto_decoder.h), and every slice nests.
#include <cstdlib>
#include <map>
#include <string_view>
#include <vector>

#include "tests/support/perfetto_decoder.h"
#include "trace/byte_stream.h"
#include "trace/kineto/kineto_reader.h"
#include "write/trace_writer.h"

namespace {

using namespace graphtag;  // NOLINT(google-build-using-namespace)

// Annotates every operation that is in a graph with one of a few nested names.
class Feeder final : public EventVisitor {
 public:
  explicit Feeder(NamedEventConsumer& consumer) : consumer_(consumer) {
    GraphRecord graph;
    graph.id = GraphId{1};
    for (const char* name : {"a", "a.b", "a.b.c", "d"}) {
      auto id = source_.file->annotations.intern(Json{{"name", name}, {"device", 3}});
      if (id) graph.runs.push_back({LocalId{static_cast<std::uint32_t>(graph.runs.size())}, *id, Origin::callback});
    }
    source_.file->graphs.push_back(std::move(graph));
    annotations_ = AnnotationSet{{&source_}};
  }
  Result<void> on_member(std::string_view key, std::string_view value, bool after_events) override {
    return consumer_.member(key, value, after_events);
  }
  Result<void> on_events_begin(const TraceInfo& info) override { return consumer_.begin({&info, &annotations_, Lanes::none, 7}); }
  Result<void> on_event(const Event& event) override {
    NamedEvent named{event, AnnotationId::none, Origin::no_node_id, {}};
    if (is_gpu_operation(event.kind) && event.graph_id != 0) {
      named.annotation =
          annotations_.resolve(NodeId{GraphId{1}, LocalId{static_cast<std::uint32_t>(event.node_id % 5)}}).annotation;
      if (event.node_id % 7 == 6) named.lane = 61;
    }
    return consumer_.event(named);
  }

 private:
  NamedEventConsumer& consumer_;
  AnnotationSource source_;
  AnnotationSet annotations_;
};

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string out;
  const auto sink = string_sink(out);
  const auto writer = perfetto_writer(*sink);
  Feeder feeder{*writer};
  ReadResult read;
  const auto source = memory_source({reinterpret_cast<const char*>(data), size});
  if (!read_kineto(*source, "fuzz", feeder, read)) return 0;
  require(writer->finish({}, {}, read).ok());
  const graphtag::testing::DecodedTrace trace{out};
  std::map<std::uint64_t, std::vector<const graphtag::testing::DecodedSlice*>> open;  // track -> the slices around the last one
  for (const auto& slice : trace.slices()) {
    auto& stack = open[slice.track];
    stack.resize(static_cast<std::size_t>(slice.depth));
    require(slice.start <= slice.end);
    require(stack.empty() || (stack.back()->start <= slice.start && slice.end <= stack.back()->end));
    stack.push_back(&slice);
  }
  return 0;
}
