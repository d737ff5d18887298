// The model calls back as an H200 did: the program behind tests/golden/h200/callback_order.txt, again.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>

#include "tests/fake/fake_cuda.h"

namespace graphtag::fake {
namespace {

constexpr std::array<const char*, kGraphEventKinds> kNames = {
    "graph_created",        "graph_destroy_starting", "graph_cloned",          "node_create_starting",
    "node_created",         "node_destroy_starting",  "dependency_created",    "dependency_destroy_starting",
    "exec_create_starting", "exec_created",           "exec_destroy_starting", "node_cloned",
    "node_updated",         "node_params_set"};

// Writes events as the golden file has them.
class Log final : public GraphObserver {
 public:
  explicit Log(Driver driver) : driver_(driver) {}

  void on_instantiation(GraphHandle, bool) noexcept override {}
  void on_graph_event(const GraphEvent& event) noexcept override {
    if (event.kind != GraphEventKind::node_destroy_starting) flush();
    std::string line = kNames[static_cast<std::size_t>(event.kind)];
    switch (event.kind) {
      case GraphEventKind::graph_created:
      case GraphEventKind::graph_destroy_starting:
      case GraphEventKind::node_create_starting:
      case GraphEventKind::exec_create_starting:
        line += " graph=" + id(event.graph);
        break;
      case GraphEventKind::graph_cloned:
        line += " graph=" + id(event.graph) + " original=" + id(event.original_graph);
        break;
      case GraphEventKind::node_created:
        line += " node=" + id(event.node);
        break;
      case GraphEventKind::node_destroy_starting:
        destroyed_.push_back(node_id(event.node));
        return;
      case GraphEventKind::dependency_created:
      case GraphEventKind::dependency_destroy_starting:
        line += " node=" + id(event.node) + " dependency=" + id(event.dependency);
        break;
      case GraphEventKind::exec_created:
        line += " graph=" + id(event.graph) + " exec=" + id(event.exec);
        break;
      case GraphEventKind::exec_destroy_starting:
        line += " exec=" + id(event.exec);
        break;
      case GraphEventKind::node_cloned:
      case GraphEventKind::node_updated:
        line += " node=" + id(event.node) + " original=" + id(event.original_node);
        break;
      case GraphEventKind::node_params_set:
        line += " exec=" + id(event.exec) + " node=" + id(event.node) + " original=" + id(event.original_node);
        break;
    }
    lines_.push_back(line);
  }

  void step(const std::string& name) {
    flush();
    lines_.push_back("# " + name);
  }

  const std::vector<std::string>& lines() {
    flush();
    return lines_;
  }

 private:
  void flush() {
    std::sort(destroyed_.begin(), destroyed_.end());
    for (const NodeId node : destroyed_) lines_.push_back("node_destroy_starting node=" + text(node));
    destroyed_.clear();
  }
  static std::string text(NodeId node) { return std::to_string(node.graph().value) + ":" + std::to_string(node.local().value); }
  NodeId node_id(NodeHandle node) const {
    NodeId number;
    EXPECT_TRUE(driver_.node_id(node, number).ok());
    return number;
  }
  std::string id(NodeHandle node) const { return text(node_id(node)); }
  std::string id(GraphHandle graph) const {
    GraphId number;
    EXPECT_TRUE(driver_.graph_id(graph, number).ok());
    return std::to_string(number.value);
  }
  std::string id(ExecHandle exec) const {
    GraphId number;
    EXPECT_TRUE(driver_.exec_id(exec, number).ok());
    return std::to_string(number.value);
  }

  Driver driver_;
  std::vector<std::string> lines_;
  std::vector<NodeId> destroyed_;
};

void compare(const std::vector<std::string>& seen, const std::string& golden, std::size_t at_least) {
  std::ifstream file(GRAPHTAG_SOURCE_DIR "/tests/golden/h200/" + golden);
  std::vector<std::string> expected;
  for (std::string line; std::getline(file, line);) expected.push_back(line);
  ASSERT_GT(expected.size(), at_least);
  std::string place;
  for (std::size_t i = 0; i < std::max(seen.size(), expected.size()); ++i) {
    const std::string left = i < expected.size() ? expected[i] : "(nothing)";
    const std::string right = i < seen.size() ? seen[i] : "(nothing)";
    if (left[0] == '#') place = left;
    ASSERT_EQ(right, left) << golden << ", line " << i + 1 << ", under " << place;
  }
}

TEST(FakeCuda, CallsBackAsAnH200Does) {
  Options options;
  options.extra_nodes = false;  // the golden file leaves them out
  FakeCuda cuda(options);
  Log log(cuda.driver());
  GraphEventSet all;
  all.bits = (1U << kGraphEventKinds) - 1;
  SubscriptionHandle subscription = nullptr;
  ASSERT_TRUE(cuda.driver().subscribe(log, all, subscription).ok());

  const auto kernel = [&](GraphHandle graph, std::vector<NodeHandle> dependencies = {}, std::uint64_t tag = 0) {
    return cuda.add_node(graph, NodeType::kernel, dependencies, tag);
  };
  const auto step = [&](const char* name) { log.step(name); };

  step("graph_create");
  GraphHandle g = cuda.graph_create();
  step("kernel a");
  NodeHandle a = kernel(g);
  step("kernel b(a)");
  NodeHandle b = kernel(g, {a});
  step("kernel c(a,b)");
  kernel(g, {a, b});
  step("memset");
  cuda.add_node(g, NodeType::memset, std::vector{a}, 0);
  step("empty");
  cuda.add_node(g, NodeType::empty, {}, 0);
  step("destroy node b");
  cuda.destroy_node(b);
  step("kernel d");
  kernel(g);
  step("clone");
  GraphHandle clone = cuda.clone(g);
  step("kernel in clone");
  kernel(clone);
  step("instantiate g");
  ExecHandle x = cuda.instantiate(g);
  step("instantiate g again");
  ExecHandle x2 = cuda.instantiate(g);
  step("exec set kernel params");
  cuda.set_params(x, a, 1);
  step("set params on the template");
  step("clone g as u");
  GraphHandle u = cuda.clone(g);
  cuda.set_params(x, a, 0);
  step("update");
  EXPECT_TRUE(cuda.update(x, u));
  step("update mismatch");
  EXPECT_FALSE(cuda.update(x, clone));
  step("destroy u");
  cuda.destroy_graph(u);
  step("destroy graph g while exec lives");
  cuda.destroy_graph(g);
  step("destroy exec x");
  cuda.destroy_exec(x);
  step("destroy exec x2");
  cuda.destroy_exec(x2);
  step("destroy clone");
  cuda.destroy_graph(clone);

  const StreamHandle s1 = cuda.stream_create();
  const StreamHandle s2 = cuda.stream_create();
  step("capture begin");
  cuda.begin_capture(s1);
  step("launch 1");
  cuda.launch(s1, NodeType::kernel, 0);
  step("memset async");
  cuda.launch(s1, NodeType::memset, 0);
  step("launch s2");
  cuda.wait_event(s2, cuda.record_event(s1));
  cuda.launch(s2, NodeType::kernel, 0);
  step("launch s1");
  cuda.launch(s1, NodeType::kernel, 0);
  step("launch s1");
  cuda.wait_event(s1, cuda.record_event(s2));
  cuda.launch(s1, NodeType::kernel, 0);
  step("end capture");
  g = cuda.end_capture(s1);
  step("instantiate");
  x = cuda.instantiate(g);
  step("destroy exec");
  cuda.destroy_exec(x);
  step("destroy graph");
  cuda.destroy_graph(g);
  step("capture that fails");
  cuda.begin_capture(s1);
  cuda.launch(s1, NodeType::kernel, 0);
  cuda.wait_event(s2, cuda.record_event(s1));
  cuda.launch(s2, NodeType::kernel, 0);
  step("end");
  EXPECT_EQ(cuda.end_capture(s1), nullptr);
  step("mem nodes by capture");
  cuda.begin_capture(s1);
  cuda.launch(s1, NodeType::memory_alloc, 0);
  cuda.launch(s1, NodeType::kernel, 0);
  cuda.launch(s1, NodeType::memory_free, 0);
  g = cuda.end_capture(s1);
  step("instantiate mem");
  x = cuda.instantiate(g);
  step("destroy both");
  cuda.destroy_exec(x);
  cuda.destroy_graph(g);

  step("== child graphs");
  GraphHandle in = cuda.graph_create();
  kernel(in);
  kernel(in);
  GraphHandle mid = cuda.graph_create();
  kernel(mid);
  step("add child inner to mid");
  cuda.add_child(mid, in, {});
  kernel(mid);
  GraphHandle top = cuda.graph_create();
  kernel(top);
  step("add child mid to top");
  const NodeHandle child = cuda.add_child(top, mid, {});
  step("add kernel to embedded");
  GraphHandle embedded = nullptr;
  ASSERT_TRUE(cuda.driver().child_graph(child, embedded).ok());
  kernel(embedded);
  step("kernel top");
  kernel(top);
  step("instantiate top");
  x = cuda.instantiate(top);
  step("clone top");
  clone = cuda.clone(top);
  step("destroy gc");
  cuda.destroy_graph(clone);
  step("clone top as u");
  u = cuda.clone(top);
  step("update");
  EXPECT_TRUE(cuda.update(x, u));
  cuda.destroy_graph(u);
  step("destroy exec");
  cuda.destroy_exec(x);
  step("destroy child node");
  cuda.destroy_node(child);
  step("destroy top, mid, in");
  for (const GraphHandle graph : {top, mid, in}) cuda.destroy_graph(graph);

  step("== conditionals");
  top = cuda.graph_create();
  step("kernel");
  a = kernel(top);
  step("add if/else");
  const Conditional branch = cuda.add_conditional(top, 2, std::vector{a});
  step("fill body 0");
  kernel(branch.bodies[0]);
  kernel(branch.bodies[0]);
  step("nested while in body 1");
  const Conditional loop = cuda.add_conditional(branch.bodies[1], 1, {});
  step("fill nested by capture to graph");
  cuda.begin_capture_to_graph(s1, loop.bodies[0], {});
  cuda.launch(s1, NodeType::kernel, 0);
  EXPECT_EQ(cuda.end_capture(s1), loop.bodies[0]);
  step("child graph in body 0");
  in = cuda.graph_create();
  kernel(in);
  cuda.add_child(branch.bodies[0], in, {});
  step("kernel top after");
  kernel(top, {branch.node});
  step("instantiate");
  x = cuda.instantiate(top);
  step("destroy exec");
  cuda.destroy_exec(x);
  step("destroy conditional node");
  cuda.destroy_node(branch.node);
  step("destroy top");
  cuda.destroy_graph(top);
  cuda.destroy_graph(in);

  step("== conditional during capture");
  cuda.begin_capture(s1);
  cuda.launch(s1, NodeType::kernel, 0);
  step("cond");
  const Conditional captured = cuda.launch_conditional(s1, 3);
  for (const GraphHandle body : captured.bodies) {
    cuda.begin_capture_to_graph(s2, body, {});
    cuda.launch(s2, NodeType::kernel, 0);
    cuda.end_capture(s2);
  }
  step("launch after");
  cuda.launch(s1, NodeType::kernel, 0);
  g = cuda.end_capture(s1);
  step("instantiate");
  x = cuda.instantiate(g);
  step("destroy");
  cuda.destroy_exec(x);
  cuda.destroy_graph(g);

  step("== device launch instantiate");
  g = cuda.graph_create();
  kernel(g);
  x = cuda.instantiate(g);
  step("destroy");
  cuda.destroy_exec(x);
  cuda.destroy_graph(g);

  step("== event nodes and host");
  g = cuda.graph_create();
  cuda.add_node(g, NodeType::event_record, {}, 0);
  cuda.add_node(g, NodeType::host, {}, 0);
  cuda.destroy_graph(g);

  step("== moved child graph ownership");
  g = cuda.graph_create();
  kernel(g);
  top = cuda.graph_create();
  cuda.add_child(top, g, {}, true);
  x = cuda.instantiate(top);
  cuda.destroy_exec(x);
  cuda.destroy_graph(top);

  // The second set_params is the test's own: it makes the update change nothing, as there.
  std::vector<std::string> seen;
  std::string place;
  for (const std::string& line : log.lines()) {
    if (line[0] == '#') place = line;
    if (place != "# clone g as u" || line.rfind("node_params_set", 0) != 0) seen.push_back(line);
  }
  compare(seen, "callback_order.txt", 800);
}

TEST(FakeCuda, TellsOfUpdatesAsAnH200Does) {
  Options options;
  options.extra_nodes = false;
  FakeCuda cuda(options);
  Log log(cuda.driver());
  const GraphEventSet events = {
      GraphEventKind::graph_created,        GraphEventKind::graph_cloned, GraphEventKind::graph_destroy_starting,
      GraphEventKind::node_created,         GraphEventKind::node_cloned,  GraphEventKind::node_destroy_starting,
      GraphEventKind::exec_create_starting, GraphEventKind::exec_created, GraphEventKind::node_updated,
      GraphEventKind::node_params_set};
  SubscriptionHandle subscription = nullptr;
  ASSERT_TRUE(cuda.driver().subscribe(log, events, subscription).ok());

  // Two kernels and a child graph of one.
  const auto fill = [&](GraphHandle graph, GraphHandle child, std::uint64_t second) {
    const NodeHandle a = cuda.add_node(graph, NodeType::kernel, {}, 1);
    const NodeHandle b = cuda.add_node(graph, NodeType::kernel, std::vector{a}, second);
    if (child == nullptr) {
      child = cuda.graph_create();
      cuda.add_node(child, NodeType::kernel, {}, 1);
    }
    cuda.add_child(graph, child, std::vector{b});
    return child;
  };
  const GraphHandle g = cuda.graph_create();
  const GraphHandle in = fill(g, nullptr, 1);
  log.step("instantiate");
  const ExecHandle x = cuda.instantiate(g);
  log.step("clone with other params");
  const GraphHandle u = cuda.clone(g);
  std::vector<NodeHandle> nodes(3), inner(1);
  std::size_t count = nodes.size();
  ASSERT_TRUE(cuda.driver().graph_nodes(u, nodes.data(), count).ok());
  cuda.set_template_params(nodes[1], 3);
  GraphHandle child = nullptr;
  ASSERT_TRUE(cuda.driver().child_graph(nodes[2], child).ok());
  count = 1;
  ASSERT_TRUE(cuda.driver().graph_nodes(child, inner.data(), count).ok());
  cuda.set_template_params(inner[0], 3);
  log.step("update");
  EXPECT_TRUE(cuda.update(x, u));
  log.step("update back");
  EXPECT_TRUE(cuda.update(x, g));
  log.step("handmade graph");
  const GraphHandle v = cuda.graph_create();
  fill(v, in, 1);
  log.step("update same params");
  EXPECT_TRUE(cuda.update(x, v));

  log.step("capture for update");
  const StreamHandle s = cuda.stream_create();
  cuda.begin_capture(s);
  cuda.launch(s, NodeType::kernel, 1);
  const ExecHandle y = cuda.instantiate(cuda.end_capture(s));
  cuda.begin_capture(s);
  cuda.launch(s, NodeType::kernel, 7);
  const GraphHandle w = cuda.end_capture(s);
  log.step("update y");
  EXPECT_TRUE(cuda.update(y, w));
  log.step("memset update");
  const GraphHandle q = cuda.graph_create();
  cuda.add_node(q, NodeType::memset, {}, 16);
  const ExecHandle z = cuda.instantiate(q);
  const GraphHandle r = cuda.graph_create();
  cuda.add_node(r, NodeType::memset, {}, 32);
  log.step("update z");
  EXPECT_TRUE(cuda.update(z, r));
  compare(log.lines(), "callback_update.txt", 50);
}

}  // namespace
}  // namespace graphtag::fake
