// Traces whose reader knows names itself, through the join and out again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/object_filler.h"
#include "join/operations.h"
#include "tests/support/join_fixtures.h"
#include "tests/support/made_recording.h"
#include "tests/support/nsys_export.h"
#include "write/trace_writer.h"

namespace graphtag {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::make_sources;
using testing::node;
using testing::TempFolder;

// "path: object" of each operation, or why it has none.
std::vector<std::string> described(const std::string& path, const std::vector<AnnotationSource>& sources = {}) {
  const Result<OperationTable> table = read_operations(path, sources);
  EXPECT_TRUE(table.ok()) << (table.ok() ? "" : table.error().to_string());
  std::vector<std::string> all;
  for (const GpuOperation& operation : table->operations) {
    if (operation.annotation == AnnotationId::none) {
      all.push_back("(" + std::string(to_string(operation.origin)) + ")");
      continue;
    }
    const Annotation& annotation = table->annotations.annotations()[operation.annotation];
    std::string text;
    for (const std::string& part : annotation.path) text += part + " ";
    all.push_back(text + canonical_json(*annotation.object));
  }
  return all;
}

struct Annotated {
  AnnotateOutcome outcome;
  std::string text;
};
Annotated annotate(const std::string& path, const std::vector<AnnotationSource>& sources, const AnnotateOptions& options = {}) {
  Annotated made;
  const auto sink = string_sink(made.text);
  const auto writer = chrome_writer(*sink);
  Result<AnnotateOutcome> outcome = annotate_trace(path, sources, options, *writer);
  EXPECT_TRUE(outcome.ok()) << (outcome.ok() ? "" : outcome.error().to_string());
  if (outcome) made.outcome = *std::move(outcome);
  return made;
}

class OwnNames : public ::testing::Test {
 protected:
  void SetUp() override { testing::small_export().write(path_); }
  TempFolder folder_;
  std::string path_ = folder_.path("a.sqlite");
};

TEST_F(OwnNames, AreTheOperations) {
  const auto names = described(path_);
  ASSERT_EQ(names.size(), 9U);
  EXPECT_EQ(names[1], R"(decoder mlp {"name":"mlp"})");
  EXPECT_EQ(names[3], "(outside-scope)");
}

TEST_F(OwnNames, FilesWinOverThemKeyByKey) {
  const auto sources = make_sources({{node(3, 0), R"({"bs": 8})"}, {node(3, 1), R"({"name": "feed forward"})"}});
  const auto names = described(path_, sources);
  EXPECT_EQ(names[0],
            R"(decoder attention {"bs":8,"name":"attention","nvtx_category":"phase","nvtx_domain":"layers","nvtx_payload":12})");
  EXPECT_EQ(names[1], R"(feed forward {"name":"feed forward"})");
  EXPECT_EQ(names[2], R"(decoder {"name":"decoder"})");
}

TEST_F(OwnNames, StayWhereTheFilesKnowNothing) {
  EXPECT_EQ(described(path_, make_sources({{node(77, 0), R"({"name": "other"})"}})), described(path_));
}

TEST_F(OwnNames, AreWrittenAndReadAgain) {
  for (const bool with_file : {false, true}) {
    const auto sources = with_file ? make_sources({{node(3, 0), R"({"bs": 8, "grid": 5})"}}) : std::vector<AnnotationSource>{};
    const Annotated made = annotate(path_, sources);
    EXPECT_EQ(made.outcome.coverage.records, 8U);
    EXPECT_EQ(made.outcome.coverage.named, 6U);
    EXPECT_THAT(made.outcome.coverage.unnamed, ElementsAre(::testing::Pair(Origin::outside_scope, 2U)));
    EXPECT_THAT(made.outcome.warnings, IsEmpty());
    EXPECT_EQ(described(folder_.write("again.json", made.text)), described(path_, sources));
  }
}

TEST_F(OwnNames, LanesNeedNoFile) {
  AnnotateOptions options;
  options.lanes = Lanes::all;
  options.default_stream = 9;
  const Annotated made = annotate(path_, {}, options);
  EXPECT_THAT(made.text, HasSubstr(R"("original_stream":7)"));
}

TEST_F(OwnNames, AnnotatingTwiceChangesNothing) {
  for (const bool with_file : {false, true}) {
    const auto sources = with_file ? make_sources({{node(3, 0), R"({"bs": 8, "grid": 5})"}}) : std::vector<AnnotationSource>{};
    const Annotated once = annotate(path_, sources);
    const Annotated twice = annotate(folder_.write("once.json", once.text), sources);
    EXPECT_EQ(twice.text, once.text);
    EXPECT_EQ(twice.outcome.coverage.named, 6U);
    EXPECT_THAT(twice.outcome.warnings, IsEmpty());
  }
}

TEST_F(OwnNames, WithoutAnyRangeTheWarningSaysWhatToRecord) {
  testing::NsysExport made = testing::small_export();
  made.nvtx.clear();
  made.write(folder_.path("bare.sqlite"));
  EXPECT_THAT(annotate(folder_.path("bare.sqlite"), {}).outcome.warnings, ElementsAre(HasSubstr("NVTX")));
}

class OwnNamesOfRecordings : public ::testing::Test {
 protected:
  void SetUp() override {
    testing::MadeRecording made;
    made.host_slice(recording::kRuntimeCall, "cudaGraphLaunch", 100, 150, {{"correlation", 1U}},
                    testing::MadeRecording::kRuntime);
    testing::RecordedOperation operation{.start_ns = 1000, .end_ns = 1100, .node = node(3, 0)};
    operation.annotation = {{"name", "attention"}, {"bs", 8}, {"annotation.grid", "mine"}};
    operation.path = {"decoder", "attention"};
    made.operation(operation);
    operation = {.start_ns = 2000, .end_ns = 2100, .node = node(3, 1), .origin = "captured-before-start"};
    made.operation(operation);
    operation = {.start_ns = 3000, .end_ns = 3100, .correlation = 2};
    operation.annotation = {{"name", "loss"}};
    made.operation(operation);
    made.end();
    (void)folder_.write("a.pftrace", made.bytes);
  }
  TempFolder folder_;
  std::string path_ = folder_.path("a.pftrace");
  const std::vector<std::string> names_ = {R"(decoder attention {"bs":8,"grid":"mine","name":"attention"})",
                                           "(captured-before-start)", R"(loss {"name":"loss"})"};
};

TEST_F(OwnNamesOfRecordings, AreTheOperationsAlsoOutsideGraphs) {
  EXPECT_EQ(described(path_), names_);
}

TEST_F(OwnNamesOfRecordings, AreWrittenAndReadAgain) {
  const Annotated made = annotate(path_, {});
  EXPECT_EQ(made.outcome.coverage.named, 1U);
  EXPECT_EQ(made.outcome.coverage.outside_graphs, 1U);
  auto again = described(folder_.write("again.json", made.text));
  // Chrome JSON has no place for the reason.
  EXPECT_EQ(again[1], "(outside-scope)");
  again[1] = names_[1];
  EXPECT_EQ(again, names_);
}

TEST_F(OwnNamesOfRecordings, StayWhereTheyAreAnnotatedAgain) {
  const std::string once = annotate(path_, {}).text;
  const Annotated twice = annotate(folder_.write("once.json", once), {});
  EXPECT_EQ(twice.outcome.coverage.named, 1U);
  EXPECT_EQ(described(folder_.write("twice.json", twice.text)), described(folder_.path("once.json")));
  EXPECT_EQ(nlohmann::json::parse(twice.text)["graphtag"], nlohmann::json::parse(once)["graphtag"]);
  EXPECT_EQ(nlohmann::json::parse(twice.text)["traceEvents"], nlohmann::json::parse(once)["traceEvents"]);
}

TEST(OwnNamesOfArgs, OfWorkOutsideGraphsAreReadWhereANameIsAmongThem) {
  const TempFolder folder;
  const auto kernel = [](const std::string& args) {
    testing::KernelText text;
    text.graph = 0;
    text.args = args;
    return text.text();
  };
  const std::string marked = folder.write(
      "marked.json", testing::trace_text({kernel(R"(, "name": "eager", "bs": 4)"), kernel(R"(, "dtype": "float")"), kernel("")},
                                         R"("graphtag": {"keys": ["name", "bs", "dtype"]},)"));
  EXPECT_THAT(described(marked), ElementsAre(R"(eager {"bs":4,"name":"eager"})", "(no-node-id)", "(no-node-id)"));
}

// The million keys of a hostile file: work that grows with their square would not end.
TEST(Recordings, OfVeryManyKeysAreReadAndWritten) {
  Json annotation{{"name", "a"}};
  ObjectFiller filler(annotation);
  for (int i = 0; i < 300'000; ++i) filler.set("k" + std::to_string(i), 1);
  testing::MadeRecording made;
  made.operation({.start_ns = 1, .end_ns = 2, .node = node(7, 1), .annotation = annotation});
  made.status_event("graphtag.odd", annotation);
  made.end();
  const TempFolder folder;
  const std::string path = folder.write("a.pftrace", made.bytes);
  EXPECT_THAT(described(path), ElementsAre("a " + canonical_json(annotation)));
  Json above = annotation;
  above["name"] = "b";
  EXPECT_THAT(described(path, make_sources({{node(7, 1), R"({"name": "b"})"}})), ElementsAre("b " + canonical_json(above)));
}

TEST(Traces, OfVeryManyKeysAreAnnotatedAgainAndAgain) {
  const TempFolder folder;
  Json first{{"name", "a"}}, second{{"name", "b"}};
  ObjectFiller fill_first(first), fill_second(second);
  for (int i = 0; i < 30'000; ++i) {
    fill_first.set("k" + std::to_string(i), 1);
    fill_second.set((i % 2 == 0 ? "k" : "l") + std::to_string(i), 2);
  }
  const auto trace = R"({"traceEvents": [)" + testing::KernelText{.graph = 3, .local = 1}.text() + "]}";
  const std::string once = annotate(folder.write("t.json", trace), make_sources({{node(3, 1), dump_json(first)}})).text;
  EXPECT_THAT(described(folder.write("once.json", once)), ElementsAre("a " + canonical_json(first)));
  AnnotateOptions options;
  options.force = true;
  auto sources = make_sources({{node(3, 1), dump_json(second)}});
  sources[0].input.sha256 = "of another file";
  const std::string twice = annotate(folder.path("once.json"), sources, options).text;
  EXPECT_TRUE(nlohmann::json::parse(twice) == nlohmann::json::parse(annotate(folder.path("t.json"), sources).text));
  EXPECT_THAT(described(folder.write("twice.json", twice)), ElementsAre("b " + canonical_json(second)));
}

TEST(Recordings, AWarningCountsTheKeysThatAreNotListed) {
  Json annotation{{"name", "a"}};
  ObjectFiller filler(annotation);
  for (int i = 0; i < 65540; ++i) filler.set("k" + std::to_string(i), 1);
  testing::MadeRecording made;
  made.operation({.start_ns = 1, .end_ns = 2, .node = node(7, 1), .annotation = annotation});
  made.end();
  const TempFolder folder;
  const Annotated written = annotate(folder.write("a.pftrace", made.bytes), {});
  EXPECT_EQ(written.outcome.coverage.named, 1U);
  EXPECT_THAT(written.text, HasSubstr(R"("k65539":1)"));
  const auto head = nlohmann::json::parse(written.text)["graphtag"];
  EXPECT_EQ(head["keys"].size(), 65536U);
  EXPECT_THAT(written.outcome.warnings, ElementsAre(HasSubstr(" 5 times ")));
}

}  // namespace
}  // namespace graphtag
