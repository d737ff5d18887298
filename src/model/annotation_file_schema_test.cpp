// graphtag.annotations/1.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "base/file.h"
#include "model/annotation_file.h"

namespace graphtag {
namespace {

std::string example(const std::string& name) {
  return *read_file(std::string(GRAPHTAG_SOURCE_DIR) + "/examples/annotations/" + name, std::size_t{1} << 20);
}

AnnotationFile parse(const std::string& text) {
  auto file = parse_annotation_file(text, "x.json");
  EXPECT_TRUE(file) << file.error().to_string();
  return file ? *std::move(file) : AnnotationFile();
}

// A file with these members beside its schema.
std::string with(const std::string& members) {
  return R"({"schema":"graphtag.annotations/1",)" + members + "}";
}

TEST(SchemaFile, ReadsEveryMember) {
  const AnnotationFile file = parse(example("serving.json"));
  EXPECT_EQ(file.format, "graphtag.annotations/1");
  EXPECT_EQ(file.path, "x.json");
  EXPECT_TRUE(file.notes.empty());

  const Producer& producer = file.producer;
  EXPECT_EQ(producer.tool, "graphtag 0.1.0");
  EXPECT_EQ(producer.host, "node7");
  EXPECT_EQ(producer.pid, 4242);
  EXPECT_EQ(producer.rank, 0);
  EXPECT_EQ(producer.device_uuids, std::vector<std::string>{"GPU-5f2b9a0e-7c41-4d1f-9f3b-2a6c8e0d1b47"});
  EXPECT_EQ(producer.driver_version, 13000);
  EXPECT_EQ(producer.cupti_version, 130202);
  EXPECT_EQ(producer.cupti_path, "/usr/local/cuda/lib64/libcupti.so.13");
  EXPECT_EQ(producer.observer, "callback");
  EXPECT_EQ(producer.clock_unix_ns, 1796059200000000000);
  EXPECT_EQ(producer.clock_cupti_ns, 1796059199999998713);
  EXPECT_EQ(producer.counts, (std::map<std::string, std::uint64_t>{{"dropped_graphs", 0}}));

  ASSERT_EQ(file.annotations.size(), 6u);
  const Annotation& attention = file.annotations[AnnotationId{1}];
  EXPECT_EQ(dump_json(*attention.object), R"({"name":"attention","bs":8})");
  EXPECT_EQ(attention.path, (std::vector<std::string>{"decoder", "attention"}));

  ASSERT_EQ(file.graphs.size(), 3u);
  const GraphRecord& graph = file.graphs[0];
  EXPECT_EQ(graph.id, GraphId{3});
  ASSERT_NE(graph.label, nullptr);
  EXPECT_EQ(dump_json(*graph.label), R"({"bs":8})");
  EXPECT_EQ(graph.runs, (std::vector<graphtag::Run>{{{0}, AnnotationId{1}, Origin::callback},
                                                    {{4}, AnnotationId::none, Origin::outside_scope},
                                                    {{6}, AnnotationId{2}, Origin::callback},
                                                    {{9}, AnnotationId{3}, Origin::callback}}));
  EXPECT_EQ(graph.nodes, (NodeCounts{10, 1, 0}));
  EXPECT_EQ(graph.body_nodes, (NodeCounts{2, 0, 0}));
  EXPECT_EQ(graph.created_ns, 1796059201000000000);
  EXPECT_EQ(graph.destroyed_ns, std::nullopt);
  EXPECT_EQ(file.graphs[1].destroyed_ns, 1796059203000000000);
  EXPECT_EQ(file.graphs[1].nodes, std::nullopt);
  EXPECT_EQ(file.graphs[2].label, nullptr);

  ASSERT_EQ(file.execs.size(), 4u);
  const ExecRecord& exec = file.execs[1];
  EXPECT_EQ(exec.id, GraphId{5});
  EXPECT_EQ(exec.template_graph, GraphId{3});
  EXPECT_EQ(exec.template_ids, 10u);
  EXPECT_EQ(exec.placement, (std::vector<graphtag::Run>{{{10}, AnnotationId{2}, Origin::callback}}));
  EXPECT_EQ(exec.overrides, (std::vector<graphtag::Run>{{{9}, AnnotationId{4}, Origin::updated}}));
  EXPECT_EQ(exec.created_ns, 1796059201600000000);
  EXPECT_EQ(exec.destroyed_ns, 1796059209000000000);
  EXPECT_EQ(file.execs[3].template_graph, GraphId{0});
  EXPECT_EQ(file.execs[3].template_ids, 0xffffffffu);
}

// What docs/annotation-file.md says about each node of the example.
TEST(SchemaFile, TheExampleResolvesAsDocumented) {
  const AnnotationFile file = parse(example("serving.json"));
  const auto at = [&](std::uint32_t graph, std::uint32_t local) {
    const Resolution found = file.resolve(NodeId(GraphId{graph}, LocalId{local}));
    return file.annotations[found.annotation].name + " " + std::string(to_string(found.origin));
  };
  EXPECT_EQ(at(4, 3), "attention callback");
  EXPECT_EQ(at(4, 5), " outside-scope");
  EXPECT_EQ(at(4, 9), "sampler callback");
  EXPECT_EQ(at(4, 11), "mlp modelled");
  EXPECT_EQ(at(4, 12), " unlinked-body");
  EXPECT_EQ(at(5, 9), "sampler updated");
  EXPECT_EQ(at(5, 12), "mlp callback");
  EXPECT_EQ(at(6, 0), "warm-up boundary");
  EXPECT_EQ(at(8, 2), " captured-before-start");
  EXPECT_EQ(at(9, 0), " unknown-graph");
  EXPECT_EQ(at(99, 0), " unknown-graph");
}

// The example is what graphtag writes, so it shows the layout, too; tests/python validates it against the JSON Schema.
TEST(SchemaFile, WritesTheExampleByteForByte) {
  const std::string text = example("serving.json");
  EXPECT_EQ(write_annotation_file(parse(text)), text);
}

TEST(SchemaFile, WritesTheEmptyFile) {
  EXPECT_EQ(
      write_annotation_file(AnnotationFile()),
      "{\"schema\":\"graphtag.annotations/1\",\n\"producer\":{},\n\"annotations\":[\n],\n\"graphs\":[\n],\n\"execs\":[\n]}\n");
}

TEST(SchemaFile, ReadsAFileWrittenByHand) {
  const AnnotationFile file = parse(example("by_hand.json"));
  const Resolution mlp = file.resolve(NodeId(GraphId{19}, LocalId{4}));
  EXPECT_EQ(file.annotations[mlp.annotation].name, "model.layers.0.mlp");
  EXPECT_TRUE(file.annotations[mlp.annotation].path.empty());
  EXPECT_EQ(file.resolve(NodeId(GraphId{19}, LocalId{5})).origin, Origin::outside_scope);
}

TEST(SchemaFile, TheTableMayComeAfterItsUse) {
  const AnnotationFile file = parse(with(R"("graphs":[{"runs":[[0,1]],"id":1}],"annotations":[{"object":{"name":"a"}}])"));
  EXPECT_EQ(file.annotations[file.resolve(NodeId(GraphId{1}, LocalId{0})).annotation].name, "a");
}

TEST(SchemaFile, EntriesThatComeTwiceAreOne) {
  const AnnotationFile file = parse(with(
      R"("annotations":[{"object":{"a":1,"b":2}},{"object":{"b":2,"a":1}},{"object":{"c":3}}],"graphs":[{"id":1,"runs":[[0,2],[1,3]]}])"));
  EXPECT_EQ(file.annotations.size(), 3u);
  EXPECT_EQ(file.graphs[0].runs[0].annotation, AnnotationId{1});
  EXPECT_EQ(file.graphs[0].runs[1].annotation, AnnotationId{2});
}

TEST(SchemaFile, AnAnnotationMayBeNestedAsDeepAsAnyOther) {
  std::string deep = "1";
  for (int i = 0; i < 63; ++i) deep = "[" + deep + "]";
  const std::string text = with(R"("annotations":[{"object":{"v":)" + deep + "}}]");
  EXPECT_EQ(parse(write_annotation_file(parse(text))).annotations.size(), 2u);
  EXPECT_FALSE(parse_annotation_file(with(R"("annotations":[{"object":{"v":[)" + deep + "]}}]"), "x"));
}

TEST(SchemaFile, UnknownMembersArePassedOverAndNoted) {
  const AnnotationFile file =
      parse(with(R"("comment":"x","graphs":[{"id":1,"runs":[],"a/b~":{}},{"id":2,"runs":[],"colour":1}])"));
  ASSERT_EQ(file.notes.size(), 1u);
  EXPECT_EQ(file.notes[0], "3 unknown members were passed over, the first is /comment");
  const AnnotationFile nested = parse(with(R"("graphs":[{"id":1,"runs":[],"a/b~":{}}])"));
  ASSERT_EQ(nested.notes.size(), 1u);
  EXPECT_EQ(nested.notes[0], "1 unknown members were passed over, the first is /graphs/0/a~1b~0");
}

TEST(SchemaFile, ErrorsPointAtWhatIsWrong) {
  const std::string table = R"("annotations":[{"object":{"name":"a"}}],)";
  struct Row {
    std::string members;
    const char* pointer;
    const char* what;
  };
  const Row rows[] = {
      {R"("annotations":{})", "/annotations", "must be an array"},
      {R"("annotations":[1])", "/annotations/0", "must be an object"},
      {R"("annotations":[{"path":[]}])", "/annotations/0", "\"object\" is missing"},
      {R"("annotations":[{"object":[]}])", "/annotations/0/object", "must be an object"},
      {R"("annotations":[{"object":{"a":1}},{"object":{}}])", "/annotations/1", "is empty"},
      {R"("annotations":[{"object":{"a":1},"path":["a",1]}])", "/annotations/0/path/1", "must be a string"},
      {R"("annotations":[{"object":{"graphtag.path":1}}])", "/annotations/0", "graphtag.path"},
      {R"("producer":[])", "/producer", "must be an object"},
      {R"("producer":{"pid":1.5})", "/producer/pid", "must be an integer"},
      {R"("producer":{"pid":null})", "/producer/pid", "must be an integer"},
      {R"("producer":{"clock":{"unix_ns":"1"}})", "/producer/clock/unix_ns", "must be an integer"},
      {R"("producer":{"counts":{"x":-1}})", "/producer/counts/x", "must be an integer of 0 to 18446744073709551615"},
      {R"("graphs":[{"runs":[]}])", "/graphs/0", "\"id\" is missing"},
      {R"("graphs":[{"id":1}])", "/graphs/0", "\"runs\" is missing"},
      {R"("graphs":[{"id":4294967296,"runs":[]}])", "/graphs/0/id", "must be an integer of 0 to 4294967295"},
      {R"("graphs":[{"id":-1,"runs":[]}])", "/graphs/0/id", "must be an integer"},
      {R"("graphs":[{"id":true,"runs":[]}])", "/graphs/0/id", "must be an integer"},
      {R"("graphs":[{"id":2,"runs":[]},{"id":1,"runs":[]}])", "/graphs/1", "id 1 after id 2; ids must ascend"},
      {R"("graphs":[{"id":2,"runs":[]},{"id":2,"runs":[]}])", "/graphs/1", "ids must ascend"},
      {R"("graphs":[{"id":1,"runs":[[0]]}])", "/graphs/0/runs/0", "a run is"},
      {R"("graphs":[{"id":1,"runs":[[0,0,"outside-scope",1]]}])", "/graphs/0/runs/0", "a run is"},
      {R"("graphs":[{"id":1,"runs":[[0,2]]}])", "/graphs/0/runs/0", "annotation 2 is not in the table of 1"},
      {R"("graphs":[{"id":1,"runs":[[0,-1]]}])", "/graphs/0/runs/0", "must be an integer"},
      {R"("graphs":[{"id":1,"runs":[[4294967296,1]]}])", "/graphs/0/runs/0", "must be an integer"},
      {R"("graphs":[{"id":1,"runs":[[0,1],[5,0],[5,1]]}])", "/graphs/0/runs/2", "runs must ascend"},
      {R"("graphs":[{"id":1,"runs":[[0,1,"outside-scope"]]}])", "/graphs/0/runs/0", "no provenance"},
      {R"("graphs":[{"id":1,"runs":[[0,1,"guessed"]]}])", "/graphs/0/runs/0", "no provenance"},
      {R"("graphs":[{"id":1,"runs":[[0,1,7]]}])", "/graphs/0/runs/0", "no provenance"},
      {R"("graphs":[{"id":1,"runs":[[0,0,"callback"]]}])", "/graphs/0/runs/0", "no reason"},
      {R"("graphs":[{"id":1,"runs":[[0,0,"no-annotations"]]}])", "/graphs/0/runs/0", "no reason"},
      {R"("graphs":[{"id":1,"runs":[],"nodes":{"kernels":-1}}])", "/graphs/0/nodes/kernels", "must be an integer"},
      {R"("execs":[{"id":1}])", "/execs/0", "\"template\" is missing"},
      {R"("execs":[{"id":1,"template":0,"template_ids":5,"placement":[[4,1]]}])", "/execs/0", "the placement begins at node 4"},
      {R"("execs":[{"id":1,"template":0,"placement":[[4,1]]}])", "/execs/0", "the placement begins at node 4"},
      {R"("execs":[{"id":1,"template":0,"overrides":[[4,1],[4,1]]}])", "/execs/0/overrides/1", "runs must ascend"},
      {R"("execs":[{"id":3,"template":0},{"id":2,"template":0}])", "/execs/1", "ids must ascend"},
      {R"("graphs":[{"id":3,"runs":[]}],"execs":[{"id":3,"template":0}])", "", "id 3 is a graph's and an exec graph's"},
  };
  for (const Row& row : rows) {
    const bool has_table = row.members.find("\"annotations\":") != std::string::npos;
    const auto file = parse_annotation_file(with((has_table ? "" : table) + row.members), "x.json");
    ASSERT_FALSE(file) << row.members;
    EXPECT_EQ(file.error().code, ErrorCode::malformed) << row.members;
    EXPECT_EQ(file.error().file, "x.json");
    EXPECT_EQ(file.error().message.find("at JSON pointer \"" + std::string(row.pointer) + "\": "), 0u)
        << row.members << ": " << file.error().message;
    EXPECT_NE(file.error().message.find(row.what), std::string::npos) << row.members << ": " << file.error().message;
  }
}

}  // namespace
}  // namespace graphtag
