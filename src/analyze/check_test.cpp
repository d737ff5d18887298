#include "analyze/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/operation_builder.h"

namespace graphtag {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::OperationBuilder;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;
using testing::worked_example;

CheckReport check(OperationTable table, std::optional<double> min_time = {}) {
  CheckOptions options;
  options.min_time = min_time;
  return check_operations(table, options).value();
}
CheckReport check_selected(OperationTable table, const CheckOptions& options) {
  return check_operations(table, options).value();
}

// Two replays of one graph that show the same three nodes.
OperationBuilder whole_replays() {
  OperationBuilder builder;
  const AnnotationId mlp = builder.region("mlp");
  for (int i = 0; i < 2; ++i) {
    const std::uint32_t replay = builder.replay(9);
    builder.kernel(i * 100, i * 100 + 40, 7, replay, mlp);
    builder.kernel(i * 100 + 40, i * 100 + 95, 7, replay, mlp);
    builder.kernel(i * 100 + 95, i * 100 + 100, 7, replay, AnnotationId::none);
  }
  return builder;
}

TEST(Check, WorkedExample) {
  const CheckReport report = check(worked_example());
  EXPECT_DOUBLE_EQ(report.coverage_records_frac.value(), 6.0 / 7);
  EXPECT_DOUBLE_EQ(report.coverage_sum_frac.value(), 115.0 / 119);
  EXPECT_DOUBLE_EQ(report.coverage_busy_frac.value(), 100.0 / 104);
  ASSERT_EQ(report.graphs.size(), 1U);
  const GraphCheck& graph = report.graphs[0];
  EXPECT_EQ(graph.replays.graph.value, 5U);
  EXPECT_EQ(graph.label, "null");
  EXPECT_EQ(graph.replays.replays, 2U);
  EXPECT_EQ(graph.replays.nodes_expected, 4U);  // the most seen in one replay
  EXPECT_EQ(graph.replays.nodes_seen_min, 2U);
  EXPECT_EQ(graph.replays.nodes_seen_max, 4U);
  EXPECT_EQ(graph.replays.short_replays, 1U);
  EXPECT_EQ(graph.records, 6U);
  EXPECT_EQ(graph.named, 6U);
  EXPECT_THAT(graph.unnamed, IsEmpty());
  EXPECT_EQ(report.outside_records, 1U);
  EXPECT_EQ(report.outside_named, 0U);
}

// As docs/report.md has the worked example: what is selected counts, and of replays that have some of it all nodes.
TEST(Check, CountsWhatIsSelected) {
  CheckOptions first;
  first.skip_replays = 1;
  const CheckReport second_replay = check_selected(worked_example(), first);
  ASSERT_EQ(second_replay.graphs.size(), 1U);
  EXPECT_EQ(second_replay.graphs[0].replays.replays, 1U);
  EXPECT_EQ(second_replay.graphs[0].replays.nodes_expected, 2U);
  EXPECT_EQ(second_replay.graphs[0].replays.short_replays, 0U);
  EXPECT_EQ(second_replay.graphs[0].records, 2U);
  EXPECT_EQ(second_replay.outside_records, 1U);

  CheckOptions copies;
  copies.kind = OperationKind::memcpy;
  const CheckReport only_copies = check_selected(worked_example(), copies);
  EXPECT_EQ(only_copies.graphs.size(), 0U);
  EXPECT_EQ(only_copies.outside_records, 1U);
  EXPECT_DOUBLE_EQ(only_copies.coverage_records_frac.value(), 0);
  EXPECT_EQ(only_copies.busy_ns, 4'000);

  // q ends at 20 us and o begins there: 10 us of o are inside.
  CheckOptions window;
  window.window_ns = {20'000, 30'000};
  const CheckReport inside = check_selected(worked_example(), window);
  ASSERT_EQ(inside.graphs.size(), 1U);
  EXPECT_EQ(inside.graphs[0].records, 1U);
  EXPECT_EQ(inside.graphs[0].sum_ns, 10'000);
  EXPECT_EQ(inside.graphs[0].replays.nodes_seen_max, 4U);
  EXPECT_EQ(inside.base_ns, check(worked_example()).base_ns);

  CheckOptions stream;
  stream.where = {{"stream", "9"}};
  const CheckReport communication = check_selected(worked_example(), stream);
  ASSERT_EQ(communication.graphs.size(), 1U);
  EXPECT_EQ(communication.graphs[0].records, 1U);
  EXPECT_EQ(communication.graphs[0].sum_ns, 25'000);

  CheckOptions unknown;
  unknown.where = {{"no such key", "1"}};
  OperationTable table = worked_example();
  EXPECT_EQ(check_operations(table, unknown).error().code, ErrorCode::invalid_argument);
}

TEST(Check, ReasonsAreCounted) {
  OperationBuilder builder = whole_replays();
  builder.table.operations[0].annotation = AnnotationId::none;
  builder.table.operations[0].origin = Origin::stale_id;
  builder.table.operations[1].origin = Origin::modelled;
  const CheckReport report = check(std::move(builder.table));
  ASSERT_EQ(report.graphs.size(), 1U);
  EXPECT_EQ(report.graphs[0].named, 3U);
  EXPECT_EQ(report.graphs[0].ambiguous, 1U);
  EXPECT_THAT(report.graphs[0].unnamed, UnorderedElementsAre(Pair(Origin::stale_id, 1), Pair(Origin::outside_scope, 2)));
}

TEST(Check, WithoutAnyAnnotationThatIsTheReason) {
  OperationBuilder builder;
  builder.kernel(0, 10, 7, builder.replay(1), AnnotationId::none).origin = Origin::unknown_graph;
  const CheckReport report = check(std::move(builder.table));
  EXPECT_THAT(report.graphs.at(0).unnamed, UnorderedElementsAre(Pair(Origin::no_annotations, 1)));
}

AnnotationSource file_that_expects(std::uint32_t kernels, std::uint32_t body_kernels) {
  AnnotationSource source;
  GraphRecord record;
  record.id = GraphId{9};
  record.label = std::make_unique<Json>(Json{{"bs", 8}});
  record.nodes = NodeCounts{kernels, 0, 0};
  record.body_nodes = NodeCounts{body_kernels, 0, 0};
  source.file->graphs.push_back(std::move(record));
  return source;
}

TEST(Check, RecordsOfWholeGraphsShowNoNodesAndLackNone) {
  OperationBuilder builder;
  for (int i = 0; i < 3; ++i)
    builder.kernel(i * 10, i * 10 + 10, 7, builder.replay(9), AnnotationId::none).origin = Origin::graph_level_trace;
  const AnnotationSource source = file_that_expects(4, 0);
  builder.table.annotations = AnnotationSet({&source});
  const CheckReport report = check(std::move(builder.table));
  EXPECT_THAT(report.graphs.at(0).unnamed, UnorderedElementsAre(Pair(Origin::graph_level_trace, 3)));
  EXPECT_EQ(report.graphs[0].replays.nodes_seen_max, 0U);
  EXPECT_EQ(report.graphs[0].replays.short_replays, 0U);
}

TEST(Check, ANodeThatALoopRanAgainIsOneNode) {
  OperationBuilder builder = whole_replays();
  GpuOperation& again = builder.kernel(200, 210, 7, 1, AnnotationId::none);
  again.local_id = 0;
  const CheckReport report = check(std::move(builder.table));
  EXPECT_EQ(report.graphs.at(0).replays.nodes_seen_max, 3U);
  EXPECT_EQ(report.graphs[0].replays.short_replays, 0U);
  EXPECT_EQ(report.graphs[0].records, 7U);
}

TEST(Check, ReplaysThatOverlapAreToldApart) {
  OperationBuilder builder;
  const AnnotationId mlp = builder.region("mlp");
  const std::uint32_t first = builder.replay(1), second = builder.replay(1);
  for (int i = 0; i < 3; ++i) {  // wrong clocks: the replays of one graph alternate
    builder.kernel(i * 20, i * 20 + 10, 7, first, mlp);
    if (i < 2) builder.kernel(i * 20 + 10, i * 20 + 20, 7, second, mlp);
  }
  const CheckReport report = check(std::move(builder.table));
  EXPECT_EQ(report.graphs.at(0).replays.nodes_seen_max, 3U);
  EXPECT_EQ(report.graphs[0].replays.nodes_seen_min, 2U);
  EXPECT_EQ(report.graphs[0].replays.short_replays, 1U);
  EXPECT_EQ(report.busy_ns, 50);
}

TEST(Check, TheAnnotationFileSaysHowManyNodesToExpect) {
  for (const std::uint32_t body_kernels : {0U, 5U}) {  // bodies may not run, so they are not expected
    OperationBuilder builder;
    const AnnotationSource source = file_that_expects(4, body_kernels);
    builder.table.annotations = AnnotationSet({&source});
    const std::uint32_t replay = builder.replay(9);
    for (int i = 0; i < 3; ++i) builder.kernel(i * 10, i * 10 + 10, 7, replay, AnnotationId::none);
    const CheckReport report = check(std::move(builder.table));
    EXPECT_EQ(report.graphs.at(0).replays.nodes_expected, 4U);
    EXPECT_EQ(report.graphs[0].replays.short_replays, 1U);
    EXPECT_EQ(report.graphs[0].label, "{\"bs\":8}");
  }
}

TEST(Check, GatePassesAndFailsByTime) {
  EXPECT_EQ(check(whole_replays().table, 0.95).verdict, CheckVerdict::passed);  // 190 of 200
  const CheckReport failed = check(whole_replays().table, 0.96);
  EXPECT_EQ(failed.verdict, CheckVerdict::failed);
  EXPECT_EQ(exit_code(failed.verdict), 1);
  EXPECT_THAT(failed.verdict_reason, HasSubstr("95.00%"));
  EXPECT_EQ(check(whole_replays().table).verdict_reason, "");
}

TEST(Check, GateDoesNotPassBySilence) {
  EXPECT_EQ(exit_code(check(OperationTable{}, 0.0).verdict), 4);

  OperationBuilder nameless;
  nameless.kernel(0, 10, 7, nameless.replay(1), AnnotationId::none);
  EXPECT_EQ(check(std::move(nameless.table), 0.5).verdict, CheckVerdict::cannot_judge);

  const CheckReport under_recorded = check(worked_example(), 0.95);
  EXPECT_EQ(under_recorded.verdict, CheckVerdict::cannot_judge);
  EXPECT_THAT(under_recorded.verdict_reason, HasSubstr("1 of 2 replays"));

  OperationBuilder cut_off = whole_replays();
  cut_off.table.read.problems.add(ProblemKind::truncated, 100, "{");
  EXPECT_EQ(check(std::move(cut_off.table), 0.95).verdict, CheckVerdict::cannot_judge);

  OperationBuilder without_times = whole_replays();
  without_times.table.bad_times = 1;
  EXPECT_EQ(check(std::move(without_times.table), 0.95).verdict, CheckVerdict::cannot_judge);
}

}  // namespace
}  // namespace graphtag
