// Many threads at once; run under ThreadSanitizer (preset tsan) to be of full use.
#include <gtest/gtest.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "registry/registry.h"

namespace graphtag {
namespace {

constexpr std::uint32_t kGraphsAThread = 30;
constexpr std::uint32_t kNodes = 400;
constexpr std::uint32_t kScope = 7;  // nodes in a row in one scope

NodeId node(std::uint32_t graph, std::uint32_t local) {
  return {GraphId{graph}, LocalId{local}};
}

// Threads that play captures beside readers that ask for everything, until all captures are done. All begin at once.
class Crowd {
 public:
  template <typename Work>
  void capture(Work work) {
    ++capturing_;
    threads_.emplace_back([this, work] {
      await_start();
      work();
      --capturing_;
    });
  }
  template <typename Work>
  void meanwhile(Work work) {
    threads_.emplace_back([this, work] {
      await_start();
      do work();
      while (capturing_ > 0);
    });
  }
  ~Crowd() {
    started_ = true;
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  void await_start() const {
    while (!started_) std::this_thread::yield();
  }

  std::atomic<bool> started_{false};
  std::atomic<int> capturing_{0};
  std::vector<std::thread> threads_;
};

std::string scope_name(std::uint32_t thread, std::uint32_t local) {
  return "t" + std::to_string(thread) + ".s" + std::to_string(local / kScope % 5);
}

// Each thread captures graphs of its own, with a child graph, instantiates and destroys them, while others read.
TEST(RegistryThreads, CapturesBesideReaders) {
  Registry registry;
  constexpr std::uint32_t kThreads = 3;
  const auto graph_id = [](std::uint32_t thread, std::uint32_t i) { return (thread * kGraphsAThread + i) * 3 + 1; };
  std::atomic<std::uint32_t> wrong{0};
  {
    Crowd crowd;
    for (std::uint32_t thread = 0; thread < kThreads; ++thread) {
      crowd.capture([&, thread] {
        const AnnotationId outer = registry.name("t" + std::to_string(thread));
        for (std::uint32_t i = 0; i < kGraphsAThread; ++i) {
          const std::uint32_t graph = graph_id(thread, i), child = graph + 1, exec = graph + 2;
          registry.graph_created({graph}, i);
          for (std::uint32_t local = 0; local < kNodes; ++local) {
            registry.node_created(node(graph, local), registry.merge(outer, registry.name(scope_name(thread, local))));
            const Resolution own = registry.resolve(node(graph, local));
            if (registry[own.annotation].name != scope_name(thread, local)) ++wrong;
          }
          registry.node_created(node(child, 0), registry.name("child"));
          registry.child_graph(node(graph, 0), {child});
          const NodePairs nested{{kNodes}, node(child, 0), 1};
          registry.exec_created({exec}, {graph}, i, {}, {&nested, 1});
          if (i % 2 == 0) registry.graph_destroyed({graph}, i);
          if (i % 3 == 0) registry.exec_destroyed({exec}, i);
        }
      });
    }
    crowd.meanwhile([&] {
      const Result<AnnotationFile> file = registry.snapshot();
      for (const ExecRecord& exec : file->execs) {
        // An exec graph in a snapshot is whole.
        const std::uint32_t thread = exec.template_graph.value / 3 / kGraphsAThread;
        for (std::uint32_t local = 0; local < kNodes; local += 50) {
          const Resolution resolution = file->resolve(node(exec.id.value, local));
          if (file->annotations[resolution.annotation].name != scope_name(thread, local)) ++wrong;
        }
        if (file->annotations[file->resolve(node(exec.id.value, kNodes)).annotation].path.size() != 3) ++wrong;
      }
    });
    crowd.meanwhile([&] {
      for (std::uint32_t id = 1; id < 300; ++id) registry.resolve(node(id, id % kNodes), 5);
    });
    crowd.meanwhile([&] {
      static_cast<void>(registry.counters());
      static_cast<void>(registry.links({1}));
      static_cast<void>(registry.set_label({1}, Json(1)));
    });
  }
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(registry.counters().lost, 0u);
  for (std::uint32_t thread = 0; thread < kThreads; ++thread) {
    for (std::uint32_t i = 0; i < kGraphsAThread; ++i) {
      for (std::uint32_t local = 0; local < kNodes; ++local) {
        const Resolution resolution = registry.resolve(node(graph_id(thread, i) + 2, local));
        ASSERT_EQ(registry[resolution.annotation].name, scope_name(thread, local));
      }
    }
  }
}

// Threads add nodes to one graph at once, as when several streams of one capture are fed by several threads.
TEST(RegistryThreads, OneGraphFedByManyThreads) {
  constexpr std::uint32_t kThreads = 4, kEach = 3000;
  Registry registry;
  registry.graph_created({1}, 0);
  std::atomic<std::uint32_t> next{0};
  std::vector<std::uint32_t> creator(kThreads * kEach);  // local id -> thread; each element is written once
  {
    Crowd crowd;
    for (std::uint32_t thread = 0; thread < kThreads; ++thread) {
      crowd.capture([&, thread] {
        const AnnotationId own = registry.name("t" + std::to_string(thread));
        for (std::uint32_t i = 0; i < kEach; ++i) {
          const std::uint32_t local = next++;
          creator[local] = thread;
          registry.node_created(node(1, local), own);
        }
      });
    }
    // Apart, since every lock that a reader takes hides what it does without one.
    crowd.meanwhile([&] { registry.resolve(node(1, next / 2)); });
    crowd.meanwhile([&] { static_cast<void>(registry.snapshot()); });
  }
  EXPECT_EQ(registry.next_local_id({1}), kThreads * kEach);
  for (std::uint32_t local = 0; local < kThreads * kEach; ++local) {
    const Resolution resolution = registry.resolve(node(1, local));
    ASSERT_EQ(registry[resolution.annotation].name, "t" + std::to_string(creator[local])) << local;
  }
}

// Everything that takes tables away, while they are in use. What is answered is right, or says that it is not known.
TEST(RegistryThreads, ForgettingAndDroppingMeanwhile) {
  RegistryLimits limits;
  limits.retired_bytes = 20'000;
  limits.live_bytes = 60'000;
  Registry registry(limits);
  std::atomic<std::uint32_t> next_id{1};
  std::atomic<std::uint32_t> wrong{0};
  {
    Crowd crowd;
    for (std::uint32_t thread = 0; thread < 3; ++thread) {
      crowd.capture([&, thread] {
        const AnnotationId own[] = {registry.name(scope_name(thread, 0)), registry.name(scope_name(thread, kScope))};
        for (std::uint32_t i = 0; i < 60; ++i) {
          const std::uint32_t graph = next_id.fetch_add(2), exec = graph + 1;
          for (std::uint32_t local = 0; local < 100; ++local) registry.node_created(node(graph, local), own[local / 3 % 2]);
          registry.exec_created({exec}, {graph}, i);
          const NodePairs same{{0}, node(graph, 0), 100};
          registry.exec_updated({exec}, {&same, 1});
          for (const std::uint32_t local : {0u, 3u, 99u}) {
            const AnnotationId answer = registry.resolve(node(exec, local)).annotation;
            if (answer != AnnotationId::none && answer != own[local / 3 % 2]) ++wrong;
          }
          if (i % 4 != 3) registry.graph_destroyed({graph}, i);
          if (i % 5 != 4) registry.exec_destroyed({exec}, i);
        }
      });
    }
    crowd.meanwhile([&] {
      std::this_thread::yield();
      registry.forget({next_id.load() - 2});
    });
    crowd.meanwhile([&] {
      for (int i = 0; i < 20; ++i) static_cast<void>(registry.snapshot(i % 2 == 0));
      registry.forget();
    });
  }
  EXPECT_EQ(wrong, 0u);
  const RegistryCounters counters = registry.counters();
  EXPECT_LE(counters.retired_bytes, limits.retired_bytes);
  registry.forget();
  EXPECT_EQ(registry.counters().live_bytes, 0u);
  EXPECT_EQ(registry.counters().retired_bytes, 0u);
}

}  // namespace
}  // namespace graphtag
