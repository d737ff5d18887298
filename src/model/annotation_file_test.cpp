#include "model/annotation_file.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <utility>

namespace graphtag {
namespace {

TEST(Origin, NamesReadBack) {
  for (int i = 0; i <= static_cast<int>(Origin::graph_level_trace); ++i) {
    const auto origin = static_cast<Origin>(i);
    EXPECT_EQ(origin_from_string(to_string(origin)), origin);
  }
  EXPECT_EQ(to_string(Origin::boundary_approximate), "boundary-approximate");
  EXPECT_EQ(to_string(Origin::captured_before_start), "captured-before-start");
  EXPECT_EQ(to_string(Origin::no_node_id), "no-node-id");
  EXPECT_EQ(to_string(Origin::graph_level_trace), "graph-level-trace");
  EXPECT_EQ(origin_from_string("Callback"), std::nullopt);
  EXPECT_EQ(origin_from_string(""), std::nullopt);
}

class Resolve : public ::testing::Test {
 protected:
  AnnotationId named(const char* name) { return *file.annotations.intern(Json{{"name", name}}); }

  std::pair<AnnotationId, Origin> at(std::uint32_t graph, std::uint32_t local) const {
    const Resolution found = file.resolve(NodeId(GraphId{graph}, LocalId{local}));
    return {found.annotation, found.origin};
  }

  static std::pair<AnnotationId, Origin> none(Origin reason) { return {AnnotationId::none, reason}; }

  AnnotationFile file;
};

// The drawing in annotation_file.h:  runs (0, a) (4, none) (6, b).
TEST_F(Resolve, RunsReachUpToTheNextOne) {
  const auto a = named("a"), b = named("b");
  GraphRecord& graph = file.graphs.emplace_back();
  graph.id = {3};
  graph.runs = {{{0}, a, Origin::callback}, {{4}, AnnotationId::none, Origin::outside_scope}, {{6}, b, Origin::boundary}};
  for (std::uint32_t local : {0u, 1u, 3u}) EXPECT_EQ(at(3, local), std::pair(a, Origin::callback)) << local;
  for (std::uint32_t local : {4u, 5u}) EXPECT_EQ(at(3, local), none(Origin::outside_scope)) << local;
  for (std::uint32_t local : {6u, 7u, 0xffffffffu}) EXPECT_EQ(at(3, local), std::pair(b, Origin::boundary)) << local;
  EXPECT_EQ(at(2, 0), none(Origin::unknown_graph));
  EXPECT_EQ(at(4, 0), none(Origin::unknown_graph));
  EXPECT_EQ(at(0, 0), none(Origin::unknown_graph));
}

TEST_F(Resolve, NodesBeforeTheFirstRunAreOutsideScopes) {
  file.graphs.emplace_back().id = {1};
  GraphRecord& graph = file.graphs.emplace_back();
  graph.id = {2};
  graph.runs = {{{5}, named("a"), Origin::callback}};
  EXPECT_EQ(at(1, 0), none(Origin::outside_scope));
  EXPECT_EQ(at(2, 4), none(Origin::outside_scope));
  EXPECT_EQ(at(2, 5).first, AnnotationId{1});
}

TEST_F(Resolve, ARunWithoutAnnotationHasAReason) {
  GraphRecord& graph = file.graphs.emplace_back();
  graph.id = {1};
  graph.runs = {{{0}, AnnotationId::none, Origin::callback}, {{1}, AnnotationId::none, Origin::captured_before_start}};
  EXPECT_EQ(at(1, 0), none(Origin::outside_scope));
  EXPECT_EQ(at(1, 1), none(Origin::captured_before_start));
}

// Graph 3 has seven top-level nodes, 6 of them a child graph's; exec graphs 4 and 9 number its nodes from 7 on. Node 2 of exec 9
// was updated.
class ResolveExec : public Resolve {
 protected:
  ResolveExec() {
    a = named("a"), b = named("b"), child = named("child"), updated = named("updated");
    GraphRecord& graph = file.graphs.emplace_back();
    graph.id = {3};
    graph.runs = {{{0}, a, Origin::callback}, {{4}, AnnotationId::none, Origin::outside_scope}, {{6}, b, Origin::callback}};
    for (const std::uint32_t id : {4u, 9u}) {
      ExecRecord& exec = file.execs.emplace_back();
      exec.id = {id};
      exec.template_graph = {3};
      exec.template_ids = 7;
      exec.placement = {{{8}, child, Origin::modelled}, {{10}, AnnotationId::none, Origin::unlinked_body}};
    }
    file.execs[1].overrides = {{{2}, updated, Origin::updated}, {{8}, AnnotationId::none, Origin::outside_scope}};
  }
  AnnotationId a, b, child, updated;
};

TEST_F(ResolveExec, TopLevelNodesShareTheRunsOfTheTemplate) {
  for (const std::uint32_t exec : {4u, 9u}) {
    EXPECT_EQ(at(exec, 0), std::pair(a, Origin::callback));
    EXPECT_EQ(at(exec, 3), std::pair(a, Origin::callback));
    EXPECT_EQ(at(exec, 5), none(Origin::outside_scope));
    EXPECT_EQ(at(exec, 6), std::pair(b, Origin::callback));
  }
}

TEST_F(ResolveExec, NestedNodesAreFoundByPlacementAlone) {
  EXPECT_EQ(at(4, 7), none(Origin::outside_scope));  // b's run does not reach beyond the top level
  EXPECT_EQ(at(4, 8), std::pair(child, Origin::modelled));
  EXPECT_EQ(at(4, 9), std::pair(child, Origin::modelled));
  EXPECT_EQ(at(4, 10), none(Origin::unlinked_body));
}

TEST_F(ResolveExec, OverridesComeFirstAndReachOneNode) {
  EXPECT_EQ(at(9, 1), std::pair(a, Origin::callback));
  EXPECT_EQ(at(9, 2), std::pair(updated, Origin::updated));
  EXPECT_EQ(at(9, 3), std::pair(a, Origin::callback));
  EXPECT_EQ(at(9, 8), none(Origin::outside_scope));
  EXPECT_EQ(at(9, 9), std::pair(child, Origin::modelled));
  EXPECT_EQ(at(4, 2), std::pair(a, Origin::callback));
}

TEST_F(ResolveExec, WithoutItsTemplateAnExecGraphKeepsPlacementAndOverrides) {
  for (const std::uint32_t lost : {0u, 77u}) {
    file.execs[1].template_graph = {lost};
    EXPECT_EQ(at(9, 0), none(Origin::unknown_graph));
    EXPECT_EQ(at(9, 2), std::pair(updated, Origin::updated));
    EXPECT_EQ(at(9, 9), std::pair(child, Origin::modelled));
    EXPECT_EQ(file.graph_of({9}), nullptr);
  }
}

TEST_F(ResolveExec, GraphOfFindsTheTemplate) {
  EXPECT_EQ(file.graph_of({4}), &file.graphs[0]);
  EXPECT_EQ(file.graph_of({9}), &file.graphs[0]);
  EXPECT_EQ(file.graph_of({3}), &file.graphs[0]);
  EXPECT_EQ(file.graph_of({5}), nullptr);
  EXPECT_EQ(file.find_exec({9}), &file.execs[1]);
  EXPECT_EQ(file.find_exec({3}), nullptr);
  EXPECT_EQ(file.find_graph({4}), nullptr);
}

// Where a file says that graph 0 is known, an exec graph of no known template must still not take its names.
TEST_F(ResolveExec, TemplateZeroIsNoGraph) {
  GraphRecord zero;
  zero.runs = {{{0}, a, Origin::callback}};
  file.graphs.insert(file.graphs.begin(), std::move(zero));
  file.execs[0].template_graph = {0};
  EXPECT_EQ(at(4, 0), none(Origin::unknown_graph));
  EXPECT_EQ(at(0, 0), std::pair(a, Origin::callback));
}

}  // namespace
}  // namespace graphtag
