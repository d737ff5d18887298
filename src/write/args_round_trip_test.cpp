// Annotations written into args and read back: what the written file says by itself is what the annotation file says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/json.h"
#include "join/operations.h"
#include "tests/support/join_fixtures.h"
#include "write/trace_writer.h"

namespace graphtag {
namespace {

using testing::KernelText;
using testing::make_source;
using testing::make_sources;
using testing::node;
using testing::Nodes;
using testing::TempFolder;
using testing::trace_text;

std::vector<std::string> described(const std::string& trace, const std::vector<AnnotationSource>& sources = {}) {
  const TempFolder folder;
  const Result<OperationTable> table = read_operations(folder.write("t.json", trace), sources);
  EXPECT_TRUE(table.ok()) << (table.ok() ? "" : table.error().to_string());
  std::vector<std::string> all;
  if (!table) return all;
  for (const GpuOperation& operation : table->operations)
    all.push_back(canonical_json(*table->annotations.annotations()[operation.annotation].object));
  return all;
}

std::string annotate(const std::string& trace, const std::vector<AnnotationSource>& sources, bool force = false) {
  const TempFolder folder;
  std::string text;
  const auto sink = string_sink(text);
  const auto writer = chrome_writer(*sink);
  AnnotateOptions options;
  options.force = force;
  const auto outcome = annotate_trace(folder.write("t.json", trace), sources, options, *writer);
  EXPECT_TRUE(outcome.ok()) << (outcome.ok() ? "" : outcome.error().to_string());
  return text;
}

Json events_of(const std::string& text) {
  return Json::parse(text)["traceEvents"];
}

void expect_round_trip(const std::string& trace, const Nodes& nodes) {
  const auto sources = make_sources(nodes);
  const std::string named = annotate(trace, sources);
  EXPECT_EQ(described(named), described(trace, sources)) << named;
  EXPECT_EQ(annotate(named, sources), named);
  // Another file's annotations take the place of these, as if these had never been there.
  std::vector<AnnotationSource> others;
  others.push_back(make_source({{node(2, 0), R"({"name":"other"})"}, {node(2, 1), R"({"bs":4})"}}, "other.pkl"));
  EXPECT_EQ(events_of(annotate(named, others, true)), events_of(annotate(trace, others)));
}

std::string copy_text(std::uint64_t local, const std::string& args) {
  return R"({"ph":"X","cat":"gpu_memcpy","name":"copy","pid":0,"tid":7,"ts":20,"dur":1,"args":{"device":0,"stream":7,"correlation":1)"
         R"(,"graph id":2,"graph node id":)" +
         std::to_string(node(2, local)) + args + "}}";
}

TEST(ArgsRoundTrip, KeysThatProfilersWriteToo) {
  for (const std::string key :
       {"External id", "Ev Idx",   "device",           "context",        "stream", "correlation", "graph id", "graph node id",
        "priority",    "queued",   "channel",          "grid",           "block",  "occupancy",   "bytes",    "flags",
        "value",       "toDevice", "annotated_stream", "original_stream"}) {
    SCOPED_TRACE(key);
    const Nodes nodes = {{node(2, 0), R"({"name":"a",")" + key + R"(":"mine"})"}, {node(2, 1), "{\"" + key + R"(":1.5})"}};
    expect_round_trip(trace_text({KernelText{}.text(), copy_text(1, "")}), nodes);
    expect_round_trip(trace_text({KernelText{.local = 1}.text(), copy_text(0, "")}), nodes);
  }
}

TEST(ArgsRoundTrip, KeysThatTheEventHasWithTheSameValueOrAnother) {
  for (const std::string key : {"priority", "queued", "context", "External id"}) {
    SCOPED_TRACE(key);
    const std::string args = ", \"" + key + "\": 0";
    const auto annotation = [&key](int value) { return R"({"name":"a",")" + key + "\":" + std::to_string(value) + "}"; };
    expect_round_trip(trace_text({KernelText{.args = args}.text(), KernelText{.local = 1, .args = args}.text(),
                                  copy_text(0, args), copy_text(1, "")}),
                      {{node(2, 0), annotation(0)}, {node(2, 1), annotation(1)}});
  }
}

TEST(ArgsRoundTrip, KeysThatDifferInTheirPrefixesAlone) {
  const std::vector<std::string> keys = {"grid", "annotation.grid", "annotation.annotation.grid",
                                         "bs",   "annotation.bs",   "annotation.annotation.bs"};
  for (unsigned listed = 1; listed < 1U << keys.size(); ++listed) {
    SCOPED_TRACE(listed);
    Json first = {{"name", "a"}}, second = {{"name", "b"}};
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if ((listed >> i & 1U) == 0) continue;
      first[keys[i]] = "A" + std::to_string(i);
      if (i % 2 == 0) second[keys[i]] = "B" + std::to_string(i);
    }
    expect_round_trip(trace_text({KernelText{}.text(), KernelText{.local = 1}.text(), copy_text(0, "")}),
                      {{node(2, 0), first.dump()}, {node(2, 1), second.dump()}});
  }
}

TEST(ArgsRoundTrip, LongerKeysOfSomebodyElses) {
  const std::vector<std::string> args = {R"(, "annotation.bs": 1)", R"(, "bs": 1, "annotation.bs": 2)",
                                         R"(, "bs": 8, "annotation.bs": 2)", R"(, "annotation.priority": 3)",
                                         R"(, "priority": 8, "annotation.priority": 3, "annotation.annotation.priority": 4)"};
  for (const std::string& theirs : args) {
    expect_round_trip(trace_text({KernelText{.args = theirs}.text()}), {{node(2, 0), R"({"bs":8,"priority":8})"}});
  }
}

}  // namespace
}  // namespace graphtag
