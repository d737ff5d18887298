#include "join/operations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/join_fixtures.h"

namespace graphtag {
namespace {

using ::testing::ElementsAre;
using testing::KernelText;
using testing::make_sources;
using testing::node;
using testing::TempFolder;
using testing::trace_text;

OperationTable read(const std::string& trace, const std::vector<AnnotationSource>& sources = {}) {
  const TempFolder folder;
  Result<OperationTable> table = read_operations(folder.write("trace.json", trace), sources);
  EXPECT_TRUE(table.ok()) << table.error().to_string();
  return table.ok() ? *std::move(table) : OperationTable{};
}

std::vector<Origin> origins(const OperationTable& table) {
  std::vector<Origin> all;
  for (const GpuOperation& operation : table.operations) all.push_back(operation.origin);
  return all;
}

// The annotation of an operation as canonical JSON, and its path.
std::string object_of(const OperationTable& table, std::size_t i) {
  return canonical_json(*table.annotations.annotations()[table.operations[i].annotation].object);
}
const std::vector<std::string>& path_of(const OperationTable& table, std::size_t i) {
  return table.annotations.annotations()[table.operations[i].annotation].path;
}

// Processes that are named by text stay apart, and from those that are numbered.
TEST(Operations, DevicesWithoutANumber) {
  const auto kernel = [](const std::string& pid) {
    return R"({"ph":"X","cat":"kernel","name":"k","pid":)" + pid + R"(,"tid":7,"ts":1,"dur":1,"args":{"stream":7}})";
  };
  const OperationTable table =
      read(trace_text({kernel("\"GPU a\""), kernel("\"GPU b\""), kernel("3"), kernel("\"GPU a\""), kernel("\"3\"")}));
  ASSERT_EQ(table.operations.size(), 5U);
  std::vector<std::int64_t> devices;
  for (const GpuOperation& operation : table.operations) devices.push_back(table.devices[operation.device]);
  EXPECT_THAT(devices, ElementsAre(-1, -2, 3, -1, 3));
}

TEST(Operations, OneRowAGpuRecord) {
  const OperationTable table = read(
      trace_text(
          {KernelText{.ts = "10.001", .dur = "2.5", .correlation = 9, .graph = 3, .local = 4, .name = "gemm \\\"x\\\""}.text(),
           R"({"ph":"X","cat":"cpu_op","name":"op","pid":9,"tid":9,"ts":1,"dur":1})",
           R"({"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD","pid":1,"tid":20,"ts":1,"dur":3,"args":{"device":1,"stream":20,"correlation":2,"bytes":4096}})"}),
      make_sources({{node(3, 4), R"({"name":"a"})"}}));
  ASSERT_EQ(table.operations.size(), 2U);
  const GpuOperation& kernel = table.operations[0];
  EXPECT_EQ(kernel.start_ns, 10001);
  EXPECT_EQ(kernel.end_ns, 12501);
  EXPECT_EQ(table.names[kernel.name], "gemm \"x\"");
  EXPECT_EQ(kernel.stream, 7);
  EXPECT_EQ(table.devices[kernel.device], 0);
  EXPECT_EQ(kernel.local_id, 4U);
  EXPECT_EQ(kernel.kind, OperationKind::kernel);
  EXPECT_EQ(kernel.origin, Origin::callback);
  EXPECT_EQ(table.replays[kernel.replay].graph, GraphId{3});
  EXPECT_EQ(table.replays[kernel.replay].correlation, 9U);
  EXPECT_EQ(object_of(table, 0), R"({"name":"a"})");
  const GpuOperation& copy = table.operations[1];
  EXPECT_EQ(copy.kind, OperationKind::memcpy);
  EXPECT_EQ(copy.bytes, 4096U);
  EXPECT_EQ(copy.replay, kNoReplay);
  EXPECT_EQ(copy.origin, Origin::no_node_id);
  EXPECT_THAT(table.devices, ElementsAre(0, 1));
}

TEST(Operations, AReplayIsAGraphAndALaunch) {
  const OperationTable table = read(
      trace_text({KernelText{.correlation = 1, .graph = 2}.text(), KernelText{.correlation = 1, .graph = 3}.text(),
                  KernelText{.correlation = 2, .graph = 2}.text(), KernelText{.correlation = 1, .graph = 2, .local = 1}.text()}));
  std::vector<std::uint32_t> replays;
  for (const GpuOperation& operation : table.operations) replays.push_back(operation.replay);
  EXPECT_THAT(replays, ElementsAre(0, 1, 2, 0));
  EXPECT_EQ(table.replays.size(), 3U);
}

TEST(Operations, RecordsWithoutAUsableTimeAreCountedNotKept) {
  std::string no_time = KernelText{}.text();
  no_time.replace(no_time.find(R"("ts": 10.000)"), 12, R"("ts": "soon")");
  const OperationTable table = read(trace_text({no_time, KernelText{.dur = "-1"}.text(), KernelText{}.text()}));
  EXPECT_EQ(table.operations.size(), 1U);
  EXPECT_EQ(table.bad_times, 2U);
}

TEST(Operations, ReasonsForHavingNoName) {
  const std::vector<std::string> events = {KernelText{.local = 5}.text(), KernelText{.graph = 77}.text(),
                                           KernelText{.graph = 0}.text()};
  EXPECT_THAT(origins(read(trace_text(events), make_sources({{node(2, 0), R"({"name":"a"})"}}))),
              ElementsAre(Origin::outside_scope, Origin::unknown_graph, Origin::no_node_id));
  EXPECT_THAT(origins(read(trace_text(events))), ElementsAre(Origin::no_annotations, Origin::no_annotations, Origin::no_node_id));
  // A trace that is marked as annotated had annotations.
  EXPECT_THAT(origins(read(trace_text(events, R"("cudaGraphInlineAnnotated": true,)"))),
              ElementsAre(Origin::outside_scope, Origin::outside_scope, Origin::no_node_id));
}

TEST(Operations, OneRecordAReplayWithoutNodeIdIsAGraphLevelTrace) {
  const auto graph_only = [](std::uint64_t correlation, std::uint64_t graph) {
    return R"({"ph":"X","cat":"kernel","name":"graph","pid":0,"tid":7,"ts":1,"dur":1,"args":{"stream":7,"correlation":)" +
           std::to_string(correlation) + R"(,"graph id":)" + std::to_string(graph) + "}}";
  };
  const OperationTable table = read(trace_text({graph_only(1, 2), graph_only(2, 2), graph_only(3, 4), graph_only(3, 4)}),
                                    make_sources({{node(2, 0), "{}"}}));
  EXPECT_THAT(origins(table),
              ElementsAre(Origin::graph_level_trace, Origin::graph_level_trace, Origin::no_node_id, Origin::no_node_id));
}

TEST(Operations, NamesOfArgsInAnUnmarkedTrace) {
  const OperationTable table =
      read(trace_text({KernelText{.args = R"(, "name": "a", "params": [1, {"x": null}], "dtype": "bf16")"}.text(),
                       KernelText{.local = 1, .args = R"(, "str": "old form")"}.text(),
                       KernelText{.local = 2, .args = R"(, "graphtag.path": ["out", "in"], "bs": 8)"}.text(),
                       KernelText{.local = 3, .args = R"(, "dtype": "float", "Collective name": "allreduce")"}.text(),
                       KernelText{.local = 4}.text(), KernelText{.graph = 0, .args = R"(, "name": "eager")"}.text()}));
  EXPECT_EQ(object_of(table, 0), R"({"dtype":"bf16","name":"a","params":[1,{"x":null}]})");
  EXPECT_EQ(object_of(table, 1), R"({"name":"old form"})");
  EXPECT_EQ(object_of(table, 2), R"({"bs":8})");
  EXPECT_THAT(path_of(table, 2), ElementsAre("out", "in"));
  EXPECT_THAT(origins(table), ElementsAre(Origin::callback, Origin::callback, Origin::callback, Origin::outside_scope,
                                          Origin::outside_scope, Origin::no_node_id));
}

TEST(Operations, KeysOfProfilersAreNoAnnotation) {
  const OperationTable table = read(trace_text(
      {KernelText{.args = R"(, "External id": 3, "occupancy": {"x": 1}, "priority": 0, "bytes": 4, "name": "a")"}.text(),
       R"({"ph":"X","cat":"gpu_memset","name":"Memset","pid":0,"tid":7,"ts":1,"dur":3,"args":{"stream":7,"correlation":1,"bytes":4,"graph id":2,"graph node id":8589934593,"value":0,"memory kind":"Device","name":"b"}})"}));
  EXPECT_EQ(object_of(table, 0), R"({"bytes":4,"name":"a"})");  // a kernel has no bytes of its own
  EXPECT_EQ(object_of(table, 1), R"({"name":"b"})");
}

TEST(Operations, NamesOfArgsInAMarkedTrace) {
  const std::string mark = R"("graphtag": {"keys": ["name", "grid", "stream", "graphtag.path"], "lanes": "none", "inputs": []},)";
  const OperationTable table = read(
      trace_text({KernelText{.args = R"(, "name": "theirs", "annotation.name": "ours", "annotation.grid": 5, "note": 1)"}.text(),
                  KernelText{.local = 1, .args = R"(, "grid": 6, "note": 2)"}.text(),
                  KernelText{.local = 2, .args = R"(, "name": "c", "annotated_stream": 61, "graphtag.path": ["b", "c"])"}.text()},
                 mark));
  EXPECT_EQ(object_of(table, 0), R"({"grid":5,"name":"ours"})");
  EXPECT_EQ(table.operations[1].annotation, AnnotationId::none);
  EXPECT_EQ(table.operations[1].origin, Origin::outside_scope);
  EXPECT_EQ(object_of(table, 2), R"({"name":"c","stream":61})");
  EXPECT_THAT(path_of(table, 2), ElementsAre("b", "c"));
}

TEST(Operations, TheStreamIsTheOneThatTheWorkRanOn) {
  const OperationTable table =
      read(trace_text({KernelText{.tid = 61, .args = R"(, "original_stream": 143, "name": "a")"}.text()}));
  EXPECT_EQ(table.operations[0].stream, 143);
  EXPECT_EQ(object_of(table, 0), R"({"name":"a"})");
}

TEST(Operations, SourcesWinOverArgsKeyByKey) {
  const OperationTable table =
      read(trace_text({KernelText{.args = R"(, "name": "a", "bs": "8", "lr": 0.5)"}.text(),
                       KernelText{.local = 1, .args = R"(, "name": "only args")"}.text(), KernelText{.local = 2}.text()}),
           make_sources(
               {{node(2, 0), R"({"name":"a","bs":8,"graphtag.path":["out","a"]})"}, {node(2, 2), R"({"name":"only sources"})"}}));
  EXPECT_EQ(object_of(table, 0), R"({"bs":8,"lr":0.5,"name":"a"})");
  EXPECT_THAT(path_of(table, 0), ElementsAre("out", "a"));
  EXPECT_EQ(object_of(table, 1), R"({"name":"only args"})");
  EXPECT_EQ(object_of(table, 2), R"({"name":"only sources"})");
}

TEST(Operations, ThePathGoesWithTheName) {
  std::vector<AnnotationSource> sources = make_sources({{node(2, 1), R"({"bs":8})"}});
  // As torch's files have it: a name, no path.
  const Result<AnnotationId> without_path = sources[0].file->annotations.intern(Json{{"name", "new.name"}}, {});
  ASSERT_TRUE(without_path.ok());
  sources[0].file->graphs[0].runs[0] = {LocalId{0}, *without_path, Origin::callback};
  const std::string args = R"(, "name": "old", "graphtag.path": ["out", "old"])";
  const OperationTable table =
      read(trace_text({KernelText{.args = args}.text(), KernelText{.local = 1, .args = args}.text()}), sources);
  const AnnotationTable& annotations = table.annotations.annotations();
  EXPECT_THAT(region_components(annotations[table.operations[0].annotation]), ElementsAre("new", "name"));
  EXPECT_THAT(region_components(annotations[table.operations[1].annotation]), ElementsAre("out", "old"));
}

TEST(Operations, ValuesThatAreNotOursStayAsText) {
  const OperationTable table =
      read(trace_text({KernelText{.args = R"(, "name": "a", "big": 123456789012345678901234567890)"}.text()}));
  EXPECT_EQ(object_of(table, 0), R"({"big":"123456789012345678901234567890","name":"a"})");
}

TEST(Operations, TheProcessDecidesWhichFileFits) {
  std::vector<AnnotationSource> sources = make_sources({{node(2, 0), R"({"name":"a"})"}});
  sources[0].file->producer.pid = 42;
  const TempFolder folder;
  const auto launch = [](int pid) {
    return R"({"ph":"X","cat":"cuda_runtime","name":"cudaGraphLaunch","pid":)" + std::to_string(pid) +
           R"(,"tid":1,"ts":1,"dur":1})";
  };
  const auto label = [](int pid) {
    return R"({"ph":"M","name":"process_labels","ts":1,"pid":)" + std::to_string(pid) + R"(,"tid":0,"args":{"labels":"CPU"}})";
  };
  const std::string path = folder.path("trace.json");
  folder.write("trace.json", trace_text({label(41), KernelText{}.text(), launch(42)}));
  EXPECT_TRUE(read_operations(path, sources).ok());
  folder.write("trace.json", trace_text({label(42), KernelText{}.text(), launch(43)}));
  EXPECT_EQ(read_operations(path, sources).error().code, ErrorCode::invalid_argument);
  JoinOptions force;
  force.force = true;
  EXPECT_TRUE(read_operations(path, sources, force).ok());
  folder.write("trace.json", trace_text({label(44), KernelText{}.text()}));
  EXPECT_FALSE(read_operations(path, sources).ok());
  folder.write("trace.json", trace_text({KernelText{}.text()}));
  EXPECT_TRUE(read_operations(path, sources).ok());
}

}  // namespace
}  // namespace graphtag
