// In the steady state a node costs no allocation.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "registry/registry.h"
#include "tests/support/count_allocations.h"

namespace graphtag {
namespace {

using test::allocations;

NodeId node(GraphId graph, std::uint32_t local) {
  return {graph, LocalId{local}};
}

class RegistryAllocations : public testing::Test {
 protected:
  Registry registry;
};

TEST_F(RegistryAllocations, TheCounterCounts) {
  const std::uint64_t before = allocations;
  delete new volatile int(5);
  EXPECT_EQ(allocations, before + 1);
}

TEST_F(RegistryAllocations, ANodeInTheScopeOfTheLastCostsNone) {
  const AnnotationId annotation = registry.name("scope");
  for (const GraphId graph : {GraphId{1}, GraphId{2}}) {
    registry.graph_created(graph, 0);
    registry.node_created(node(graph, 0), annotation);
  }
  const std::uint64_t before = allocations;
  for (std::uint32_t local = 1; local < 100'000; ++local) {  // two captures in turns
    registry.node_created(node({1}, local), annotation);
    registry.node_created(node({2}, local), annotation);
  }
  EXPECT_EQ(allocations, before);
  EXPECT_EQ(registry.resolve(node({2}, 99'999)).annotation, annotation);
}

TEST_F(RegistryAllocations, KnownScopesCostNone) {
  const std::string decoder = "model.layers.0.decoder.with.a.long.name", attention = "model.layers.0.decoder.self_attention";
  const AnnotationId known = registry.merge(registry.name(decoder), registry.name(attention));
  const std::uint64_t before = allocations;
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(registry.merge(registry.name(decoder), registry.name(attention)), known);
  EXPECT_EQ(allocations, before);
}

// 10 000 runs: the storage doubles, so that it is a handful of allocations.
TEST_F(RegistryAllocations, RunsGrowByDoubling) {
  std::vector<AnnotationId> scopes;
  for (int i = 0; i < 16; ++i) scopes.push_back(registry.name("scope " + std::to_string(i)));
  registry.graph_created({1}, 0);
  const std::uint64_t before = allocations;
  for (std::uint32_t local = 0; local < 100'000; ++local) registry.node_created(node({1}, local), scopes[local / 10 % 16]);
  EXPECT_LE(allocations - before, 16u);
  EXPECT_EQ(registry.counters().runs, 10'000u);
}

TEST_F(RegistryAllocations, ResolvingCostsNone) {
  registry.node_created(node({1}, 0), registry.name("a"));
  registry.exec_created({2}, {1}, 1);
  const std::uint64_t before = allocations;
  for (int i = 0; i < 1000; ++i) registry.resolve(node({2}, 0), 5);
  EXPECT_EQ(allocations, before);
}

}  // namespace
}  // namespace graphtag
