// Perfetto output of random timelines against a slow plain twin.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <tuple>

#include "tests/support/made_event.h"
#include "tests/support/perfetto_decoder.h"
#include "write/trace_writer.h"

namespace graphtag {
namespace {

using testing::DecodedSlice;
using testing::DecodedTrace;
using testing::MadeEvent;

struct Operation {
  std::string name;  // unique
  std::int64_t start = 0, end = 0;
  int stream = 0;
  std::uint64_t correlation = 0;  // 0: not in a graph
  int annotation = 0;             // index of kNames; 0: none
};

// name, start, end
using Slice = std::tuple<std::string, std::uint64_t, std::uint64_t>;

const std::vector<std::string> kNames{"", "a", "a.b", "a.b.c", "a.c", "b"};

std::vector<std::string> prefixes(const std::string& name) {
  std::vector<std::string> out;
  for (std::size_t dot = 0; !name.empty() && dot != std::string::npos;) {
    dot = name.find('.', dot == 0 ? 0 : dot + 1);
    out.push_back(name.substr(0, dot));
  }
  return out;
}

// Operations of a stream, each on the first row that is free; rows of operations in order.
std::vector<std::vector<Operation>> twin_rows(std::vector<Operation> operations) {
  std::stable_sort(operations.begin(), operations.end(), [](const Operation& a, const Operation& b) {
    return std::pair{a.start, a.end} < std::pair{b.start, b.end};
  });
  std::vector<std::vector<Operation>> rows;
  for (const auto& operation : operations) {
    auto row = std::find_if(rows.begin(), rows.end(), [&operation](const auto& r) { return r.back().end <= operation.start; });
    if (row == rows.end()) row = rows.emplace(rows.end());
    row->push_back(operation);
  }
  return rows;
}

// The maximal runs of each region, found level by level.
std::multiset<Slice> twin_regions(const std::vector<Operation>& row) {
  std::multiset<Slice> slices;
  for (std::size_t level = 0; level < 3; ++level) {
    const auto key = [level](const Operation& operation) {
      const auto path = prefixes(kNames[static_cast<std::size_t>(operation.annotation)]);
      return path.size() > level ? std::pair{operation.correlation, path[level]} : std::pair{std::uint64_t{0}, std::string{}};
    };
    for (std::size_t first = 0; first < row.size();) {
      std::size_t last = first;
      while (last + 1 < row.size() && key(row[last + 1]) == key(row[first])) ++last;
      if (!key(row[first]).second.empty()) {
        slices.emplace(key(row[first]).second, static_cast<std::uint64_t>(row[first].start),
                       static_cast<std::uint64_t>(row[last].end));
      }
      first = last + 1;
    }
  }
  return slices;
}

struct Trace {
  std::vector<Operation> operations;
  std::vector<Operation> host;  // correlation: of launches
};

rc::Gen<Operation> operation_gen(bool gpu) {
  return rc::gen::map(rc::gen::tuple(rc::gen::inRange(0, 60), rc::gen::inRange(0, 12), rc::gen::inRange(0, 2),
                                     rc::gen::inRange(0, 4), rc::gen::inRange(0, 6)),
                      [gpu](const std::tuple<int, int, int, int, int>& parts) {
                        const auto [start, duration, stream, correlation, annotation] = parts;
                        Operation operation;
                        operation.start = start;
                        operation.end = start + duration;
                        operation.stream = gpu ? 7 + stream : 1000 + stream;
                        operation.correlation = static_cast<std::uint64_t>(correlation);
                        operation.annotation = gpu && correlation != 0 ? annotation : 0;
                        return operation;
                      });
}

std::string written(const Trace& trace) {
  AnnotationSource source;
  GraphRecord graph;
  graph.id = GraphId{3};
  for (std::size_t i = 1; i < kNames.size(); ++i) {
    const auto id = source.file->annotations.intern(Json{{"name", kNames[i]}});
    RC_ASSERT(id.ok());
    graph.runs.push_back({LocalId{static_cast<std::uint32_t>(i)}, *id, Origin::callback});
  }
  source.file->graphs.push_back(std::move(graph));
  const AnnotationSet annotations{{&source}};
  TraceInfo info;
  std::string bytes;
  const auto sink = string_sink(bytes);
  const auto writer = perfetto_writer(*sink);
  RC_ASSERT(writer->begin({&info, &annotations, Lanes::none, 7}).ok());
  for (const auto& operation : trace.operations) {
    MadeEvent event;
    event.name = operation.name;
    event.start_ns = operation.start;
    event.duration_ns = operation.end - operation.start;
    event.tid = std::to_string(operation.stream);
    if (operation.correlation != 0) {
      event.correlation = operation.correlation;
      event.graph_id = 3;
    }
    if (operation.annotation != 0) {
      event.annotation =
          annotations.resolve(NodeId{GraphId{3}, LocalId{static_cast<std::uint32_t>(operation.annotation)}}).annotation;
    }
    RC_ASSERT(event.give_to(*writer).ok());
  }
  for (const auto& operation : trace.host) {
    MadeEvent event;
    event.name = operation.name;
    event.kind = EventKind::host_slice;
    event.category = "cuda_runtime";
    event.pid = "999";
    event.tid = std::to_string(operation.stream);
    event.start_ns = operation.start;
    event.duration_ns = operation.end - operation.start;
    if (operation.correlation != 0) event.correlation = operation.correlation;
    RC_ASSERT(event.give_to(*writer).ok());
  }
  RC_ASSERT(writer->finish({}, {}, {}).ok());
  return bytes;
}

Trace random_trace() {
  Trace trace;
  trace.operations = *rc::gen::container<std::vector<Operation>>(operation_gen(true));
  trace.host = *rc::gen::container<std::vector<Operation>>(operation_gen(false));
  int number = 0;
  for (auto& operation : trace.operations) operation.name = "k" + std::to_string(number++);
  for (auto& operation : trace.host) operation.name = "h" + std::to_string(number++);
  return trace;
}

RC_GTEST_PROP(PerfettoOutput, OperationsAndRegionsAreTheTwins, ()) {
  const Trace trace = random_trace();
  const DecodedTrace decoded{written(trace)};
  for (const int stream : {7, 8}) {
    std::vector<Operation> operations;
    for (const auto& operation : trace.operations) {
      if (operation.stream == stream) operations.push_back(operation);
    }
    std::vector<const testing::DecodedTrack*> tracks;  // uuids ascend in the order of rows
    std::set<std::string> merge_keys;
    for (const auto& [uuid, track] : decoded.tracks) {
      if (track.name != "stream " + std::to_string(stream)) continue;
      tracks.push_back(&track);
      merge_keys.insert(track.merge_key);
      RC_ASSERT(track.merge_behavior == 3);
    }
    const auto rows = twin_rows(operations);
    RC_ASSERT(tracks.size() == rows.size());
    RC_ASSERT(merge_keys.size() == (rows.empty() ? 0u : 1u));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::multiset<Slice> kernels, regions, expected;
      for (const auto& slice : decoded.slices()) {
        if (slice.track != tracks[i]->uuid) continue;
        (slice.begin.category == "region" ? regions : kernels).emplace(slice.begin.name, slice.start, slice.end);
      }
      for (const auto& operation : rows[i]) {
        expected.emplace(operation.name, static_cast<std::uint64_t>(operation.start), static_cast<std::uint64_t>(operation.end));
      }
      RC_ASSERT(kernels == expected);
      RC_ASSERT(regions == twin_regions(rows[i]));
    }
  }
}

RC_GTEST_PROP(PerfettoOutput, EverySliceIsThereOnceAndNests, ()) {
  const Trace trace = random_trace();
  const DecodedTrace decoded{written(trace)};  // checks order, ENDs and strings
  std::multiset<Slice> slices, expected;
  std::map<std::uint64_t, std::vector<const DecodedSlice*>> open;  // track -> the slices around the last one
  for (const auto& slice : decoded.slices()) {
    auto& stack = open[slice.track];
    stack.resize(static_cast<std::size_t>(slice.depth));
    if (!stack.empty()) RC_ASSERT(stack.back()->start <= slice.start && slice.end <= stack.back()->end);
    stack.push_back(&slice);
    if (slice.begin.category != "region") slices.emplace(slice.begin.name, slice.start, slice.end);
  }
  for (const auto* list : {&trace.operations, &trace.host}) {
    for (const auto& operation : *list) {
      expected.emplace(operation.name, static_cast<std::uint64_t>(operation.start), static_cast<std::uint64_t>(operation.end));
    }
  }
  RC_ASSERT(slices == expected);
}

RC_GTEST_PROP(PerfettoOutput, EveryOperationWithALaunchHasOneArrowFromIt, ()) {
  const Trace trace = random_trace();
  const DecodedTrace decoded{written(trace)};
  std::map<std::uint64_t, std::string> starts, ends;  // arrow -> slice
  for (const auto& slice : decoded.slices()) {
    for (const auto id : slice.begin.flows) RC_ASSERT(starts.emplace(id, slice.begin.name).second);
    for (const auto id : slice.begin.ending_flows) RC_ASSERT(ends.emplace(id, slice.begin.name).second);
  }
  std::map<std::string, std::uint64_t> correlation_of;  // slice -> correlation
  std::set<std::uint64_t> launched;
  for (const auto& operation : trace.host) {
    correlation_of[operation.name] = operation.correlation;
    launched.insert(operation.correlation);
  }
  std::size_t expected = 0;
  for (const auto& operation : trace.operations) {
    correlation_of[operation.name] = operation.correlation;
    if (operation.correlation != 0 && launched.contains(operation.correlation)) ++expected;
  }
  RC_ASSERT(starts.size() == expected);
  RC_ASSERT(ends.size() == expected);
  for (const auto& [id, slice] : starts) RC_ASSERT(correlation_of[slice] == correlation_of[ends.at(id)]);
}

}  // namespace
}  // namespace graphtag
