#include "join/annotation_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "join/ambiguous_sources.h"
#include "tests/support/join_fixtures.h"

namespace graphtag {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::make_source;
using testing::node;
using testing::TempFolder;

std::vector<const AnnotationSource*> pointers(const std::vector<AnnotationSource>& sources) {
  std::vector<const AnnotationSource*> all;
  for (const AnnotationSource& source : sources) all.push_back(&source);
  return all;
}

std::string name_of(const AnnotationSet& set, NodeId id) {
  return set.annotations()[set.resolve(id).annotation].name;
}

TEST(AnnotationSet, WithoutFilesKnowsNothing) {
  const AnnotationSet set;
  EXPECT_TRUE(set.empty());
  EXPECT_EQ(set.resolve(NodeId(node(2, 0))).origin, Origin::unknown_graph);
  EXPECT_EQ(set.graph_of(GraphId{2}), nullptr);
}

TEST(AnnotationSet, TheLaterFileWinsAnIdThatBothHave) {
  std::vector<AnnotationSource> sources;
  sources.push_back(make_source({{node(2, 0), R"({"name":"old"})"}, {node(2, 1), R"({"name":"only in the first"})"}}));
  sources.push_back(make_source({{node(2, 0), R"({"name":"new"})"}, {node(3, 0), R"({"name":"only in the second"})"}}));
  const AnnotationSet set(pointers(sources));
  for (int pass = 0; pass < 2; ++pass) {  // the second answer is a remembered one
    EXPECT_EQ(name_of(set, NodeId(node(2, 0))), "new");
    EXPECT_EQ(name_of(set, NodeId(node(2, 1))), "only in the first");
    EXPECT_EQ(name_of(set, NodeId(node(3, 0))), "only in the second");
    EXPECT_EQ(set.resolve(NodeId(node(2, 7))).origin, Origin::outside_scope);
    EXPECT_EQ(set.resolve(NodeId(node(4, 0))).origin, Origin::unknown_graph);
  }
  EXPECT_EQ(set.graph_of(GraphId{2}), &sources[1].file->graphs[0]);
}

TEST(AnnotationSet, EqualAnnotationsOfTwoFilesAreOne) {
  std::vector<AnnotationSource> sources;
  sources.push_back(make_source({{node(2, 0), R"({"name":"a","bs":8})"}}));
  sources.push_back(make_source({{node(3, 0), R"({"bs":8,"name":"a"})"}}));
  const AnnotationSet set(pointers(sources));
  EXPECT_EQ(set.resolve(NodeId(node(2, 0))).annotation, set.resolve(NodeId(node(3, 0))).annotation);
}

TEST(AnnotationSet, ListsKeysInOrderOfFirstSight) {
  std::vector<AnnotationSource> sources;
  sources.push_back(make_source({{node(2, 0), R"({"name":"a","bs":8})"}, {node(2, 1), R"({"step":1,"name":"b"})"}}));
  EXPECT_THAT(AnnotationSet(pointers(sources)).keys(), ElementsAre("name", "bs", "step"));
  sources.push_back(make_source({{node(3, 0), R"({"name":"c","graphtag.path":["outer","c"]})"}}));
  EXPECT_THAT(AnnotationSet(pointers(sources)).keys(), ElementsAre("name", "bs", "step", "graphtag.path"));
}

// More nodes than are remembered at once.
TEST(AnnotationSet, ForgettingChangesNoAnswer) {
  const std::vector<AnnotationSource> sources = testing::make_sources({{node(2, 5), R"({"name":"a"})"}});
  const AnnotationSet set(pointers(sources));
  for (std::uint64_t local = 0; local < 600'000; ++local) {
    const Origin expected = local == 5 ? Origin::callback : Origin::outside_scope;
    ASSERT_EQ(set.resolve(NodeId(node(2, local))).origin, expected);
  }
  EXPECT_EQ(name_of(set, NodeId(node(2, 5))), "a");
}

TEST(ChooseSources, AFieldThatOneSideLacksFits) {
  std::vector<AnnotationSource> sources = testing::make_sources({{node(2, 0), R"({"name":"a"})"}});
  TraceInfo info;
  info.host = "alpha";
  info.rank = 0;
  info.pid = 17;
  EXPECT_EQ(choose_sources(sources, info, Fit::strict)->fitting.size(), 1U);
  sources[0].file->producer.host = "alpha";
  sources[0].file->producer.rank = 0;
  sources[0].file->producer.pid = 17;
  EXPECT_EQ(choose_sources(sources, info, Fit::strict)->fitting.size(), 1U);
  EXPECT_EQ(choose_sources(sources, TraceInfo{}, Fit::strict)->fitting.size(), 1U);
}

TEST(ChooseSources, OneNamedByItselfThatDoesNotFitIsAnErrorWithTheReason) {
  std::vector<AnnotationSource> sources = testing::make_sources({{node(2, 0), R"({"name":"a"})"}});
  sources[0].file->producer.rank = 1;
  TraceInfo info;
  info.rank = 0;
  const Result<FitResult> refused = choose_sources(sources, info, Fit::strict);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(refused.error().message, HasSubstr("rank 1, the trace has rank 0"));
  EXPECT_EQ(choose_sources(sources, info, Fit::forced)->fitting.size(), 1U);
}

TEST(ChooseSources, OneOfAFolderThatDoesNotFitIsPassedOverWithTheReason) {
  std::vector<AnnotationSource> sources = testing::make_sources({{node(2, 0), R"({"name":"a"})"}});
  sources[0].from_folder = true;
  sources[0].file->producer.host = "beta";
  sources[0].file->producer.pid = 4;
  TraceInfo info;
  info.host = "alpha";
  info.pid = 5;
  const Result<FitResult> fit = choose_sources(sources, info, Fit::strict);
  ASSERT_TRUE(fit.ok());
  EXPECT_THAT(fit->fitting, IsEmpty());
  EXPECT_THAT(fit->passed_over, ElementsAre("run.pkl: host \"beta\", the trace has host \"alpha\"; pid 4, the trace has pid 5"));
}

// A trace may say its rank and host before or behind its events: the choice is the same.
TEST(ChooseSources, WhatATraceSaysBehindItsEventsCountsToo) {
  const TempFolder folder;
  const std::string events = testing::KernelText{}.text();
  const std::string said = R"("distributedInfo": {"rank": 0})";
  const std::string before = folder.write("before.json", testing::trace_text({events}, said + ","));
  const std::string behind = folder.write("behind.json", testing::trace_text({events}, "", ", " + said));
  for (const bool from_folder : {true, false}) {
    std::vector<AnnotationSource> sources = testing::make_sources({{node(2, 0), R"({"name":"a"})"}});
    sources[0].from_folder = from_folder;
    sources[0].file->producer.rank = 1;
    for (const std::string& trace : {before, behind}) {
      const Result<FitResult> fit = choose_sources_for(trace, sources, from_folder ? Fit::strict : Fit::several);
      ASSERT_TRUE(fit.ok()) << fit.error().to_string();
      EXPECT_THAT(fit->fitting, IsEmpty()) << trace;
      EXPECT_THAT(fit->passed_over, ElementsAre("run.pkl: rank 1, the trace has rank 0"));
    }
    sources[0].file->producer.rank = 0;
    EXPECT_EQ(choose_sources_for(behind, sources, Fit::strict)->fitting.size(), 1U);
  }
}

class Ambiguity : public ::testing::Test {
 protected:
  Ambiguity() {
    sources_.push_back(make_source({{node(2, 0), R"({"name":"a"})"}, {node(3, 5), R"({"name":"same"})"}}, "rank0.pkl"));
    sources_.push_back(make_source({{node(2, 1), R"({"name":"b"})"}, {node(3, 5), R"({"name":"same"})"}}, "rank1.pkl"));
    for (AnnotationSource& source : sources_) source.from_folder = true;
  }
  std::string found() const { return ambiguity_of(pointers(sources_)).value_or(""); }
  void add(const testing::Nodes& nodes) {
    sources_.push_back(make_source(nodes, "rank2.pkl"));
    sources_.back().from_folder = true;
  }
  std::vector<AnnotationSource> sources_;
};

TEST_F(Ambiguity, IsWhereFilesThatDoNotSayWhoseTheyAreNameANodeDifferently) {
  EXPECT_EQ(found(), "") << "nodes that one file alone names, and names that are the same";
  add({{node(2, 0), R"({"name":"a"})"}, {node(2, 1), R"({"name":"other"})"}});
  EXPECT_THAT(found(), HasSubstr("rank1.pkl and rank2.pkl"));
  EXPECT_THAT(found(), HasSubstr("8589934593"));
  EXPECT_THAT(found(), HasSubstr("-a"));
  const std::string ambiguous = found();
  // Whatever one of the two says of itself, or where it was named by itself, there is no doubt.
  const auto without_doubt = [&](auto change) {
    const Producer kept = sources_[2].file->producer;
    change(sources_[2]);
    EXPECT_EQ(found(), "");
    sources_[2].file->producer = kept;
    sources_[2].from_folder = true;
    EXPECT_EQ(found(), ambiguous);
  };
  without_doubt([](AnnotationSource& source) { source.file->producer.host = "alpha"; });
  without_doubt([](AnnotationSource& source) { source.file->producer.pid = 1; });
  without_doubt([](AnnotationSource& source) { source.file->producer.rank = 0; });
  without_doubt([](AnnotationSource& source) { source.from_folder = false; });
}

TEST_F(Ambiguity, IsSeenWithinARunOfNodesAndInExecGraphs) {
  // Nodes 4 to 9 have one annotation in one file, node 7 another in the other.
  for (int i = 0; i < 2; ++i) {
    AnnotationFile& file = *sources_[static_cast<std::size_t>(i)].file;
    const AnnotationId id = *file.annotations.intern(Json{{"name", i == 0 ? "long" : "short"}});
    GraphRecord graph;
    graph.id = GraphId{8};
    graph.runs = {{LocalId{0}, AnnotationId::none, Origin::outside_scope},
                  {LocalId{i == 0 ? 4U : 7U}, id, Origin::callback},
                  {LocalId{i == 0 ? 10U : 8U}, AnnotationId::none, Origin::outside_scope}};
    file.graphs.push_back(graph);
  }
  EXPECT_THAT(found(), HasSubstr("node " + std::to_string(node(8, 7)) + " "));
  // Only as exec graphs do they share an id.
  for (unsigned i = 0; i < 2; ++i) {
    AnnotationFile& file = *sources_[i].file;
    file.graphs.back().id = GraphId{8 + i};
    ExecRecord exec;
    exec.id = GraphId{20};
    exec.template_graph = GraphId{8 + i};
    file.execs.push_back(exec);
  }
  EXPECT_THAT(found(), HasSubstr("node " + std::to_string(node(20, 7)) + " "));
}

TEST(ReadSources, ComputesTheDigestAndKeepsTheName) {
  const TempFolder folder;
  const std::string path = folder.write("a.json", "{}");
  const Result<std::vector<AnnotationSource>> sources = read_annotation_sources({path});
  ASSERT_TRUE(sources.ok()) << sources.error().to_string();
  EXPECT_EQ((*sources)[0].input.name, "a.json");
  // sha256sum of the two bytes {}
  EXPECT_EQ((*sources)[0].input.sha256, "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a");
}

TEST(ReadSources, AFolderStandsForItsAnnotationFilesByName) {
  const TempFolder folder;
  folder.write("b.json", R"({"8589934592": [{"name": "b"}]})");
  folder.write("a.json", R"({"8589934592": [{"name": "a"}]})");
  folder.write("trace.json.gz", "not looked at");
  folder.write("notes.txt", "not looked at");
  folder.write("broken.json", R"({"8589934592": [)");
  const Result<std::vector<AnnotationSource>> sources = read_annotation_sources({folder.path()});
  ASSERT_TRUE(sources.ok()) << sources.error().to_string();
  std::vector<std::string> names;
  for (const AnnotationSource& source : *sources) names.push_back(source.input.name);
  EXPECT_THAT(names, ElementsAre("a.json", "b.json", "broken.json"));
  const Result<FitResult> fit = choose_sources(*sources, TraceInfo{}, Fit::forced);
  ASSERT_TRUE(fit.ok());
  EXPECT_EQ(fit->fitting.size(), 2U);
  EXPECT_THAT(fit->passed_over, ElementsAre(HasSubstr("broken.json: ")));
}

TEST(ReadSources, AFolderWithoutAnyIsAnError) {
  const TempFolder folder;
  EXPECT_EQ(read_annotation_sources({folder.path()}).error().code, ErrorCode::not_found);
  folder.write("broken.json", "[");
  EXPECT_FALSE(read_annotation_sources({folder.path()}).ok());
}

TEST(ReadSources, AMissingFileIsAnError) {
  const TempFolder folder;
  const Result<std::vector<AnnotationSource>> sources = read_annotation_sources({folder.path("none.pkl")});
  ASSERT_FALSE(sources.ok());
  EXPECT_THAT(sources.error().to_string(), HasSubstr("none.pkl"));
}

}  // namespace
}  // namespace graphtag
