// From a capture under scopes to the names of a replay's records, through the exported functions and the libraries' own layouts.
#include <fstream>
#include <sstream>

#include "tests/capi/fixture.h"

namespace graphtag::capi {
namespace {

using fake::Record;
using testing::HasSubstr;

class Flow : public WithFakeCuda {
 protected:
  // decoder { 0, attention { 1, 2 }, 3 }, then 4 outside
  GraphHandle capture(StreamHandle stream) {
    EXPECT_TRUE(cuda().begin_capture(stream));
    EXPECT_EQ(gt_scope_begin(annotation(R"({"name":"decoder","bs":8})")), GT_OK);
    cuda().launch(stream, NodeType::kernel, 0);
    EXPECT_EQ(gt_scope_begin_name("attention", GT_NUL), GT_OK);
    cuda().launch(stream, NodeType::kernel, 1);
    cuda().launch(stream, NodeType::memcpy, 2);
    EXPECT_EQ(gt_scope_end(), GT_OK);
    cuda().launch(stream, NodeType::memset, 3);
    EXPECT_EQ(gt_scope_end(), GT_OK);
    cuda().launch(stream, NodeType::kernel, 4);
    return cuda().end_capture(stream);
  }
  void expect_names(ExecHandle exec, const char* of_the_last) {
    const std::string decoder = R"({"name":"decoder","bs":8,"graphtag.path":["decoder"]})";
    const std::string attention = R"({"name":"attention","bs":8,"graphtag.path":["decoder","attention"]})";
    const std::vector<std::string> expected = {decoder, attention, attention, decoder, of_the_last};
    const std::vector<Record> records = cuda().replay(exec);
    ASSERT_EQ(records.size(), 5U);
    for (const Record& record : records) EXPECT_EQ(name_of(record.id.value), expected[record.tag]) << record.tag;
  }
};

TEST_F(Flow, CallbacksNameEveryRecord) {
  const gt_window window = open_window(GT_OBSERVER_CALLBACKS);
  EXPECT_TRUE(cuda().has_subscriber());
  const GraphHandle graph = capture(cuda().stream_create());
  const ExecHandle exec = cuda().instantiate(graph);
  EXPECT_EQ(gt_window_close(window), GT_OK);
  EXPECT_FALSE(cuda().has_subscriber()) << "a profiler may come now";
  expect_names(exec, "- outside-scope");
  cuda().destroy_graph(graph);
  cuda().destroy_exec(exec);
}

TEST_F(Flow, BoundariesNameEveryRecordOfALinkedExecGraph) {
  const StreamHandle stream = cuda().stream_create();
  const gt_window window = open_window(GT_OBSERVER_BOUNDARY);
  EXPECT_EQ(gt_window_add_stream(window, stream), GT_OK);
  EXPECT_FALSE(cuda().has_subscriber());
  const GraphHandle graph = capture(stream);
  const ExecHandle exec = cuda().instantiate(graph);
  EXPECT_EQ(gt_link_exec(exec, graph), GT_OK) << gt_last_error();
  EXPECT_EQ(gt_window_close(window), GT_OK);
  // Nobody read how far the capture had grown when it ended.
  expect_names(exec, "- outside-scope-approximate");
  cuda().destroy_graph(graph);
  cuda().destroy_exec(exec);
}

TEST_F(Flow, IdsAreThoseOfTheRecords) {
  const GraphHandle graph = cuda().graph_create();
  const NodeHandle node = cuda().add_node(graph, NodeType::kernel, {}, 0);
  const ExecHandle exec = cuda().instantiate(graph);
  uint32_t graph_id = 0, exec_id = 0;
  uint64_t node_id = 0;
  ASSERT_EQ(gt_graph_id(graph, &graph_id), GT_OK);
  ASSERT_EQ(gt_exec_id(exec, &exec_id), GT_OK);
  ASSERT_EQ(gt_node_id(node, &node_id), GT_OK);
  EXPECT_EQ(node_id, std::uint64_t{graph_id} << 32);
  EXPECT_EQ(cuda().replay(exec).front().id.value, std::uint64_t{exec_id} << 32);
  cuda().destroy_graph(graph);
  EXPECT_EQ(gt_graph_id(graph, &graph_id), GT_ERROR_REFUSED);
  EXPECT_EQ(gt_link_exec(exec, graph), GT_ERROR_REFUSED);
  cuda().destroy_exec(exec);
}

TEST_F(Flow, ASnapshotHoldsAllAndOutlivesTheGraphs) {
  const gt_window window = open_window();
  const GraphHandle graph = capture(cuda().stream_create());
  ASSERT_EQ(gt_label_graph(graph, R"({"batch_size":8})", GT_NUL), GT_OK) << gt_last_error();
  EXPECT_EQ(gt_label_graph(graph, "{", GT_NUL), GT_ERROR_MALFORMED);
  const ExecHandle exec = cuda().instantiate(graph);
  uint32_t graph_id = 0, exec_id = 0;
  ASSERT_EQ(gt_graph_id(graph, &graph_id), GT_OK);
  ASSERT_EQ(gt_exec_id(exec, &exec_id), GT_OK);
  gt_counters counters{};
  counters.size = sizeof counters;
  ASSERT_EQ(gt_counters_get(&counters), GT_OK);
  EXPECT_EQ(counters.graphs_live, 1U);
  EXPECT_EQ(counters.execs_live, 1U);
  EXPECT_EQ(counters.graphs_retired, 0U);
  EXPECT_EQ(counters.failures, 0U);
  EXPECT_GE(counters.nodes_seen, 5U);
  cuda().destroy_graph(graph);
  cuda().destroy_exec(exec);
  EXPECT_EQ(gt_window_close(window), GT_OK);
  ASSERT_EQ(gt_counters_get(&counters), GT_OK);
  EXPECT_EQ(counters.graphs_live, 0U);
  EXPECT_EQ(counters.execs_live, 0U);
  EXPECT_EQ(counters.graphs_retired, 2U);

  const nlohmann::json file = snapshot();
  EXPECT_EQ(file["schema"], "graphtag.annotations/1");
  const std::string text = file.dump();
  EXPECT_THAT(text, HasSubstr("batch_size"));
  EXPECT_THAT(text, HasSubstr("graphtag 0.1.0"));
  EXPECT_THAT(text, HasSubstr("GPU-01010101-0101-0101-0101-010101010101"));
  EXPECT_THAT(text, HasSubstr(GRAPHTAG_FAKE_DIR));

  const std::string path = testing::TempDir() + "graphtag_snapshot.json";
  ASSERT_EQ(gt_snapshot_file(path.c_str(), GT_NUL), GT_OK) << gt_last_error();
  std::ifstream stream(path);
  std::stringstream content;
  content << stream.rdbuf();
  EXPECT_EQ(nlohmann::json::parse(content.str())["graphs"], file["graphs"]);
  EXPECT_EQ(gt_snapshot_file("/no/such/folder/file", GT_NUL), GT_ERROR_IO);
  EXPECT_THAT(gt_last_error(), HasSubstr("/no/such/folder/file"));
  EXPECT_EQ(gt_snapshot_file("a\0b", 3), GT_ERROR_INVALID_ARGUMENT);

  EXPECT_EQ(gt_forget(), GT_OK);
  EXPECT_TRUE(snapshot()["graphs"].empty());
  EXPECT_EQ(name_of(std::uint64_t{exec_id} << 32), "- unknown-graph");
}

TEST_F(Flow, ConditionalBodiesAreNamedWithoutAnyLink) {
  const gt_window window = open_window(GT_OBSERVER_CALLBACKS);
  ASSERT_EQ(gt_scope_begin_name("model", GT_NUL), GT_OK);
  const GraphHandle graph = cuda().graph_create();
  const fake::Conditional branch = cuda().add_conditional(graph, 1, {});
  ASSERT_EQ(gt_scope_begin_name("then", GT_NUL), GT_OK);
  cuda().add_node(branch.bodies[0], NodeType::kernel, {}, 7);
  ASSERT_EQ(gt_scope_end(), GT_OK);
  ASSERT_EQ(gt_scope_end(), GT_OK);
  const ExecHandle exec = cuda().instantiate(graph);
  ASSERT_EQ(gt_window_close(window), GT_OK);
  const std::vector<Record> records = cuda().replay(exec);
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(name_of(records[0].id.value), R"({"name":"then","graphtag.path":["model","then"]})");
  cuda().destroy_exec(exec);
  cuda().destroy_graph(graph);
}

TEST_F(Flow, AnUpdatedNodeIsCalledWhatTheNewGraphsNodeIs) {
  const gt_window window = open_window(GT_OBSERVER_CALLBACKS);
  const auto build = [&](const char* name, std::uint64_t tag) {
    EXPECT_EQ(gt_scope_begin_name(name, GT_NUL), GT_OK);
    const GraphHandle graph = cuda().graph_create();
    const NodeHandle first = cuda().add_node(graph, NodeType::kernel, {}, tag);
    cuda().add_node(graph, NodeType::kernel, std::vector{first}, 5);
    EXPECT_EQ(gt_scope_end(), GT_OK);
    return graph;
  };
  const GraphHandle old_graph = build("old", 1), new_graph = build("new", 2);
  const ExecHandle exec = cuda().instantiate(old_graph);
  ASSERT_TRUE(cuda().update(exec, new_graph));
  ASSERT_EQ(gt_window_close(window), GT_OK);
  const std::vector<Record> records = cuda().replay(exec);
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(name_of(records[0].id.value), R"({"name":"new","graphtag.path":["new"]})");
  EXPECT_EQ(name_of(records[1].id.value), R"({"name":"old","graphtag.path":["old"]})") << "CUPTI tells of no change here";
  cuda().destroy_exec(exec);
  cuda().destroy_graph(old_graph);
  cuda().destroy_graph(new_graph);
}

TEST_F(Flow, LabelsNeedAGraphThatIsKnown) {
  const GraphHandle graph = cuda().graph_create();
  EXPECT_EQ(gt_label_graph(graph, "1", GT_NUL), GT_ERROR_NOT_FOUND);
  cuda().destroy_graph(graph);
}

TEST_F(Flow, StructsOutAreLookedAt) {
  gt_resolution resolution{};
  EXPECT_EQ(gt_resolve(1, GT_NOW, &resolution), GT_ERROR_INVALID_SIZE);
  EXPECT_EQ(gt_resolve(1, GT_NOW, nullptr), GT_ERROR_INVALID_ARGUMENT);
  gt_counters counters{};
  EXPECT_EQ(gt_counters_get(&counters), GT_ERROR_INVALID_SIZE);
  counters.size = ~std::size_t{0};
  EXPECT_EQ(gt_counters_get(&counters), GT_ERROR_INVALID_SIZE);
  EXPECT_EQ(gt_counters_get(nullptr), GT_ERROR_INVALID_ARGUMENT);
  // A caller of a later version has more fields: they become 0.
  struct Newer {
    gt_counters known{};
    std::uint64_t unknown = 5, behind = 6;
  } newer;
  newer.known.size = sizeof(gt_counters) + 8;
  EXPECT_EQ(gt_counters_get(&newer.known), GT_OK);
  EXPECT_EQ(newer.known.size, sizeof(gt_counters) + 8);
  EXPECT_EQ(newer.unknown, 0U);
  EXPECT_EQ(newer.behind, 6U);
}

}  // namespace
}  // namespace graphtag::capi
