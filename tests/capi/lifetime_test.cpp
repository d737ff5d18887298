// What a framework tells of its graphs, and the view of those that live.
#include <set>
#include <vector>

#include "tests/capi/fixture.h"

namespace graphtag::capi {
namespace {

std::vector<gt_node> live_nodes() {
  std::size_t count = 0;
  EXPECT_EQ(gt_live_nodes(nullptr, 0, &count), GT_OK) << gt_last_error();
  std::vector<gt_node> nodes(count);
  EXPECT_EQ(gt_live_nodes(nodes.data(), nodes.size(), &count), GT_OK) << gt_last_error();
  EXPECT_EQ(count, nodes.size());
  return nodes;
}

class Lifetime : public WithFakeCuda {
 protected:
  // a { 0, 1 }, then 2 outside
  GraphHandle capture(StreamHandle stream) {
    EXPECT_TRUE(cuda().begin_capture(stream));
    EXPECT_EQ(gt_scope_begin_name("a", GT_NUL), GT_OK);
    cuda().launch(stream, NodeType::kernel, 0);
    cuda().launch(stream, NodeType::kernel, 1);
    EXPECT_EQ(gt_scope_end(), GT_OK);
    cuda().launch(stream, NodeType::kernel, 2);
    const void* graph = nullptr;
    EXPECT_EQ(gt_capture_graph(stream, &graph), GT_OK) << gt_last_error();
    const GraphHandle ended = cuda().end_capture(stream);
    EXPECT_EQ(graph, ended);
    return ended;
  }
  std::uint32_t graph_id(GraphHandle graph) {
    std::uint32_t id = 0;
    EXPECT_EQ(gt_graph_id(graph, &id), GT_OK);
    return id;
  }
  std::uint32_t exec_id(ExecHandle exec) {
    std::uint32_t id = 0;
    EXPECT_EQ(gt_exec_id(exec, &id), GT_OK);
    return id;
  }
  std::vector<std::uint64_t> live_ids() {
    std::vector<std::uint64_t> ids;
    for (const gt_node& node : live_nodes()) ids.push_back(node.node_id);
    return ids;
  }
  std::vector<std::uint64_t> named_records(ExecHandle exec) {
    std::vector<std::uint64_t> ids;
    for (const fake::Record& record : cuda().replay(exec)) {
      if (record.tag != 2) ids.push_back(record.id.value);
    }
    return ids;
  }
};

TEST_F(Lifetime, LiveNodesAreTheNamedOnesOfGraphsAndExecGraphs) {
  const gt_window window = open_window(GT_OBSERVER_CALLBACKS);
  const GraphHandle graph = capture(cuda().stream_create());
  const ExecHandle exec = cuda().instantiate(graph);
  gt_window_close(window);
  const std::uint32_t id = graph_id(graph);
  const std::vector<gt_node> nodes = live_nodes();
  ASSERT_EQ(nodes.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(json_of(nodes[i].annotation), R"({"name":"a"})");
    EXPECT_EQ(nodes[i].origin, GT_ORIGIN_CALLBACK);
    EXPECT_EQ(nodes[i].template_id, i < 2 ? 0 : id);
  }
  const std::vector<std::uint64_t> expected = {std::uint64_t{id} << 32, std::uint64_t{id} << 32 | 1, named_records(exec)[0],
                                               named_records(exec)[1]};
  EXPECT_EQ(live_ids(), expected);
  cuda().destroy_exec(exec);
  cuda().destroy_graph(graph);
}

// Equal objects in different scopes, in the template and in its exec graph, below a name, an object without one, and nothing.
TEST_F(Lifetime, LiveNodesHaveTheAnnotationsThatTheyResolveTo) {
  const gt_window window = open_window(GT_OBSERVER_CALLBACKS);
  const StreamHandle stream = cuda().stream_create();
  ASSERT_TRUE(cuda().begin_capture(stream));
  const gt_annotation outers[] = {annotation(R"("decoder")"), annotation(R"("encoder")"), annotation(R"({"bs":8})"), {0}};
  for (const gt_annotation outer : outers) {
    ASSERT_EQ(gt_scope_begin(outer), GT_OK);
    ASSERT_EQ(gt_scope_begin_name("attention", GT_NUL), GT_OK);
    cuda().launch(stream, NodeType::kernel, 0);
    ASSERT_EQ(gt_scope_end(), GT_OK);
    cuda().launch(stream, NodeType::kernel, 1);
    ASSERT_EQ(gt_scope_end(), GT_OK);
  }
  const GraphHandle graph = cuda().end_capture(stream);
  const ExecHandle exec = cuda().instantiate(graph);
  const auto known = [] {
    gt_counters counters{};
    counters.size = sizeof counters;
    EXPECT_EQ(gt_counters_get(&counters), GT_OK);
    return counters.annotations;
  };
  const std::uint64_t before = known();
  const std::vector<gt_node> nodes = live_nodes();
  EXPECT_EQ(nodes.size(), 14U) << "of the graph and of the exec graph, 7 each";
  std::set<std::uint64_t> distinct;
  for (const gt_node& node : nodes) {
    gt_resolution resolution{};
    resolution.size = sizeof resolution;
    ASSERT_EQ(gt_resolve(node.node_id, GT_NOW, &resolution), GT_OK);
    EXPECT_EQ(node.annotation.value, resolution.annotation.value) << json_of(resolution.annotation, GT_JSON_PATH);
    distinct.insert(node.annotation.value);
  }
  EXPECT_EQ(distinct.size(), 7U);
  EXPECT_EQ(known(), before) << "a look adds nothing";
  gt_window_close(window);
  cuda().destroy_exec(exec);
  cuda().destroy_graph(graph);
}

TEST_F(Lifetime, ABufferThatIsTooSmallGetsNothing) {
  const gt_window window = open_window(GT_OBSERVER_CALLBACKS);
  const GraphHandle graph = capture(cuda().stream_create());
  gt_node node{};
  node.node_id = 77;
  std::size_t count = 0;
  EXPECT_EQ(gt_live_nodes(&node, 1, &count), GT_ERROR_BUFFER_TOO_SMALL);
  EXPECT_EQ(count, 2U);
  EXPECT_EQ(node.node_id, 77U);
  EXPECT_EQ(gt_live_nodes(nullptr, 0, nullptr), GT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(gt_live_nodes(nullptr, 3, &count), GT_ERROR_INVALID_ARGUMENT);
  gt_window_close(window);
  cuda().destroy_graph(graph);
}

TEST_F(Lifetime, WhatWasDestroyedUnseenLeavesTheViewAndStillResolves) {
  const gt_window window = open_window(GT_OBSERVER_CALLBACKS);
  const GraphHandle graph = capture(cuda().stream_create());
  const ExecHandle exec = cuda().instantiate(graph);
  gt_window_close(window);
  const std::uint32_t template_id = graph_id(graph);
  const std::uint32_t id = exec_id(exec);
  const std::uint64_t record = named_records(exec)[0];
  cuda().destroy_graph(graph);
  EXPECT_EQ(gt_destroyed(template_id), GT_OK);
  EXPECT_EQ(live_ids(), named_records(exec)) << "its exec graph lives on";
  cuda().destroy_exec(exec);
  EXPECT_EQ(gt_destroyed(id), GT_OK);
  EXPECT_TRUE(live_ids().empty());
  EXPECT_EQ(name_of(record), R"({"name":"a","graphtag.path":["a"]})");
  EXPECT_EQ(gt_destroyed(id), GT_OK) << "twice is no error";
  EXPECT_EQ(gt_destroyed(0x7fffffff), GT_OK) << "nor is an unknown id";
}

TEST_F(Lifetime, AnExecGraphIsLinkedByTheIdOfATemplateThatIsGone) {
  const StreamHandle stream = cuda().stream_create();
  const gt_window window = open_window(GT_OBSERVER_BOUNDARY);
  EXPECT_EQ(gt_window_add_stream(window, stream), GT_OK);
  const GraphHandle graph = capture(stream);
  const std::uint32_t id = graph_id(graph);
  const ExecHandle exec = cuda().instantiate(graph);
  cuda().destroy_graph(graph);
  EXPECT_EQ(gt_link_exec_id(exec, id), GT_OK) << gt_last_error();
  for (const std::uint64_t record : named_records(exec)) EXPECT_EQ(name_of(record), R"({"name":"a","graphtag.path":["a"]})");
  EXPECT_EQ(gt_link_exec_id(exec, 0x7fffffff), GT_OK) << "it is linked already";
  gt_window_close(window);
  cuda().destroy_exec(exec);
}

TEST_F(Lifetime, ALinkToAGraphThatNobodySawIsRefused) {
  const GraphHandle graph = cuda().graph_create();
  const ExecHandle exec = cuda().instantiate(graph);
  EXPECT_EQ(gt_link_exec_id(exec, graph_id(graph)), GT_ERROR_NOT_FOUND);
  EXPECT_EQ(gt_link_exec_id(nullptr, 1), GT_ERROR_INVALID_ARGUMENT);
  cuda().destroy_exec(exec);
  cuda().destroy_graph(graph);
}

TEST_F(Lifetime, AStreamThatDoesNotCaptureHasNoGraph) {
  const void* graph = this;
  EXPECT_EQ(gt_capture_graph(cuda().stream_create(), &graph), GT_ERROR_NOT_FOUND);
  EXPECT_EQ(graph, this) << "nothing is written on an error";
  EXPECT_EQ(gt_capture_graph(cuda().stream_create(), nullptr), GT_ERROR_INVALID_ARGUMENT);
}

std::vector<std::uint64_t>& hooked() {
  static auto* nodes = new std::vector<std::uint64_t>;
  return *nodes;
}

TEST_F(Lifetime, TheNodeHookIsToldOfEachNodeAsItIsCreated) {
  hooked().clear();
  ASSERT_EQ(gt_set_node_hook([](std::uint64_t node) { hooked().push_back(node); }), GT_OK);
  const gt_window window = open_window(GT_OBSERVER_CALLBACKS);
  const GraphHandle graph = capture(cuda().stream_create());
  const std::uint64_t base = std::uint64_t{graph_id(graph)} << 32;
  const std::vector<std::uint64_t> expected = {base, base | 1, base | 2};
  EXPECT_EQ(hooked(), expected);
  const ExecHandle exec = cuda().instantiate(graph);
  ASSERT_EQ(gt_set_node_hook(nullptr), GT_OK);
  for (std::size_t i = 3; i < hooked().size(); ++i)
    EXPECT_NE(hooked()[i] >> 32, base >> 32) << "nodes of copies have other graphs";
  hooked().clear();
  const GraphHandle second = capture(cuda().stream_create());
  EXPECT_TRUE(hooked().empty()) << "it was taken away";
  gt_window_close(window);
  cuda().destroy_exec(exec);
  cuda().destroy_graph(graph);
  cuda().destroy_graph(second);
}

}  // namespace
}  // namespace graphtag::capi
