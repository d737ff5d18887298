#include "trace/kineto/kineto_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/read_everything.h"

namespace graphtag {
namespace {

using test::Everything;
using test::read_everything;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> events_of(const Everything& all) {
  std::vector<std::string> texts;
  for (const auto& event : all.events) texts.push_back(event.json);
  return texts;
}

// The one event of `text`, looked at while it lives.
template <typename Look>
void with_event(const std::string& text, Look look) {
  struct Visitor : EventVisitor {
    explicit Visitor(Look& l) : look(l) {}
    Result<void> on_event(const Event& event) override {
      ++count;
      look(event);
      return {};
    }
    Look& look;
    int count = 0;
  } visitor(look);
  ReadResult result;
  const std::string document = "[" + text + "]";
  const auto source = memory_source(document);
  ASSERT_TRUE(read_kineto(*source, "t", visitor, result).ok());
  ASSERT_EQ(visitor.count, 1);
}

TEST(KinetoReader, MembersBeforeAndAfterTheEvents) {
  const std::string text = R"({"schemaVersion": 1, "host_name": "h\u0031", "distributedInfo": {"rank": 3, "x": [1]},
    "deviceProperties": [{"id": 1, "name": "B"}, {"id": 0, "name": "A"}],
    "traceEvents": [{"ph": "X"}, {"ph": "i"}], "baseTimeNanoseconds": 17, "traceName": "t" })";
  const Everything all = read_everything(text);
  EXPECT_EQ(all.error, "");
  EXPECT_EQ(all.problems, "bad-time 1 at " + std::to_string(text.find(R"({"ph": "X"})")) + ": {\"ph\": \"X\"}\n");
  EXPECT_THAT(events_of(all), ElementsAre(R"({"ph": "X"})", R"({"ph": "i"})"));
  EXPECT_THAT(all.members, ElementsAre("schemaVersion=1", R"(host_name="h\u0031")", R"(distributedInfo={"rank": 3, "x": [1]})",
                                       R"(deviceProperties=[{"id": 1, "name": "B"}, {"id": 0, "name": "A"}])",
                                       "+baseTimeNanoseconds=17", "+traceName=\"t\""));
  EXPECT_EQ(all.result.info.host, "h1");
  EXPECT_EQ(all.result.info.rank, 3);
  EXPECT_EQ(all.result.info.base_time_ns, 17);
  EXPECT_THAT(all.result.info.device_names, ElementsAre("A", "B"));
  EXPECT_FALSE(all.result.info.annotated);
}

// A number that no double holds is JSON, and spoils none of the facts beside it.
TEST(KinetoReader, FactsBesideLargeNumbers) {
  const std::string text = R"({"distributedInfo": {"x": 1e999, "rank": 3, "y": [1e999]},
    "deviceProperties": [{"clock": 1e999, "id": 1, "name": "B\u0031"}, {"n\u0061me": "A", "id": 0, "x": 123456789012345678901234567890}],
    "traceEvents": []})";
  const Everything all = read_everything(text);
  EXPECT_EQ(all.error, "");
  EXPECT_EQ(all.problems, "");
  EXPECT_EQ(all.result.info.rank, 3);
  EXPECT_THAT(all.result.info.device_names, ElementsAre("A", "B1"));
}

TEST(KinetoReader, FactsThatCannotBeUsedAreReported) {
  for (const std::string member :
       {R"("distributedInfo": {"rank": "three"})", R"("distributedInfo": {"rank": 1.5})", R"("distributedInfo": {"rank": 1e999})",
        R"("distributedInfo": 7)", R"("deviceProperties": {})", R"("deviceProperties": [{"id": 1e999, "name": "A"}])",
        R"("deviceProperties": [7])", R"("deviceProperties": [{"id": 0, "name": 7}])",
        R"("deviceProperties": [{"id": 123456789, "name": "A"}])", R"("host_name": 7)", R"("baseTimeNanoseconds": 1e999)"}) {
    for (const std::string& text : {"{" + member + R"(, "traceEvents": []})", R"({"traceEvents": [], )" + member + "}"}) {
      const Everything all = read_everything(text);
      EXPECT_EQ(all.error, "");
      EXPECT_EQ(all.problems, "unusable-fact 1 at " + std::to_string(text.find(member)) + ": " + member + "\n");
      EXPECT_EQ(all.members.size(), 1U);
    }
  }
  // The devices that can be told are.
  const Everything some = read_everything(
      R"({"deviceProperties": [{"id": 0, "name": 7}, {"id": 1, "name": "B"}, 5, {"id": 2, "name": "C"}], "traceEvents": []})");
  EXPECT_THAT(some.result.info.device_names, ElementsAre("", "B", "C"));
  EXPECT_EQ(some.result.problems[ProblemKind::unusable_fact].count, 1U);
  // Nothing is said, which is no fault.
  EXPECT_EQ(
      read_everything(R"({"distributedInfo": {"rank": null}, "deviceProperties": null, "host_name": null, "traceEvents": []})")
          .problems,
      "");
  EXPECT_EQ(read_everything(R"({"distributedInfo": {"backend": "nccl"}, "deviceProperties": [], "traceEvents": []})").problems,
            "");
}

TEST(KinetoReader, MarksOfAnAnnotatedTrace) {
  const Everything all =
      read_everything(R"({"cudaGraphInlineAnnotated": true, "graphtag": {"version": "1"}, "traceEvents": []})");
  EXPECT_TRUE(all.result.info.annotated);
  EXPECT_EQ(all.result.info.graphtag_json, R"({"version": "1"})");
  EXPECT_EQ(all.result.info.producer, "Chrome JSON");
}

TEST(KinetoReader, TheProcessThatLaunches) {
  const std::string labels = R"({"ph":"M","name":"process_labels","pid":7,"args":{"labels":"GPU 0"}},
    {"ph":"M","name":"process_labels","pid":8,"args":{"labels":"CPU"}})";
  EXPECT_EQ(read_everything("[" + labels + "]").result.info.pid, 8);
  EXPECT_EQ(read_everything("[" + labels +
                            R"(,{"ph":"X","ts":1,"cat":"cpu_op","pid":1},{"ph":"X","ts":1,"cat":"cuda_runtime","pid":"9"},
    {"ph":"X","ts":1,"cat":"cuda_driver","pid":10}])")
                .result.info.pid,
            9);
}

TEST(KinetoReader, BareArrays) {
  for (const std::string end : {"]", "", ",", " ,\n", "\n]\n"}) {
    const Everything all = read_everything("\n[{\"ph\": \"i\"},\n{\"ph\": \"M\"}" + end);
    EXPECT_EQ(all.error, "");
    EXPECT_EQ(all.problems, "") << end;
    EXPECT_THAT(events_of(all), ElementsAre(R"({"ph": "i"})", R"({"ph": "M"})"));
    EXPECT_TRUE(all.result.info.bare_array);
  }
  EXPECT_EQ(read_everything("[]").error, "");
  EXPECT_EQ(read_everything("[]").events.size(), 0U);
}

TEST(KinetoReader, NoTraceIsAnError) {
  EXPECT_THAT(read_everything("").error, HasSubstr("empty"));
  EXPECT_THAT(read_everything(" \n").error, HasSubstr("empty"));
  EXPECT_THAT(read_everything("hello").error, HasSubstr("trace.json: offset 0: no JSON"));
  EXPECT_THAT(read_everything("{\"a\": 1}").error, HasSubstr("without \"traceEvents\""));
  EXPECT_THAT(read_everything("{\"a\": 1, \"b").error, HasSubstr("ends before \"traceEvents\""));
  EXPECT_THAT(read_everything("{\"traceEvents\": 7}").error, HasSubstr("without \"traceEvents\""));
}

TEST(KinetoReader, AVisitorsErrorEndsTheReading) {
  struct Visitor : EventVisitor {
    Result<void> on_event(const Event& event) override {
      return event.offset == 0 ? Result<void>{} : Result<void>(Error{ErrorCode::io, "enough", {}, {}});
    }
  } visitor;
  ReadResult result;
  const auto source = memory_source(R"([{"ph":"i"},{"ph":"i"}])");
  EXPECT_EQ(read_kineto(*source, "t", visitor, result).error().message, "enough");
  EXPECT_EQ(result.events, 1U);
}

// Both meanings of "graph node id".
TEST(KinetoReader, GraphNodes) {
  const auto kernel = [](const std::string& args) {
    return R"({"ph":"X","cat":"kernel","ts":1,"dur":2,"args":{"device":0,"stream":7,"correlation":15,)" + args + "}}";
  };
  // Kineto: the full id. 5 << 32 is 21474836480.
  with_event(kernel(R"("graph id": 5, "graph node id": 21474836483)"), [](const Event& event) {
    EXPECT_EQ(event.kind, EventKind::kernel);
    EXPECT_EQ(event.graph_id, 5U);
    EXPECT_TRUE(event.has_node_id);
    EXPECT_EQ(event.node_id, 21474836483U);
    EXPECT_EQ(event.device, 0);
    EXPECT_EQ(event.stream, 7);
    EXPECT_EQ(event.correlation, 15U);
  });
  // Cuspy: its lower half. 0 is the graph's first node.
  with_event(kernel(R"("graph id": 2, "graph node id": 137)"), [](const Event& event) { EXPECT_EQ(event.node_id, 8589934729U); });
  with_event(kernel(R"("graph id": 2, "graph node id": 0)"), [](const Event& event) {
    EXPECT_TRUE(event.has_node_id);
    EXPECT_EQ(event.node_id, 8589934592U);
  });
  // Outside graphs.
  with_event(kernel(R"("graph id": 0, "graph node id": 0)"), [](const Event& event) { EXPECT_FALSE(event.has_node_id); });
  with_event(kernel(R"("x": 0)"), [](const Event& event) {
    EXPECT_EQ(event.graph_id, 0U);
    EXPECT_FALSE(event.has_node_id);
  });
  // In a graph, but which node is not said, or it is one of another graph.
  with_event(kernel(R"("graph id": 5)"), [](const Event& event) {
    EXPECT_EQ(event.graph_id, 5U);
    EXPECT_FALSE(event.has_node_id);
  });
  with_event(kernel(R"("graph id": 6, "graph node id": 21474836483)"), [](const Event& event) {
    EXPECT_EQ(event.graph_id, 6U);
    EXPECT_FALSE(event.has_node_id);
  });
  // Not a GPU operation.
  with_event(R"({"ph":"X","cat":"cpu_op","ts":1,"args":{"graph id": 5, "graph node id": 21474836483}})",
             [](const Event& event) { EXPECT_EQ(event.graph_id, 0U); });
}

// No graph has such an id: the record counts as outside graphs, and is reported.
TEST(KinetoReader, GraphIdsBeyond32Bits) {
  const std::string event = R"({"ph":"X","cat":"kernel","ts":1,"dur":2,"args":{"graph id": 4294967296, "graph node id": 7}})";
  with_event(event, [](const Event& seen) {
    EXPECT_EQ(seen.graph_id, 0U);
    EXPECT_FALSE(seen.has_node_id);
  });
  EXPECT_EQ(read_everything("[" + event + "]").result.problems[ProblemKind::graph_id_beyond_32_bits].offsets,
            std::vector<std::uint64_t>{1});
  EXPECT_EQ(read_everything(R"([{"ph":"X","cat":"kernel","ts":1,"args":{"graph id": 4294967295, "graph node id": 7}}])").problems,
            "");
}

TEST(KinetoReader, CopiesAndMemsets) {
  with_event(R"({"ph":"X","cat":"gpu_memcpy","ts":1,"args":{"bytes": 4096}})", [](const Event& event) {
    EXPECT_EQ(event.kind, EventKind::memcpy);
    EXPECT_EQ(event.bytes, 4096U);
  });
  with_event(R"({"args":{"bytes": 16},"ts":1,"cat":"gpu_memset","ph":"X"})", [](const Event& event) {
    EXPECT_EQ(event.kind, EventKind::memset);
    EXPECT_EQ(event.bytes, 16U);
  });
}

TEST(KinetoReader, KindsOfEvents) {
  const std::vector<std::pair<std::string, EventKind>> cases = {
      {R"("ph":"X","cat":"gpu_user_annotation")", EventKind::gpu_annotation},
      {R"("ph":"X","cat":"cuda_runtime")", EventKind::host_slice},
      {R"("ph":"X")", EventKind::host_slice},
      {R"("ph":"s","cat":"ac2g")", EventKind::flow_start},
      {R"("ph":"f")", EventKind::flow_end},
      {R"("ph":"t")", EventKind::flow_end},
      {R"("ph":"M","cat":"kernel")", EventKind::metadata},
      {R"("ph":"i","cat":"kernel")", EventKind::other},
      {R"("name":"ph")", EventKind::other},
      {R"("ph":7)", EventKind::other}};
  for (const auto& [text, kind] : cases) {
    with_event("{" + text + ",\"ts\":1}", [&, want = kind](const Event& event) { EXPECT_EQ(event.kind, want) << event.json; });
  }
}

TEST(KinetoReader, TokensAsWritten) {
  with_event(
      R"( {"ph" : "X", "name":"a\"b", "pid" : "Spans","tid":-1 ,"id":"0x1", "ts": 1.5, "dur": 0.25, "args": { "k\n" : [ 1 ] , "l":{}} })",
      [](const Event& event) {
        EXPECT_EQ(event.offset, 2U);
        EXPECT_EQ(event.phase, 'X');
        EXPECT_EQ(event.text(event.name), R"("a\"b")");
        EXPECT_EQ(event.text(event.pid), "\"Spans\"");
        EXPECT_EQ(event.text(event.tid), "-1");
        EXPECT_EQ(event.text(event.id), "\"0x1\"");
        EXPECT_TRUE(event.category.empty());
        EXPECT_EQ(event.start_ns, 1500);
        EXPECT_EQ(event.duration_ns, 250);
        EXPECT_EQ(event.text(event.args), R"({ "k\n" : [ 1 ] , "l":{}})");
        ASSERT_EQ(event.members.size(), 2U);
        EXPECT_EQ(event.text(event.members[0].key), R"(k\n)");
        EXPECT_EQ(event.text(event.members[0].value), "[ 1 ]");
        EXPECT_EQ(event.text(event.members[1].value), "{}");
      });
}

TEST(KinetoReader, OfDuplicateKeysTheLastCounts) {
  const std::string event =
      R"({"ph":"X","cat":"kernel","ts":1,"pid":1,"p\u0069d":2,"args":{"stream":1},"args":{"stream":7,"stream":8}})";
  with_event(event, [](const Event& seen) {
    EXPECT_EQ(seen.text(seen.pid), "2");
    EXPECT_EQ(seen.stream, 8);
    EXPECT_EQ(seen.members.size(), 2U);
  });
  EXPECT_EQ(read_everything("[" + event + "]").result.problems[ProblemKind::duplicate_key].count, 1U);
  EXPECT_EQ(read_everything(R"([{"ph":"i","a":{"ph":1}, "args":{"ph":1}}])").problems, "");
}

TEST(KinetoReader, IntegersBeyond64Bits) {
  for (const std::string fits : {"18446744073709551615", "-9223372036854775808", "123456789012345678901.5", "1e99"}) {
    EXPECT_EQ(read_everything("[{\"ph\":\"i\",\"x\":[" + fits + "]}]").problems, "") << fits;
  }
  for (const std::string large : {"18446744073709551616", "-9223372036854775809", "100000000000000000000"}) {
    const Everything all = read_everything(R"([{"ph":"X","cat":"kernel","ts":1,"args":{"correlation":)" + large + "}}]");
    EXPECT_EQ(all.result.problems[ProblemKind::integer_beyond_64_bits].count, 1U) << large;
    EXPECT_EQ(all.result.problems[ProblemKind::integer_beyond_64_bits].offsets[0], 1U);
    EXPECT_EQ(all.events.size(), 1U);
  }
}

// JSON's grammar sets numbers no limit: what no double holds is a value like any other, wherever it stands, and comes out as it was written.
TEST(KinetoReader, NumbersBeyondDoubles) {
  const std::string digits(400, '9');
  KinetoOptions plain;
  plain.fast = false;
  KinetoOptions small;
  small.window_bytes = 16;
  for (const std::string& number :
       {std::string("214748E3647"), std::string("-1e999"), std::string("1e-999"), digits + ".5", "0." + digits, "1e+" + digits}) {
    const std::vector<std::string> events = {R"({"ph":"i","x":)" + number + "}",
                                             R"({"ph":"i","x":[)" + number + R"(,{"y": )" + number + " }]}",
                                             R"({"ph":"i","args":{"x":)" + number + R"(,"y":1}})", R"({"ph":"M"})"};
    std::string text = R"({"a":)" + number + R"(,"b":{"c":)" + number + R"(},"traceEvents":[)";
    for (const auto& event : events) text += (&event == events.data() ? "" : ",\n") + event;
    text += R"(],"d":[)" + number + "]}";
    for (const KinetoOptions& options : {KinetoOptions{}, plain, small}) {
      const Everything all = read_everything(text, options);
      EXPECT_EQ(all.error, "");
      EXPECT_EQ(all.problems, "");
      EXPECT_EQ(events_of(all), events);
      EXPECT_THAT(all.members, ElementsAre("a=" + number, "b={\"c\":" + number + "}", "+d=[" + number + "]"));
      std::size_t from = 0;
      for (const auto& event : all.events) {
        EXPECT_FALSE(event.repaired);
        EXPECT_EQ(event.offset, text.find(event.json, from));
        from = event.offset + event.json.size();
      }
    }
  }
}

TEST(KinetoReader, BadTimes) {
  for (const std::string bad : {R"("dur":1)", R"("ts":"1","dur":1)", R"("ts":null,"dur":1)", R"("ts":1,"dur":-0.001)",
                                R"("ts":1e300,"dur":1)", R"("ts":1,"dur":"2")", R"("ts":9223372036854775,"dur":1)"}) {
    const std::string event = R"({"ph":"X","cat":"kernel",)" + bad + "}";
    EXPECT_EQ(read_everything("[" + event + "]").problems, "bad-time 1 at 1: " + event + "\n");
    with_event(event, [](const Event& seen) { EXPECT_FALSE(seen.start_ns.has_value()); });
  }
  EXPECT_EQ(read_everything(R"([{"ph":"X","ts":-5},{"ph":"M"},{"ph":"i"}])").problems, "");
}

TEST(KinetoReader, RepairsAndReportsWhere) {
  const std::string text =
      "{\"traceEvents\": [{\"ph\":\"i\",\"name\":\"a\nb\"},\n{\"ph\":\"X\",\"ts\":NaN,\"args\":{\"n\":\"x \"y\" "
      "z\",}},{\"ph\":\"M\"}]}";
  const Everything all = read_everything(text);
  EXPECT_THAT(events_of(all),
              ElementsAre(R"({"ph":"i","name":"a\nb"})", R"({"ph":"X","ts":null,"args":{"n":"x \"y\" z"}})", R"({"ph":"M"})"));
  EXPECT_TRUE(all.events[0].repaired);
  EXPECT_TRUE(all.events[1].repaired);
  EXPECT_FALSE(all.events[2].repaired);
  EXPECT_EQ(all.events[1].offset, text.find("{\"ph\":\"X\""));
  const auto where = [&](ProblemKind kind) {
    const auto& entry = all.result.problems[kind];
    return entry.count == 1 ? entry.offsets[0] : std::string::npos;
  };
  EXPECT_EQ(where(ProblemKind::raw_control_character), text.find("\nb"));
  EXPECT_EQ(where(ProblemKind::not_a_number), text.find("NaN"));
  EXPECT_EQ(where(ProblemKind::unescaped_quote), text.find("\"y\""));
  EXPECT_EQ(where(ProblemKind::trailing_comma), text.find(",}}"));
  EXPECT_EQ(where(ProblemKind::bad_time), all.events[1].offset);
  EXPECT_EQ(all.result.problems.left_out(), 0U);
}

TEST(KinetoReader, BetweenEvents) {
  const auto problems = [](const std::string& text) { return read_everything(text).problems; };
  EXPECT_EQ(problems(R"([{"ph":"i"},])"), "trailing-comma 1 at 12: ]\n");
  EXPECT_EQ(problems(R"([{"ph":"i"},,{"ph":"i"}])"), "trailing-comma 1 at 12: ,{\"ph\":\"i\"}]\n");
  EXPECT_EQ(problems(R"([{"ph":"i"}{"ph":"i"}])"), "missing-comma 1 at 11: {\"ph\":\"i\"}]\n");
  EXPECT_EQ(problems(R"([1,"a",null,[],{"ph":"i"}])"), "not-an-object 4 at 1 3 7 12: 1\n");
  EXPECT_EQ(problems(R"([{"ph":"i"}]x)"), "trailing-garbage 1 at 12: x\n");
  EXPECT_EQ(problems("\xEF\xBB\xBF[]"), "byte-order-mark 1 at 0: \xEF\xBB\xBF\n");
  const Everything stray = read_everything(R"({"traceEvents":[{"ph":"i"}],{"ph":"M"}],"a":1})");
  EXPECT_EQ(stray.events.size(), 2U);
  EXPECT_THAT(stray.members, ElementsAre("+a=1"));
  EXPECT_EQ(stray.result.problems[ProblemKind::unparsable_event].count, 1U);
}

TEST(KinetoReader, CutAnywhere) {
  const std::string text =
      R"({"host_name": "h", "traceEvents": [{"ph":"i","a":1}, {"ph":"M","args":{"n":"x"}},{"ph":"i"} ], "b": [2]})";
  const Everything whole = read_everything(text);
  ASSERT_EQ(whole.events.size(), 3U);
  EXPECT_EQ(whole.problems, "");
  for (std::size_t size = text.find('[') + 1; size < text.size(); ++size) {
    const Everything cut = read_everything(text.substr(0, size));
    EXPECT_EQ(cut.error, "");
    EXPECT_EQ(cut.result.problems[ProblemKind::truncated].count, 1U) << text.substr(0, size) << cut.problems;
    EXPECT_EQ(cut.result.problems.left_out(), 1U);
    std::size_t expected = 0;
    for (const auto& event : whole.events) expected += event.offset + event.json.size() <= size ? 1 : 0;
    ASSERT_EQ(cut.events.size(), expected) << size;
    for (std::size_t i = 0; i < expected; ++i) EXPECT_EQ(cut.events[i], whole.events[i]);
  }
}

// The members behind the array are not to be lost for its last event.
TEST(KinetoReader, ADamagedLastEventCostsItself) {
  KinetoOptions plain;
  plain.fast = false;
  KinetoOptions small;
  small.window_bytes = 16;
  for (const std::string damaged : {R"({"ph":1 2,"args":{"n":"x"}})", R"({"ph":"M","name":x"y","args":{"a":[{"b":1}],"c":2}})",
                                    R"({"ph":"M","name":"x,"args":{}})", R"({"ph":"M","args":{"a":{"b":[{}]}})",
                                    R"({"ph":"M","args":{"n":"x}})", R"({{{"ph":"M","args":{}})"}) {
    const std::string head = R"({"traceEvents":[{"ph":"i"},)";
    const std::string text = head + damaged + "\n ], \"b\": {\"c\": \"}]\"},\"baseTimeNanoseconds\":7}\n";
    for (const KinetoOptions& options : {KinetoOptions{}, plain, small}) {
      const Everything all = read_everything(text, options);
      EXPECT_EQ(all.error, "");
      EXPECT_THAT(events_of(all), ElementsAre(R"({"ph":"i"})"));
      EXPECT_THAT(all.members, ElementsAre(R"(+b={"c": "}]"})", "+baseTimeNanoseconds=7"));
      EXPECT_EQ(all.result.info.base_time_ns, 7);
      EXPECT_EQ(all.result.problems[ProblemKind::unparsable_event].offsets, std::vector<std::uint64_t>{head.size()});
      EXPECT_EQ(std::count(all.problems.begin(), all.problems.end(), '\n'), 1) << all.problems;
    }
    const Everything bare = read_everything("[{\"ph\":\"i\"}," + damaged + "]\n");
    EXPECT_EQ(bare.result.problems[ProblemKind::unparsable_event].count, 1U);
    EXPECT_EQ(bare.result.problems.left_out(), 1U);
    EXPECT_EQ(bare.result.problems[ProblemKind::trailing_comma].count, 0U);
  }
}

// The array's end is looked for in the last 64 KiB, whatever the windows.
TEST(KinetoReader, ADamagedLastEventMayBeLong) {
  for (const std::size_t window : {std::size_t{1} << 20, std::size_t{1000}}) {
    KinetoOptions options;
    options.window_bytes = window;
    const std::string event = R"({"ph":"X","name":x","stack":")" + std::string(300000, 's') + R"(","args":{}})";
    const auto text = [&](std::size_t behind) {
      const std::string end = R"(],"b":")";
      // `behind` counts the event's last brace too.
      return R"({"traceEvents":[)" + event + end + std::string(behind - 1 - end.size() - 2, 'b') + "\"}";
    };
    const Everything reached = read_everything(text(65536), options);
    EXPECT_EQ(reached.result.problems[ProblemKind::unparsable_event].count, 1U);
    EXPECT_EQ(reached.result.problems[ProblemKind::truncated].count, 0U);
    EXPECT_EQ(reached.members.size(), 1U);
    const Everything beyond = read_everything(text(65537), options);
    EXPECT_EQ(beyond.result.problems[ProblemKind::truncated].count, 1U);
    EXPECT_EQ(beyond.members.size(), 0U);
  }
}

TEST(KinetoReader, LargeEventsAreLeftOut) {
  KinetoOptions options;
  options.event_limit_bytes = 100;
  const std::string large = R"({"ph":"X","name":")" + std::string(100, 'n') + "\"}";
  const Everything all = read_everything(R"([{"ph":"i"},)" + large + R"(,{"ph":"M"}])", options);
  EXPECT_THAT(events_of(all), ElementsAre(R"({"ph":"i"})", R"({"ph":"M"})"));
  EXPECT_EQ(all.result.problems[ProblemKind::event_too_large].offsets, std::vector<std::uint64_t>{12});
}

TEST(KinetoReader, LargeMembersAreLeftOut) {
  KinetoOptions options;
  options.event_limit_bytes = 100;
  const std::string large = R"("stacks": {"a": [")" + std::string(2000, 's') + R"(\"]}"], "b": {}})";
  const Everything all =
      read_everything("{" + large + R"(, "c": 1, "traceEvents":[{"ph":"i"}], )" + large + R"(, "d": 2})", options);
  EXPECT_EQ(all.error, "");
  EXPECT_EQ(all.events.size(), 1U);
  EXPECT_THAT(all.members, ElementsAre("c=1", "+d=2"));
  EXPECT_EQ(all.result.problems[ProblemKind::member_too_large].count, 2U);
}

TEST(KinetoReader, EventsOfTooManyMembersAreLeftOut) {
  const auto event = [](std::size_t members) {
    std::string text = R"({"ph":"i","args":{"0":0)";
    for (std::size_t i = 1; i < members; ++i) text += ",\"" + std::to_string(i) + "\":0";
    return text + "}}";
  };
  EXPECT_EQ(read_everything("[" + event(65536) + "]").problems, "");
  const Everything all = read_everything("[" + event(65537) + R"(,{"ph":"M"}])");
  EXPECT_EQ(all.events.size(), 1U);
  EXPECT_EQ(all.result.problems[ProblemKind::event_too_large].count, 1U);
}

TEST(KinetoReader, NestingHasALimit) {
  const auto event = [](std::size_t arrays) {
    return R"({"ph":"i","a":)" + std::string(arrays, '[') + std::string(arrays, ']') + "}";
  };
  EXPECT_EQ(read_everything("[" + event(63) + "]").problems, "");
  EXPECT_EQ(read_everything("[" + event(64) + "]").result.problems[ProblemKind::unparsable_event].count, 1U);
  EXPECT_EQ(read_everything("[" + std::string(1000000, '[')).events.size(), 0U);
}

TEST(KinetoReader, DamagedMembers) {
  const Everything all =
      read_everything(R"({"a": "x "y" z", "b": NaN, "c": foo, "d": 1, "d": 2, "traceEvents": [{"ph":"i"}], "e": 07})");
  EXPECT_EQ(all.error, "");
  EXPECT_THAT(all.members, ElementsAre(R"(a="x \"y\" z")", "b=null", "d=1", "d=2", "+e=7"));
  EXPECT_EQ(all.result.problems[ProblemKind::unparsable_event].offsets, std::vector<std::uint64_t>{27});
  EXPECT_EQ(all.result.problems[ProblemKind::duplicate_key].count, 1U);
  EXPECT_EQ(all.result.problems.left_out(), 1U);
}

TEST(KinetoReader, AMemberWithoutItsQuoteDoesNotTakeTheEvents) {
  const Everything all = read_everything("{\"a\": \"x, \"b\": 1,\n\"traceEvents\": [{\"ph\":\"i\"}]}");
  EXPECT_EQ(all.error, "");
  EXPECT_EQ(all.events.size(), 1U);
}

}  // namespace
}  // namespace graphtag
