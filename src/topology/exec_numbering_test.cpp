#include "topology/exec_numbering.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/json.h"
#include "tests/support/graph_shapes.h"

namespace graphtag {
namespace {

using test::node;
using test::shape;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(GraphShape, LiveNodesAreRanges) {
  const GraphShape graph = shape(1, {0, 1, 3, 4});
  EXPECT_THAT(graph.live, ElementsAre(IdRange{{0}, 2}, IdRange{{3}, 2}));
  EXPECT_EQ(graph.node_count(), 4u);
}

TEST(NodePairs, NeighboursAreOneEntry) {
  std::vector<NodePairs> pairs;
  for (std::uint32_t i = 0; i < 3; ++i) append_pairs(pairs, {5 + i}, node(3, i));
  for (std::uint32_t i = 0; i < 2; ++i) append_pairs(pairs, {8 + i}, node(4, 2 + i));
  EXPECT_THAT(pairs, ElementsAre(NodePairs{{5}, node(3, 0), 3}, NodePairs{{8}, node(4, 2), 2}));
  append_pairs(pairs, {11}, node(4, 4));  // the exec graph's id skips one
  append_pairs(pairs, {12}, node(4, 6));  // the node's does
  EXPECT_EQ(pairs.size(), 4u);
}

// The drawing in the header.
TEST(NumberNested, BodiesInOrderThenWhatTheyHoldInReverse) {
  const GraphShape graph = shape(1, {0, 1, 2},
                                 {{.node = {1},
                                   .conditional = true,
                                   .bodies = {shape(2, {0, 1}, {{.node = {1}, .bodies = {shape(4, {0})}}}),
                                              shape(3, {0, 2}, {{.node = {0}, .bodies = {shape(5, {0, 1})}}})}}});
  const NestedNumbering numbering = number_nested(graph, 3);
  EXPECT_TRUE(numbering.complete);
  EXPECT_EQ(numbering.end, 10u);
  EXPECT_THAT(numbering.pairs,
              ElementsAre(NodePairs{{3}, node(2, 0), 2}, NodePairs{{5}, node(3, 0), 1}, NodePairs{{6}, node(3, 2), 1},
                          NodePairs{{7}, node(5, 0), 2}, NodePairs{{9}, node(4, 0), 1}));
}

TEST(NumberNested, FlatGraphHasNone) {
  const NestedNumbering numbering = number_nested(shape(1, {0, 1, 2}), 3);
  EXPECT_THAT(numbering.pairs, IsEmpty());
  EXPECT_EQ(numbering.end, 3u);
  EXPECT_TRUE(numbering.complete);
}

TEST(NumberNested, StopsAtAnUnknownBody) {
  const GraphShape graph = shape(1, {0, 1, 2},
                                 {{.node = {0}, .bodies = {shape(2, {0, 1})}},
                                  {.node = {1}, .conditional = true, .bodies_known = false},
                                  {.node = {2}, .bodies = {shape(3, {0})}}});
  const NestedNumbering numbering = number_nested(graph, 3);
  EXPECT_FALSE(numbering.complete);
  EXPECT_THAT(numbering.pairs, ElementsAre(NodePairs{{3}, node(2, 0), 2}));
  EXPECT_EQ(numbering.end, 5u);
}

TEST(NumberNested, StopsWhereIdsWouldPass32Bits) {
  const GraphShape graph = shape(1, {0}, {{.node = {0}, .bodies = {shape(2, {0, 1})}}});
  EXPECT_FALSE(number_nested(graph, std::numeric_limits<std::uint32_t>::max() - 1).complete);
  EXPECT_TRUE(number_nested(graph, std::numeric_limits<std::uint32_t>::max() - 2).complete);
}

TEST(NumberNested, StopsAtAbsurdDepth) {
  GraphShape graph = shape(1000, {0});
  for (std::uint32_t id = 999; id > 0; --id) {
    GraphShape outer = shape(id, {0});
    outer.holders.push_back({.node = {0}, .bodies = {std::move(graph)}});
    graph = std::move(outer);
  }
  EXPECT_FALSE(number_nested(graph, 1).complete);
}

// What an H200 did with 700 random graphs.
class Truth {
 public:
  explicit Truth(const Json& line) : shape_(read(line["nodes"])), numbering_(number_nested(shape_, line["next_local_id"])) {}

  const GraphShape& shape() const { return shape_; }
  const NestedNumbering& numbering() const { return numbering_; }

  // Where the rule puts the kernel with this grid; nothing if it does not number it.
  std::optional<std::uint32_t> exec_local_id(const std::string& grid) const {
    const NodeId kernel = kernels_.at(grid);
    if (kernel.graph() == shape_.id) return kernel.local().value;
    for (const NodePairs& pairs : numbering_.pairs) {
      if (pairs.source.graph() != kernel.graph() || kernel.local() < pairs.source.local()) continue;
      const std::uint32_t offset = kernel.local().value - pairs.source.local().value;
      if (offset < pairs.count) return pairs.first.value + offset;
    }
    return std::nullopt;
  }

 private:
  GraphShape read(const Json& nodes) {
    GraphShape graph;
    graph.id = {++graphs_};
    for (const Json& entry : nodes) {
      const LocalId local{entry["id"]};
      graph.add_node(local);
      if (entry.contains("grid")) kernels_.emplace(std::to_string(entry["grid"].get<int>()), NodeId{graph.id, local});
      if (!entry.contains("sub")) continue;
      GraphShape::Holder holder{.node = local, .conditional = entry["t"].get<int>() == 13};
      for (const Json& body : entry["sub"]) holder.bodies.push_back(read(body));
      graph.holders.push_back(std::move(holder));
    }
    return graph;
  }

  std::uint32_t graphs_ = 0;
  std::map<std::string, NodeId> kernels_;  // gridDim.x -> the kernel's node
  GraphShape shape_;
  NestedNumbering numbering_;
};

TEST(NumberNested, EveryIdOfTheRecordedGraphs) {
  std::ifstream file(GRAPHTAG_SOURCE_DIR "/tests/golden/truth/nested_graphs.jsonl");
  std::size_t graphs = 0;
  std::size_t ids = 0;
  for (std::string line; std::getline(file, line);) {
    const Result<Json> json = parse_json(line);
    ASSERT_TRUE(json) << json.error().to_string();
    const Truth truth(*json);
    EXPECT_TRUE(truth.numbering().complete);
    for (const auto& [grid, id] : (*json)["exec_local_id"].items()) {
      EXPECT_EQ(truth.exec_local_id(grid), id.get<std::uint32_t>()) << "graph " << graphs + 1 << ", grid " << grid;
      ++ids;
    }
    ++graphs;
  }
  EXPECT_EQ(graphs, 700u);
  EXPECT_EQ(ids, 6593u);
}

}  // namespace
}  // namespace graphtag
