#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/join_fixtures.h"
#include "write/trace_writer.h"

namespace graphtag {
namespace {

using ::testing::ElementsAre;
using testing::flow_end_text;
using ::testing::HasSubstr;
using testing::KernelText;
using testing::make_source;
using testing::make_sources;
using testing::node;
using testing::Nodes;
using ::testing::Not;
using testing::TempFolder;
using testing::trace_text;

struct Annotated {
  std::string text;
  AnnotateOutcome outcome;
};

Result<Annotated> try_annotate(const std::string& trace, const std::vector<AnnotationSource>& sources,
                               const AnnotateOptions& options = {}) {
  const TempFolder folder;
  Annotated result;
  const auto sink = string_sink(result.text);
  const auto writer = chrome_writer(*sink);
  Result<AnnotateOutcome> outcome = annotate_trace(folder.write("trace.json", trace), sources, options, *writer);
  if (!outcome) return outcome.error();
  result.outcome = *std::move(outcome);
  return result;
}

// The written text; it must be valid JSON without doubled keys.
std::string annotate(const std::string& trace, const std::vector<AnnotationSource>& sources,
                     const AnnotateOptions& options = {}) {
  const Result<Annotated> result = try_annotate(trace, sources, options);
  EXPECT_TRUE(result.ok()) << result.error().to_string();
  return result.ok() ? result->text : std::string{};
}

Json parse(const std::string& text) {
  std::vector<std::vector<std::string>> open;
  const auto check = [&open](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) open.emplace_back();
    if (event == Json::parse_event_t::object_end) open.pop_back();
    if (event == Json::parse_event_t::key) {
      const auto key = parsed.get<std::string>();
      EXPECT_THAT(open.back(), Not(::testing::Contains(key))) << "a key comes twice";
      open.back().push_back(key);
    }
    return true;
  };
  const Json json = Json::parse(text, check, false);
  EXPECT_FALSE(json.is_discarded()) << text;
  return json;
}

// The args of the one event of a trace, written and read back.
Json annotated_args(const KernelText& kernel, const std::string& annotation, const AnnotateOptions& options = {}) {
  const Json out = parse(annotate(trace_text({kernel.text()}), make_sources({{node(2, 0), annotation}}), options));
  return out["traceEvents"][0]["args"];
}

AnnotateOptions with_lanes(std::int64_t default_stream = 7) {
  AnnotateOptions options;
  options.lanes = Lanes::all;
  options.default_stream = default_stream;
  return options;
}

AnnotateOptions forced(AnnotateOptions options = {}) {
  options.force = true;
  return options;
}

TEST(ChromeWriter, WritesTheWholeFile) {
  const std::string host = R"({"ph": "X",  "cat": "cpu_op", "name": "op", "pid": 1, "tid": 1, "ts": 1.5, "dur": 2})";
  const KernelText named{.args = R"(, "channel": 3)"}, unnamed{.ts = "20", .local = 9};
  const std::string text = annotate(
      trace_text({host, named.text(), unnamed.text()}, R"("schemaVersion":  1, "x": {"a" : [1]},)", R"(, "traceName": "t")"),
      make_sources({{node(2, 0), R"({"name":"a","bs":8})"}}));
  std::string changed = named.text();
  changed.insert(changed.size() - 2, R"(,"name":"a","bs":8)");
  const std::string digest = std::string(64, 'a') + "run.pkl";
  EXPECT_EQ(text,
            "{\n\"schemaVersion\": 1,\n\"x\": {\"a\" : [1]},\n\"cudaGraphInlineAnnotated\": true,\n"
            "\"graphtag\": {\"version\":\"0.1.0\",\"keys\":[\"name\",\"bs\"],\"lanes\":\"none\",\"default_stream\":7,"
            "\"inputs\":[{\"name\":\"run.pkl\",\"sha256\":\"" +
                digest + "\"}]},\n\"traceEvents\": [\n" + host + ",\n" + changed + ",\n" + unnamed.text() +
                "\n],\n\"graphtagCoverage\": {\"records\":2,\"named\":1,\"sum_ns\":5000,\"named_sum_ns\":2500,"
                "\"unnamed\":{\"outside-scope\":1},\"outside_graphs\":0},\n\"traceName\": \"t\"\n}\n");
}

// Members behind the events wait until the coverage is known, however large they are: in a temporary file.
TEST(ChromeWriter, MembersBehindTheEventsMayBeLarge) {
  std::string after;
  for (int i = 0; i < 6; ++i)
    after +=
        ",\n\"m" + std::to_string(i) + "\": \"" + std::string((std::size_t{7} << 20) + static_cast<std::size_t>(i), 'x') + "\"";
  const std::string text = annotate(trace_text({KernelText{}.text()}, "", after), make_sources({{node(2, 0), R"({"a":1})"}}));
  ASSERT_GT(text.size(), after.size());
  EXPECT_EQ(text.substr(text.size() - after.size() - 3), after + "\n}\n");
  EXPECT_TRUE(Json::accept(text));
}

TEST(ChromeWriter, ATraceWithoutEventsStaysOne) {
  const Json out = parse(annotate(trace_text({}), make_sources({{node(2, 0), R"({"name":"a"})"}})));
  EXPECT_EQ(out["traceEvents"], Json::array());
  EXPECT_EQ(out["graphtagCoverage"]["records"], 0);
}

TEST(ChromeWriter, ABareArrayBecomesAnObject) {
  const Json out = parse(annotate("[" + KernelText{}.text() + "]", make_sources({{node(2, 0), R"({"name":"a"})"}})));
  EXPECT_EQ(out["traceEvents"][0]["args"]["name"], "a");
  EXPECT_EQ(out["cudaGraphInlineAnnotated"], true);
}

TEST(ChromeWriter, WhatIsLeftOfACutFileIsValid) {
  const std::string whole = trace_text({KernelText{}.text(), KernelText{.ts = "30"}.text()});
  const std::size_t second = whole.rfind("{\"ph\"");
  for (std::size_t size = 1; size < whole.size(); ++size) {
    const std::string cut = whole.substr(0, size);
    const Result<Annotated> result = try_annotate(cut, make_sources({{node(2, 0), R"({"name":"a"})"}}));
    if (size <= cut.find('[')) continue;  // no events yet: the reader may refuse it
    ASSERT_TRUE(result.ok()) << cut;
    const Json out = parse(result->text);
    ASSERT_EQ(out["traceEvents"].size(), size + 3 >= whole.size() ? 2U : size >= second - 2 ? 1U : 0U) << cut;
    for (const Json& event : out["traceEvents"]) EXPECT_EQ(event["args"]["name"], "a");
  }
}

TEST(ChromeWriter, ValuesKeepTheirTypes) {
  const Json args = annotated_args(
      {}, R"({"s":"text","i":-9223372036854775808,"u":18446744073709551615,"d":0.1,"b":true,"n":null,"a":[1,{"k":[]}]})");
  EXPECT_EQ(args["s"], "text");
  EXPECT_EQ(args["i"].get<std::int64_t>(), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(args["u"].get<std::uint64_t>(), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(args["d"].get<double>(), 0.1);
  EXPECT_EQ(args["b"], true);
  EXPECT_TRUE(args["n"].is_null());
  EXPECT_EQ(args["a"].dump(), R"([1,{"k":[]}])");
}

TEST(ChromeWriter, KeysMayBeAnything) {
  const Json args = annotated_args({}, R"({"":1,"say \"hi\"\\":2,"größe\n\u0001":3,"日本":4})");
  EXPECT_EQ(args[""], 1);
  EXPECT_EQ(args["say \"hi\"\\"], 2);
  EXPECT_EQ(args["größe\n\x01"], 3);
  EXPECT_EQ(args["日本"], 4);
}

TEST(ChromeWriter, APathThatSaysMoreThanTheNameIsWritten) {
  EXPECT_EQ(annotated_args({}, R"({"name":"q","graphtag.path":["layer","q"]})")["graphtag.path"].dump(), R"(["layer","q"])");
  EXPECT_FALSE(annotated_args({}, R"({"name":"q","graphtag.path":["q"]})").contains("graphtag.path"));
  EXPECT_EQ(annotated_args({}, R"({"bs":8,"graphtag.path":["layer"]})")["graphtag.path"].dump(), R"(["layer"])");
}

TEST(ChromeWriter, WhatTheProfilerWroteIsNeverOverwrittenOrDoubled) {
  const Json args =
      annotated_args({.args = R"(, "name": "theirs", "annotation.grid": 5)"}, R"({"name":"ours","grid":"ours","device":1})");
  EXPECT_EQ(args["name"], "theirs");
  EXPECT_EQ(args["annotation.name"], "ours");
  EXPECT_EQ(args["grid"].dump(), "[8,1,1]");
  EXPECT_EQ(args["annotation.grid"], 5);
  EXPECT_EQ(args["annotation.annotation.grid"], "ours");
  EXPECT_EQ(args["device"], 0);
  EXPECT_EQ(args["annotation.device"], 1);
}

TEST(ChromeWriter, AnEqualValueStaysAsItIs) {
  const KernelText kernel{.args = R"(, "params": [1,  {"b": 2, "a": null}], "lr": 1.0E-3, "bs": 8)"};
  const std::string trace = trace_text({kernel.text()});
  const std::string text = annotate(trace, make_sources({{node(2, 0), R"({"params":[1,{"a":null,"b":2}],"lr":0.001,"bs":8})"}}));
  EXPECT_THAT(text, HasSubstr("\n" + kernel.text() + "\n"));
}

TEST(ChromeWriter, ValuesOfOtherTypesAreNotEqual) {
  const Json args =
      annotated_args({.args = R"(, "bs": "8", "one": 1, "yes": 1, "zero": 0.0)"}, R"({"bs":8,"one":1.0,"yes":true,"zero":0})");
  EXPECT_EQ(args["annotation.bs"].dump(), "8");
  EXPECT_EQ(args["annotation.one"].dump(), "1.0");
  EXPECT_EQ(args["annotation.yes"].dump(), "true");
  EXPECT_EQ(args["annotation.zero"].dump(), "0");
}

TEST(ChromeWriter, KeysAreComparedWithTheirEscapesResolved) {
  const Json args = annotated_args({.args = R"(, "n\u0061me": "theirs")"}, R"({"name":"ours"})");
  EXPECT_EQ(args["name"], "theirs");
  EXPECT_EQ(args["annotation.name"], "ours");
}

TEST(ChromeWriter, AnnotationKeysThatLookLikeOursDoNotCollide) {
  const Json args = annotated_args(
      {.args = R"(, "name": "theirs")"},
      R"({"name":"a","annotation.name":"b","annotated_stream":5,"original_stream":6,"stream":61,"annotation.annotated_stream":9})");
  EXPECT_EQ(args["name"], "theirs");
  EXPECT_EQ(args["annotation.name"], "b");
  EXPECT_EQ(args["annotation.annotation.name"], "a");
  EXPECT_EQ(args["annotated_stream"], 61);
  EXPECT_EQ(args["annotation.annotated_stream"], 9);
  EXPECT_EQ(args["annotation.annotation.annotated_stream"], 5);
  EXPECT_EQ(args["annotation.original_stream"], 6);
  EXPECT_EQ(args["stream"], 7);
}

TEST(ChromeWriter, AStreamThatIsNoIntegerIsAKeyAsAnyOther) {
  const Json args = annotated_args({}, R"({"stream":"side"})", with_lanes());
  EXPECT_EQ(args["stream"], 7);
  EXPECT_EQ(args["annotation.stream"], "side");
}

TEST(ChromeWriter, WithoutLanesTheStreamAskedForIsTold) {
  const Json args = annotated_args({.tid = 143}, R"({"name":"a","stream":61})");
  EXPECT_EQ(args["stream"], 143);
  EXPECT_EQ(args["annotated_stream"], 61);
  EXPECT_FALSE(args.contains("original_stream"));
}

TEST(ChromeWriter, WithLanesAnOperationMovesWithItsFlowEnd) {
  const std::vector<std::string> events = {
      flow_end_text(0, 143, "10.000", 1),  // an end may come before its operation
      KernelText{.tid = 143}.text(),      KernelText{.tid = 143, .ts = "20.000", .local = 1}.text(),
      flow_end_text(0, 143, "20.000", 1), KernelText{.ts = "30.000", .local = 2}.text(),
      flow_end_text(0, 7, "30.000", 1),   KernelText{.tid = 143, .ts = "40.000", .correlation = 2, .graph = 0}.text(),
      flow_end_text(0, 143, "40.000", 2)};
  const Nodes nodes = {{node(2, 0), R"({"name":"a","stream":61,"Process Group Description":"copy lane"})"}};
  const Json out = parse(annotate(trace_text(events), make_sources(nodes), with_lanes()));
  std::vector<int> tids;
  for (const Json& event : out["traceEvents"]) tids.push_back(event["tid"].get<int>());
  EXPECT_THAT(tids, ElementsAre(61, 61, 7, 7, 7, 7, 143, 143, 61, 61));
  const Json moved = out["traceEvents"][1]["args"], to_default = out["traceEvents"][2]["args"],
             stays = out["traceEvents"][4]["args"];
  EXPECT_EQ(moved["stream"], 61);
  EXPECT_EQ(moved["original_stream"], 143);
  EXPECT_EQ(to_default["stream"], 7);
  EXPECT_EQ(to_default["original_stream"], 143);
  EXPECT_EQ(stays["stream"], 7);
  EXPECT_FALSE(stays.contains("original_stream"));
  EXPECT_EQ(out["traceEvents"][6]["args"]["stream"], 143);  // in no graph
  EXPECT_EQ(out["traceEvents"][8],
            Json::parse(R"({"ph":"M","name":"thread_name","ts":10.0,"pid":0,"tid":61,"args":{"name":"copy lane"}})"));
  EXPECT_EQ(out["traceEvents"][9],
            Json::parse(R"({"ph":"M","name":"thread_sort_index","ts":10.0,"pid":0,"tid":61,"args":{"sort_index":61}})"));
}

TEST(ChromeWriter, LanesOfTwoDevicesAreApart) {
  const std::vector<std::string> events = {KernelText{.pid = 1, .tid = 9}.text(), KernelText{.pid = 0, .tid = 9}.text(),
                                           flow_end_text(1, 9, "10.000", 1), flow_end_text(0, 9, "10.000", 1),
                                           KernelText{.pid = 0, .tid = 61, .ts = "50", .graph = 0}.text()};
  const Json out = parse(annotate(trace_text(events), make_sources({{node(2, 0), R"({"stream":61})"}}), with_lanes()));
  std::vector<std::string> lanes;
  for (const Json& event : out["traceEvents"]) lanes.push_back(event["pid"].dump() + "/" + event["tid"].dump());
  // Stream 61 is there on device 0, and new on device 1.
  EXPECT_THAT(lanes, ElementsAre("1/61", "0/61", "1/61", "0/61", "0/61", "1/61", "1/61"));
  EXPECT_EQ(out["traceEvents"][5]["args"]["name"], "stream 61");
}

TEST(ChromeWriter, TheDefaultStreamIsTheUsers) {
  const Json out = parse(
      annotate(trace_text({KernelText{.local = 3}.text()}), make_sources({{node(2, 0), R"({"name":"a"})"}}), with_lanes(99)));
  EXPECT_EQ(out["traceEvents"][0]["tid"], 99);
  EXPECT_EQ(out["traceEvents"][0]["args"]["original_stream"], 7);
  EXPECT_EQ(out["graphtag"]["default_stream"], 99);
  EXPECT_EQ(out["traceEvents"][1]["args"]["name"], "stream 99");
}

TEST(ChromeWriter, ThreadsAndProcessesMayBeNamedByStrings) {
  std::string kernel = KernelText{}.text(), flow = flow_end_text(0, 7, "10.000", 1);
  for (std::string* text : {&kernel, &flow}) {
    text->replace(text->find(R"("pid": 0)"), 8, R"("pid": "GPU \"0\"")");
    text->replace(text->find(R"("tid": 7)"), 8, R"("tid": "stream 7")");
  }
  const Json out = parse(annotate(trace_text({kernel, flow}), make_sources({{node(2, 0), R"({"stream":61})"}}), with_lanes()));
  for (const Json& event : out["traceEvents"]) {
    EXPECT_EQ(event["pid"], "GPU \"0\"");
    EXPECT_EQ(event["tid"], 61);
  }
  EXPECT_EQ(out["traceEvents"].size(), 4U);
}

TEST(ChromeWriter, SlicesOnALaneThatLostAllItsWorkAreDropped) {
  const auto slice = [](int tid) {
    return R"({"ph": "X", "cat": "gpu_user_annotation", "name": "step", "pid": 0, "tid": )" + std::to_string(tid) +
           R"(, "ts": 1, "dur": 90})";
  };
  const std::vector<std::string> events = {slice(143),
                                           slice(144),
                                           slice(9),
                                           slice(7),
                                           KernelText{.tid = 143}.text(),
                                           KernelText{.tid = 144, .ts = "20"}.text(),
                                           KernelText{.tid = 144, .ts = "30", .graph = 0}.text()};
  const Result<Annotated> result =
      try_annotate(trace_text(events), make_sources({{node(2, 0), R"({"name":"a"})"}}), with_lanes());
  ASSERT_TRUE(result.ok());
  std::vector<int> tids;
  const Json out = parse(result->text);
  for (const Json& event : out["traceEvents"]) {
    if (event["name"] == "step") tids.push_back(event["tid"].get<int>());
  }
  EXPECT_THAT(tids, ElementsAre(144, 9, 7));  // 144 keeps eager work, 9 never had any, 7 got some
  EXPECT_EQ(result->outcome.dropped_slices, 1U);
}

TEST(ChromeWriter, LanesNeedAnnotations) {
  const Result<Annotated> refused = try_annotate(trace_text({KernelText{}.text()}), {}, with_lanes());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
}

class Again : public ::testing::TestWithParam<bool> {
 protected:
  AnnotateOptions options() const { return GetParam() ? with_lanes() : AnnotateOptions{}; }
  std::vector<std::string> events_ = {
      R"({"ph":"M","name":"thread_name","ts":1,"pid":0,"tid":143,"args":{"name":"stream 143 "}})",
      KernelText{.tid = 143, .args = R"(, "name": "theirs", "bs": 4)"}.text(),
      flow_end_text(0, 143, "10.000", 1),
      KernelText{.tid = 143, .ts = "20", .local = 1}.text(),
      KernelText{.ts = "30", .graph = 0}.text(),
      R"({"ph":"X","cat":"gpu_user_annotation","name":"step","pid":0,"tid":143,"ts":1,"dur":90})"};
  std::string trace_ = trace_text(events_, R"("a": 1, )", R"(, "z": {"y": 2})");
  Nodes nodes_ = {{node(2, 0), R"({"name":"ours","bs":4,"stream":61,"graphtag.path":["out","ours"]})"}};
};

TEST_P(Again, TheSameInputsGiveTheSameFile) {
  const std::string first = annotate(trace_, make_sources(nodes_), options());
  EXPECT_EQ(annotate(first, make_sources(nodes_), options()), first);
  EXPECT_EQ(annotate(first, make_sources(nodes_), forced(options())), first);
}

TEST_P(Again, OtherInputsNeedForceAndReplace) {
  const std::string first = annotate(trace_, make_sources(nodes_), options());
  std::vector<AnnotationSource> others;
  others.push_back(make_source({{node(2, 0), R"({"name":"other"})"}, {node(2, 1), R"({"name":"second"})"}}, "other.pkl"));
  const Result<Annotated> refused = try_annotate(first, others, options());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(refused.error().message, HasSubstr("--force"));

  const Json again = parse(annotate(first, others, forced(options())));
  const Json direct = parse(annotate(trace_, others, options()));
  // "bs" is the one arg that cannot be told: the profiler wrote what the first annotation said too.
  Json expected = direct["traceEvents"][1]["args"];
  expected.erase("bs");
  EXPECT_EQ(canonical_json(again["traceEvents"][1]["args"]), canonical_json(expected));
  EXPECT_EQ(canonical_json(again["traceEvents"][3]), canonical_json(direct["traceEvents"][3]));
  EXPECT_EQ(again["graphtag"], direct["graphtag"]);
  EXPECT_EQ(again["graphtagCoverage"], direct["graphtagCoverage"]);
}

TEST_P(Again, OtherLanesNeedForceAndMoveBack) {
  const std::string first = annotate(trace_, make_sources(nodes_), options());
  const AnnotateOptions others = GetParam() ? AnnotateOptions{} : with_lanes();
  ASSERT_FALSE(try_annotate(first, make_sources(nodes_), others).ok());
  const Json again = parse(annotate(first, make_sources(nodes_), forced(others)));
  const Json direct = parse(annotate(trace_, make_sources(nodes_), others));
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(canonical_json(again["traceEvents"][i]), canonical_json(direct["traceEvents"][i])) << i;
  }
  EXPECT_EQ(again["graphtag"], direct["graphtag"]);
}

INSTANTIATE_TEST_SUITE_P(Lanes, Again, ::testing::Values(false, true),
                         [](const auto& tested) { return tested.param ? "all" : "none"; });

TEST(ChromeWriter, ADefaultStreamOfLanesIsPartOfThem) {
  const std::vector<AnnotationSource> sources = make_sources({{node(2, 0), R"({"name":"a"})"}});
  const std::string first = annotate(trace_text({KernelText{}.text()}), sources, with_lanes());
  EXPECT_FALSE(try_annotate(first, sources, with_lanes(8)).ok());
  const Json again = parse(annotate(first, sources, forced(with_lanes(8))));
  EXPECT_EQ(again["traceEvents"][0]["tid"], 8);
  EXPECT_EQ(again["traceEvents"][0]["args"]["original_stream"], 7);
}

TEST(ChromeWriter, PyTorchsFlagAloneNeedsForce) {
  const std::string trace = trace_text({KernelText{.args = R"(, "name": "a")"}.text()}, R"("cudaGraphInlineAnnotated": true,)");
  const std::vector<AnnotationSource> sources = make_sources({{node(2, 0), R"({"name":"a","bs":8})"}});
  const Result<Annotated> refused = try_annotate(trace, sources);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("PyTorch"));
  const Json args = parse(annotate(trace, sources, forced()))["traceEvents"][0]["args"];
  EXPECT_EQ(args["name"], "a");
  EXPECT_EQ(args["bs"], 8);
  EXPECT_FALSE(args.contains("annotation.name"));
}

TEST(ChromeWriter, AMarkBehindTheEventsIsSeenToo) {
  const std::string trace = trace_text({KernelText{}.text()}, "", R"(, "cudaGraphInlineAnnotated": true)");
  EXPECT_FALSE(try_annotate(trace, make_sources({{node(2, 0), R"({"name":"a"})"}})).ok());
}

TEST(ChromeWriter, AFlagThatSaysNoIsReplaced) {
  const std::string trace = trace_text({KernelText{}.text()}, R"("cudaGraphInlineAnnotated": false, "k": 1,)",
                                       R"(, "graphtagCoverag\u0065": 1, "z": 2)");
  const Json out = parse(annotate(trace, make_sources({{node(2, 0), R"({"name":"a"})"}})));
  EXPECT_EQ(out["cudaGraphInlineAnnotated"], true);
  EXPECT_EQ(out["graphtagCoverage"]["records"], 1);
  EXPECT_EQ(out["k"], 1);
  EXPECT_EQ(out["z"], 2);
}

TEST(ChromeWriter, WithForceADroppedKeyTakesItsCommaAlong) {
  // Keys of an earlier run stand first, in the middle and last.
  const std::string event =
      R"({"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1,"dur":1,"args":{ "name": "a", "lr":1 , )"
      R"("stream": 7,"step": 2, "graph id": 2, "graph node id": 8589934592 ,"bs" : 3 } })";
  const std::string trace =
      trace_text({event}, R"("graphtag": {"keys": ["name", "lr", "step", "bs"], "inputs": [{"name": "x", "sha256": "y"}]},)");
  const std::string nothing = annotate(trace, make_sources({{node(3, 0), R"({"name":"b"})"}}), forced());
  EXPECT_EQ(parse(nothing)["traceEvents"][0]["args"].dump(), R"({"stream":7,"graph id":2,"graph node id":8589934592})");
  const std::string other = annotate(trace, make_sources({{node(2, 0), R"({"name":"b"})"}}), forced());
  EXPECT_EQ(parse(other)["traceEvents"][0]["args"].dump(), R"({"stream":7,"graph id":2,"graph node id":8589934592,"name":"b"})");
}

TEST(ChromeWriter, NoIdMatchedIsAWarningThatSaysHowToRecord) {
  const std::string trace = trace_text({KernelText{}.text()});
  const Result<Annotated> result = try_annotate(trace, make_sources({{node(99, 0), R"({"name":"a"})"}}));
  ASSERT_TRUE(result.ok());
  EXPECT_THAT(result->outcome.warnings, ElementsAre(HasSubstr("record")));
  EXPECT_EQ(result->outcome.coverage.unnamed.at(Origin::unknown_graph), 1U);
  EXPECT_THAT(result->text, HasSubstr("\n" + KernelText{}.text() + "\n"));
}

}  // namespace
}  // namespace graphtag
