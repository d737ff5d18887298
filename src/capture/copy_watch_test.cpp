#include "capture/copy_watch.h"

#include <gtest/gtest.h>

namespace graphtag {
namespace {

NodeHandle handle(std::uintptr_t number) {
  return reinterpret_cast<NodeHandle>(number);
}
NodeId id(std::uint32_t graph, std::uint32_t local) {
  return {GraphId{graph}, LocalId{local}};
}

// As an H200 does it: graph 20 is being made an exec graph of graph 1, which holds graph 14. A nested copy gets its id in the exec graph, is destroyed,
// and a node that is no copy takes the id over.
TEST(CopyWatch, ACopyThatIsReplacedDuringAnInstantiationSaysWhereItsOriginalWent) {
  CopyWatch watch;
  watch.graph_created(GraphId{20});
  watch.node_created(handle(1), id(20, 0));
  watch.node_cloned({handle(1), id(20, 0), id(1, 0)});
  watch.graph_created(GraphId{27});
  watch.node_created(handle(2), id(27, 0));
  watch.node_cloned({handle(2), id(27, 0), id(14, 0)});
  watch.node_created(handle(3), id(27, 1));
  watch.node_cloned({handle(3), id(27, 1), id(14, 1)});
  watch.node_destroyed(handle(3), id(20, 46));
  watch.node_created(handle(4), id(20, 65));

  const CopyWatch::Instantiation made = watch.take_instantiation(GraphId{20});
  ASSERT_EQ(made.nodes.size(), 2u);
  EXPECT_EQ(made.nodes[0].original, id(1, 0));
  EXPECT_EQ(made.nodes[1].original, id(14, 0));
  ASSERT_EQ(made.replaced.size(), 1u);
  EXPECT_EQ(made.replaced[0].id, id(20, 46));
  EXPECT_EQ(made.replaced[0].original, id(14, 1));
  EXPECT_TRUE(made.older.empty());
}

TEST(CopyWatch, WhatWasDestroyedBeforeIsNotPartOfTheNextInstantiation) {
  CopyWatch watch;
  watch.graph_created(GraphId{20});
  watch.node_created(handle(1), id(20, 0));
  watch.node_cloned({handle(1), id(20, 0), id(1, 0)});
  watch.node_destroyed(handle(1), id(20, 0));
  EXPECT_EQ(watch.take_instantiation(GraphId{20}).replaced.size(), 1u);

  watch.graph_created(GraphId{30});
  watch.node_created(handle(5), id(30, 0));
  watch.node_cloned({handle(5), id(30, 0), id(1, 0)});
  const CopyWatch::Instantiation made = watch.take_instantiation(GraphId{30});
  EXPECT_EQ(made.nodes.size(), 1u);
  EXPECT_TRUE(made.replaced.empty());
}

}  // namespace
}  // namespace graphtag
