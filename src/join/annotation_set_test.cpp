#include "join/annotation_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
