#include "join/launch_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "join/operations.h"
#include "tests/support/join_fixtures.h"

namespace graphtag {
namespace {

using ::testing::ElementsAre;
using testing::make_sources;
using testing::node;
using testing::TempFolder;
using testing::trace_text;

// Times are whole microseconds.
std::string slice(std::string_view category, std::string_view name, int thread, int start, int end, std::string_view args = "") {
  return R"({"ph":"X","cat":")" + std::string(category) + R"(","name":)" + Json(name).dump() + R"(,"pid":9,"tid":)" +
         std::to_string(thread) + R"(,"ts":)" + std::to_string(start) + R"(,"dur":)" + std::to_string(end - start) +
         (args.empty() ? "" : ",\"args\":" + std::string(args)) + "}";
}
std::string range(std::string_view name, int thread, int start, int end) {
  return slice("user_annotation", name, thread, start, end);
}
std::string launch(int correlation, int thread, int start) {
  return slice("cuda_runtime", "cudaLaunchKernel", thread, start, start + 1,
               R"({"correlation":)" + std::to_string(correlation) + "}");
}
std::string backward_operator(int thread, int start, int end) {
  return slice("cpu_op", "autograd::engine::evaluate_function: SinBackward0", thread, start, end);
}
std::string flow(char phase, int id, int thread, int at) {
  return R"({"ph":")" + std::string(1, phase) + R"(","cat":"fwdbwd","name":"fwdbwd","id":)" + std::to_string(id) +
         R"(,"pid":9,"tid":)" + std::to_string(thread) + R"(,"ts":)" + std::to_string(at) + "}";
}
std::string kernel(int correlation, int graph = 0) {
  return R"({"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1000,"dur":1,"args":{"device":0,"stream":7,"correlation":)" +
         std::to_string(correlation) + R"(,"graph id":)" + std::to_string(graph) + R"(,"graph node id":)" +
         std::to_string(node(static_cast<std::uint64_t>(graph), 0)) + "}}";
}

// What each operation is called, in file order: path and object; "" where nothing.
std::vector<std::string> names(const std::vector<std::string>& events, const std::vector<AnnotationSource>& sources = {}) {
  const TempFolder folder;
  const Result<OperationTable> table = read_operations(folder.write("trace.json", trace_text(events)), sources);
  EXPECT_TRUE(table.ok()) << table.error().to_string();
  std::vector<std::string> all;
  if (!table) return all;
  for (const GpuOperation& operation : table->operations) {
    const Annotation& annotation = table->annotations.annotations()[operation.annotation];
    const bool none = operation.annotation == AnnotationId::none;
    all.push_back(none ? "" : Json(annotation.path).dump() + canonical_json(*annotation.object));
  }
  return all;
}

TEST(LaunchNames, TheUserAnnotationsAroundTheLaunchNameAnEagerKernel) {
  EXPECT_THAT(names({kernel(3), launch(3, 1, 12), range("mlp", 1, 10, 20), range("layer", 1, 5, 30), kernel(4), launch(4, 1, 25),
                     kernel(5), launch(5, 1, 30), kernel(6), launch(6, 2, 12), kernel(7)}),
              ElementsAre(R"(["layer","mlp"]{"name":"mlp"})", R"(["layer"]{"name":"layer"})", "", "", ""));
}

TEST(LaunchNames, ARangeCalledByAnObjectIsThatAnnotation) {
  EXPECT_THAT(names({range("outer", 1, 0, 50), range("{'name': 'a', 'bs': 8}", 1, 10, 20), launch(3, 1, 12), kernel(3)}),
              ElementsAre(R"(["outer","a"]{"bs":8,"name":"a"})"));
  EXPECT_THAT(
      names({range("{'name': '%27%22%5C%0A%25 %C3%A9', '%27k': [1, {'x': null}]}", 1, 10, 20), launch(3, 1, 12), kernel(3)}),
      ElementsAre("[\"'\\\"\\\\\\n% \u00e9\"]{\"'k\":[1,{\"x\":null}],\"name\":\"'\\\"\\\\\\n% \u00e9\"}"));
  // What is no object is a name; what is no %XX stays.
  for (const std::string name : {"{no object", "{'name': 5", "{'a'}", "['x']"}) {
    EXPECT_THAT(names({range(name, 1, 10, 20), launch(3, 1, 12), kernel(3)}),
                ElementsAre("[\"" + name + "\"]{\"name\":\"" + name + "\"}"));
  }
  EXPECT_THAT(names({range("{'name': '%zz%4%FF%'}", 1, 10, 20), launch(3, 1, 12), kernel(3)}),
              ElementsAre("[\"%zz%4\uFFFD%\"]{\"name\":\"%zz%4\uFFFD%\"}"));
}

TEST(LaunchNames, TheProfilersOwnRangesNameNothing) {
  EXPECT_THAT(names({range("ProfilerStep#4", 1, 0, 50), launch(3, 1, 12), kernel(3)}), ElementsAre(""));
}

TEST(LaunchNames, WorkInGraphsIsNamedByItsNode) {
  EXPECT_THAT(names({range("replay", 1, 0, 50), launch(3, 1, 12), kernel(3, 2), kernel(3, 4)},
                    make_sources({{node(2, 0), R"({"name":"captured"})"}})),
              ElementsAre(R"(["captured"]{"name":"captured"})", ""));
}

TEST(LaunchNames, BackwardWorkIsCalledAsItsForward) {
  // Thread 2 is the engine's; the flow ends in the operator, which begins a little after the engine's slice.
  EXPECT_THAT(names({range("a", 1, 0, 10),
                     flow('s', 1, 1, 5),
                     range("b", 1, 20, 30),
                     flow('s', 2, 1, 25),
                     flow('s', 3, 1, 40),
                     backward_operator(2, 100, 110),
                     flow('f', 2, 2, 101),
                     launch(7, 2, 105),
                     kernel(7),  //
                     backward_operator(2, 110, 120),
                     flow('f', 1, 2, 111),
                     launch(8, 2, 119),
                     kernel(8),  //
                     backward_operator(2, 120, 130),
                     flow('f', 3, 2, 121),
                     launch(9, 2, 125),
                     kernel(9),  //
                     backward_operator(2, 130, 140),
                     launch(10, 2, 135),
                     kernel(10)}),
              ElementsAre(R"(["b"]{"autograd_phase":"backward","name":"b"})", R"(["a"]{"autograd_phase":"backward","name":"a"})",
                          "", ""));
}

// In the order of captured work: the scope around the call, the frozen region, a scope within a custom backward.
TEST(LaunchNames, ScopesOfABackwardHaveTheirOrder) {
  EXPECT_THAT(names({range("{'name': 'region', 'x': 1}", 1, 0, 10), flow('s', 1, 1, 5),
                     range("{'name': 'around', 'y': 2}", 1, 90, 200), backward_operator(1, 100, 150), flow('f', 1, 1, 101),
                     launch(7, 1, 102), kernel(7), range("within", 1, 110, 120), launch(8, 1, 115), kernel(8)}),
              ElementsAre(R"(["around","region"]{"autograd_phase":"backward","name":"region","x":1,"y":2})",
                          R"(["around","region","within"]{"autograd_phase":"backward","name":"within","x":1,"y":2})"));
}

TEST(LaunchNames, ACorrelationThatTwoThreadsLaunchedIsNobodys) {
  EXPECT_THAT(names({range("a", 1, 0, 50), range("b", 2, 0, 50), launch(3, 1, 12), launch(3, 2, 12), kernel(3)}),
              ElementsAre(""));
  EXPECT_THAT(names({range("a", 1, 10, 50), launch(3, 1, 5), launch(3, 1, 12), kernel(3)}), ElementsAre(""));
}

// ---- Against a slow plain twin: for each point, all ranges are looked through ----

struct Range {
  int thread, start, end;
};

// Ranges that are open at a point, outermost first; a range that opens while kOpenRanges are open is passed over.
std::vector<std::size_t> twin(const std::vector<Range>& ranges, int thread, int time) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    if (ranges[i].thread == thread && ranges[i].end > ranges[i].start) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return ranges[a].start != ranges[b].start ? ranges[a].start < ranges[b].start : ranges[a].end > ranges[b].end;
  });
  std::vector<std::size_t> taken;
  for (const std::size_t i : order) {
    const auto open = std::count_if(taken.begin(), taken.end(), [&](std::size_t j) { return ranges[j].end > ranges[i].start; });
    if (static_cast<std::size_t>(open) < kOpenRanges) taken.push_back(i);
  }
  std::erase_if(taken, [&](std::size_t i) { return ranges[i].start > time || ranges[i].end <= time; });
  return taken;
}

RC_GTEST_PROP(OpenRanges, AgreeWithLookingThroughAllOfThem, ()) {
  const auto count = *rc::gen::inRange(0, 150);
  const int span = *rc::gen::element(12, 400);  // a short time nests deeply
  std::vector<Range> ranges;
  std::vector<HostRange> sorted;
  for (int i = 0; i < count; ++i) {
    const int start = *rc::gen::inRange(0, span);
    const Range range{*rc::gen::inRange(0, 2), start, *rc::gen::inRange(start, span * 2)};
    ranges.push_back(range);
    sorted.push_back({range.start, range.end, static_cast<std::uint32_t>(range.thread), static_cast<AnnotationId>(i)});
  }
  std::vector<HostPoint> points;
  for (int i = 0; i < 40; ++i)
    points.push_back({*rc::gen::inRange(0, span * 2), static_cast<std::uint32_t>(*rc::gen::inRange(0, 3))});
  std::set<std::size_t> visited;
  visit_open_ranges(sorted, points, [&](std::size_t i, std::span<const std::uint32_t> open) {
    RC_ASSERT(visited.insert(i).second);
    std::vector<std::size_t> got;
    for (const std::uint32_t at : open) got.push_back(static_cast<std::size_t>(sorted[at].annotation));
    RC_ASSERT(got == twin(ranges, static_cast<int>(points[i].thread), static_cast<int>(points[i].time_ns)));
  });
  RC_ASSERT(visited.size() == points.size());
}

}  // namespace
}  // namespace graphtag
