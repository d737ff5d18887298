// What recording may cost: no allocation a node once a graph is going, from several threads; and what fork() and threads may do.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "capture/process.h"
#include "tests/support/count_allocations.h"
#include "tests/support/program.h"

namespace graphtag {
namespace {

// Callbacks for nodes that the fake already has, so that what is counted is graphtag's alone.
std::uint64_t allocations_of(Recording& rec, const std::vector<GraphEvent>& events, std::size_t scope_every) {
  const AnnotationId inner = rec.registry.name("inner");
  const std::uint64_t before = test::allocations;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (scope_every != 0 && i % scope_every == 0) static_cast<void>(rec.recorder.begin_scope(inner));
    rec.cuda.emit(events[i]);
    if (scope_every != 0 && i % scope_every == scope_every - 1) static_cast<void>(rec.recorder.end_scope());
  }
  return test::allocations - before;
}

TEST(Cost, NoAllocationANodeOrAScopeInSteadyState) {
  Recording rec;
  const GraphHandle graph = rec.cuda.graph_create();
  std::vector<GraphEvent> events;
  for (int i = 0; i < 2000; ++i) {
    GraphEvent event;
    event.kind = GraphEventKind::node_created;
    event.graph = graph;
    event.node = rec.cuda.add_node(graph, NodeType::kernel, {}, 1);
    events.push_back(event);
  }
  rec.open(ObserverChoice::callbacks);
  rec.begin("outer");
  const std::vector<GraphEvent> first(events.begin(), events.begin() + 100), rest(events.begin() + 100, events.begin() + 1100),
      scoped(events.begin() + 1100, events.end());
  allocations_of(rec, first, 10);
  EXPECT_EQ(allocations_of(rec, rest, 0), 0U);
  // A scope every ten nodes: the graph's array of runs grows a few times in all, by doubling.
  EXPECT_LT(allocations_of(rec, scoped, 10), 12U);
  EXPECT_EQ(rec.recorder.counters().nodes_seen, 2000U);
}

TEST(Cost, ThreadsCaptureAtOnceWhileOthersRead) {
  Recording rec;
  const WindowId window = rec.open(ObserverChoice::callbacks);
  std::atomic<bool> stop{false};
  std::thread reader([&] {
    while (!stop) {
      EXPECT_TRUE(rec.registry.snapshot().ok());
      static_cast<void>(rec.recorder.counters());
      rec.recorder.settle();
    }
  });
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const StreamHandle stream = rec.cuda.stream_create();
      for (std::uint64_t round = 0; round < 40; ++round) {
        const std::string name = "t" + std::to_string(t) + "." + std::to_string(round % 7);
        rec.cuda.begin_capture(stream);
        rec.begin(name.c_str());
        for (std::uint64_t i = 0; i < 20; ++i) rec.cuda.launch(stream, NodeType::kernel, i);
        rec.end();
        const GraphHandle graph = rec.cuda.end_capture(stream);
        const ExecHandle exec = rec.cuda.instantiate(graph);
        for (const auto& [tag, found] : rec.names(exec)) EXPECT_EQ(found, name);
        rec.cuda.destroy_exec(exec);
        rec.cuda.destroy_graph(graph);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  stop = true;
  reader.join();
  rec.close(window);
  EXPECT_EQ(rec.recorder.counters().failures, 0U);
}

TEST(Cost, AfterForkTheChildStartsAnew) {
  static std::uint32_t windows = 0;
  Process* parent = process(&windows);
  ASSERT_NE(parent, nullptr);
  EXPECT_EQ(process(&windows), parent);
  windows = 1;  // as if a window were open
  // Another thread is inside the recorder all the while, so that its locks are often held at the fork.
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    while (!stop) static_cast<void>(parent->recorder.counters());
  });
  for (int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      alarm(20);
      Process* mine = process(&windows);
      const bool fresh = mine != nullptr && mine != parent && windows == 0 &&
                         mine->recorder.begin_scope(mine->registry.name("a")) == RecordStatus::ok &&
                         mine->recorder.counters().windows_opened == 0;
      _exit(fresh ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  stop = true;
  busy.join();
  windows = 0;
}

}  // namespace
}  // namespace graphtag
