#include "analyze/regions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/operation_builder.h"

namespace graphtag {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::OperationBuilder;
using testing::worked_example;

RegionReport analyze(OperationTable table, const RegionOptions& options = {}) {
  Result<RegionReport> report = analyze_regions(table, options);
  EXPECT_TRUE(report.ok()) << (report.ok() ? "" : report.error().to_string());
  return report.ok() ? std::move(*report) : RegionReport{};
}

std::string error_of(OperationTable table, const RegionOptions& options) {
  const Result<RegionReport> report = analyze_regions(table, options);
  EXPECT_FALSE(report.ok());
  if (report.ok()) return {};
  EXPECT_EQ(report.error().code, ErrorCode::invalid_argument);
  return report.error().message;
}

const RegionRow& row_of(const RegionReport& report, const std::string& region) {
  for (const RegionRow& row : report.rows) {
    if (row.region == region) return row;
  }
  ADD_FAILURE() << "no row " << region;
  static const RegionRow kNone;
  return kNone;
}

std::vector<std::string> names(const RegionReport& report) {
  std::vector<std::string> names;
  for (const RegionRow& row : report.rows) names.push_back(row.region);
  return names;
}

// Every number of the worked example of docs/report.md that a region report has.
TEST(Regions, WorkedExampleTotals) {
  const RegionReport report = analyze(worked_example());
  EXPECT_EQ(report.window_ns, 120'000);
  EXPECT_EQ(report.sum_ns, 119'000);
  EXPECT_EQ(report.busy_ns, 104'000);
  EXPECT_EQ(report.idle_ns, 16'000);
  EXPECT_EQ(report.compute_ns, 80'000);
  EXPECT_EQ(report.exposed_comm_ns, 20'000);
  EXPECT_EQ(report.exposed_copy_ns, 4'000);
  EXPECT_EQ(report.compute_ns + report.exposed_comm_ns + report.exposed_copy_ns + report.idle_ns, report.window_ns);
  EXPECT_DOUBLE_EQ(report.coverage_records_frac.value(), 6.0 / 7);
  EXPECT_DOUBLE_EQ(report.coverage_sum_frac.value(), 115.0 / 119);
  EXPECT_DOUBLE_EQ(report.coverage_busy_frac.value(), 100.0 / 104);
  EXPECT_EQ(report.replays, 2U);
  EXPECT_EQ(report.records, 7U);
  EXPECT_EQ(report.window_start_ns, 0);
  EXPECT_EQ(report.window_end_ns, 120'000);
  EXPECT_THAT(report.comm_names, ElementsAre(HasSubstr("ncclDevKernel_AllReduce")));
}

TEST(Regions, WorkedExampleRows) {
  for (const RegionView view : {RegionView::pattern, RegionView::tree, RegionView::flat}) {
    RegionOptions options;
    options.view = view;
    const RegionReport report = analyze(worked_example(), options);
    const RegionRow& l = row_of(report, "L");
    EXPECT_EQ(l.total_ns, 100'000);
    EXPECT_EQ(l.sum_ns, 115'000);
    EXPECT_EQ(l.self_ns, 10'000);
    EXPECT_EQ(l.share_ns, 10'000);
    EXPECT_EQ(l.subtree_share_ns, 100'000);
    EXPECT_EQ(l.calls, 2U);
    EXPECT_DOUBLE_EQ(l.kernels_per_call.value(), 3);  // 4 and 2
    EXPECT_EQ(l.min_ns, 30'000);                      // replay 1: [80,100) and [110,120)
    EXPECT_EQ(l.max_ns, 70'000);                      // replay 0: [0,70)
    EXPECT_DOUBLE_EQ(l.mean_ns.value(), 50'000);
    EXPECT_DOUBLE_EQ(l.p50_ns.value(), 50'000);
    EXPECT_EQ(l.p95_ns, 70'000);
    EXPECT_EQ(l.level, 0);

    const RegionRow& q = row_of(report, "L.q");
    EXPECT_EQ(q.share_ns, 40'000);
    EXPECT_EQ(q.total_ns, 40'000);
    EXPECT_EQ(q.self_ns, 40'000);
    EXPECT_EQ(q.calls, 2U);
    EXPECT_DOUBLE_EQ(q.busy_frac.value(), 40.0 / 104);
    EXPECT_DOUBLE_EQ(q.wall_frac.value(), 40.0 / 120);
    EXPECT_EQ(q.level, 1);
    EXPECT_EQ(row_of(report, "L.o").share_ns, 15'000);
    EXPECT_EQ(row_of(report, "L.mlp").share_ns, 12'500);
    EXPECT_EQ(row_of(report, "L.ar").share_ns, 22'500);
    EXPECT_EQ(row_of(report, "L.ar").total_ns, 25'000);

    EXPECT_EQ(report.unattributed.share_ns, 4'000);
    EXPECT_EQ(report.unattributed.sum_ns, 4'000);
    EXPECT_EQ(report.unattributed.total_ns, 4'000);
    EXPECT_EQ(report.unattributed.calls, std::nullopt);
  }
}

TEST(Regions, RowsComeByShareAndTheTreeBySubtree) {
  EXPECT_THAT(names(analyze(worked_example())), ElementsAre("L.q", "L.ar", "L.o", "L.mlp", "L"));
  RegionOptions options;
  options.view = RegionView::tree;
  EXPECT_THAT(names(analyze(worked_example(), options)), ElementsAre("L", "L.q", "L.ar", "L.o", "L.mlp"));
}

TEST(Regions, CopiesHaveARateOverAllTheirBytesAndTime) {
  OperationTable example = worked_example();
  RegionReport report = analyze(std::move(example));
  ASSERT_EQ(report.copies.size(), 1U);
  EXPECT_EQ(report.copies[0].direction, "HtoD");
  EXPECT_EQ(report.copies[0].bytes, 48'000U);
  EXPECT_DOUBLE_EQ(report.copies[0].gb_per_s.value(), 12.0);

  OperationBuilder builder;
  builder.copy(70'000, 74'000, 7, 48'000, "Memcpy HtoD (Pinned -> Device)");
  builder.copy(80'000, 81'000, 7, 1'000, "Memcpy HtoD (Pageable -> Device)");
  builder.copy(90'000, 95'000, 7, 0, "Memcpy HtoD (Pageable -> Device)");  // its size is not known
  builder.copy(96'000, 97'000, 7, 10, "Memset (Device)").kind = OperationKind::memset;
  builder.copy(98'000, 98'500, 7, 0, "Memcpy");
  report = analyze(std::move(builder.table));
  ASSERT_EQ(report.copies.size(), 3U);
  EXPECT_EQ(report.copies[0].count, 3U);
  EXPECT_EQ(report.copies[0].sum_ns, 10'000);
  EXPECT_DOUBLE_EQ(report.copies[0].gb_per_s.value(), 9.8);
  EXPECT_EQ(report.copies[1].direction, "memset");
  EXPECT_EQ(report.copies[2].direction, "memcpy");
  EXPECT_EQ(report.copies[2].gb_per_s, std::nullopt);
}

TEST(Regions, PatternsFoldDigitsAlone) {
  OperationBuilder builder;
  const std::uint32_t replay = builder.replay(1);
  std::int64_t time_ns = 0;
  for (const char* name : {"layers.0.mlp", "layers.1.mlp", "layers.10.mlp", "layers.x1.mlp", "layers.2"}) {
    builder.kernel(time_ns, time_ns + 10, 7, replay, builder.region(name));
    time_ns += 10;
  }
  const RegionReport report = analyze(std::move(builder.table));
  EXPECT_THAT(names(report), ::testing::UnorderedElementsAre("layers", "layers.*", "layers.*.mlp", "layers.x1", "layers.x1.mlp"));
  const RegionRow& mlp = row_of(report, "layers.*.mlp");
  EXPECT_EQ(mlp.calls, 3U);  // pooled
  EXPECT_EQ(mlp.total_ns, 30);
  EXPECT_DOUBLE_EQ(mlp.mean_ns.value(), 10);
  EXPECT_EQ(row_of(report, "layers.*").calls, 4U);
  EXPECT_EQ(row_of(report, "layers.*").self_ns, 10);
  EXPECT_EQ(row_of(report, "layers").calls, 1U);
  EXPECT_EQ(row_of(report, "layers").max_ns, 50);
}

TEST(Regions, OutsideGraphsThereAreNoCalls) {
  OperationBuilder builder;
  const AnnotationId eager = builder.region("eager"), both = builder.region("both");
  const std::uint32_t replay = builder.replay(1);
  builder.kernel(0, 10, 7, kNoReplay, eager);
  builder.kernel(10, 30, 7, kNoReplay, both);
  builder.kernel(30, 40, 7, replay, both);
  const RegionReport report = analyze(std::move(builder.table));
  EXPECT_EQ(row_of(report, "eager").calls, std::nullopt);
  EXPECT_EQ(row_of(report, "eager").kernels_per_call, std::nullopt);
  EXPECT_EQ(row_of(report, "eager").p50_ns, std::nullopt);
  EXPECT_EQ(row_of(report, "eager").sum_ns, 10);
  EXPECT_EQ(row_of(report, "both").calls, 1U);
  EXPECT_DOUBLE_EQ(row_of(report, "both").kernels_per_call.value(), 1);
  EXPECT_EQ(row_of(report, "both").sum_ns, 30);
  EXPECT_EQ(row_of(report, "both").max_ns, 10);
}

TEST(Regions, PathsNestAndNamelessAnnotationsHaveARow) {
  OperationBuilder builder;
  const std::uint32_t replay = builder.replay(1);
  builder.kernel(0, 10, 7, replay, builder.annotation(Json{{"name", "attention"}}, {"decoder", "attention"}));
  builder.kernel(10, 15, 7, replay, builder.annotation(Json{{"bs", 8}}));
  const RegionReport report = analyze(std::move(builder.table));
  EXPECT_THAT(names(report), ::testing::UnorderedElementsAre("decoder", "decoder.attention", kNoNameRegion));
  EXPECT_DOUBLE_EQ(report.coverage_records_frac.value(), 1);
  EXPECT_EQ(report.unattributed.share_ns, 0);
}

TEST(Regions, DepthLeavesWorkToTheAncestor) {
  RegionOptions options;
  options.depth = 1;
  const RegionReport report = analyze(worked_example(), options);
  EXPECT_THAT(names(report), ElementsAre("L"));
  EXPECT_EQ(report.rows[0].self_ns, 115'000);
  EXPECT_EQ(report.rows[0].share_ns, 100'000);
  EXPECT_EQ(report.rows[0].calls, 2U);
}

TEST(Regions, IncludeAndExcludeChooseRowsAndChangeNoMeasure) {
  RegionOptions options;
  options.include = "^L\\.";
  options.exclude = "ar$|mlp";
  const RegionReport report = analyze(worked_example(), options);
  EXPECT_THAT(names(report), ElementsAre("L.q", "L.o"));
  EXPECT_EQ(report.rows[1].share_ns, 15'000);
  EXPECT_EQ(report.busy_ns, 104'000);
  EXPECT_EQ(report.unattributed.share_ns, 4'000);
}

TEST(Regions, IncludePoolsOnlyMembersThatMatch) {
  OperationBuilder builder;
  const std::uint32_t replay = builder.replay(1);
  builder.kernel(0, 10, 7, replay, builder.region("layers.0"));
  builder.kernel(10, 30, 7, replay, builder.region("layers.1"));
  RegionOptions options;
  options.include = "s\\.1";
  const RegionReport report = analyze(std::move(builder.table), options);
  ASSERT_THAT(names(report), ElementsAre("layers.*"));
  EXPECT_EQ(report.rows[0].calls, 1U);
  EXPECT_EQ(report.rows[0].sum_ns, 20);
  EXPECT_EQ(report.rows[0].share_ns, 20);
}

OperationTable two_batch_sizes() {
  OperationBuilder builder;
  const std::uint32_t small = builder.replay(1), large = builder.replay(2), small_again = builder.replay(1);
  const AnnotationId bs1 = builder.annotation(Json{{"name", "mlp"}, {"bs", 1}});
  const AnnotationId bs8 = builder.annotation(Json{{"name", "mlp"}, {"bs", 8}, {"autograd_phase", "backward"}});
  builder.kernel(0, 10, 7, small, bs1);
  builder.kernel(20, 50, 8, large, bs8);
  builder.kernel(60, 75, 7, small_again, bs1);
  builder.copy(80, 82, 7, 4, "Memcpy DtoH (Device -> Pinned)");
  return std::move(builder.table);
}

TEST(Regions, BySplitsRows) {
  RegionOptions options;
  options.by = {"bs", "phase", "graph", "stream", "device", "kind"};
  const RegionReport report = analyze(two_batch_sizes(), options);
  ASSERT_EQ(report.rows.size(), 2U);
  EXPECT_EQ(report.rows[0].share_ns, 30);
  EXPECT_THAT(
      report.rows[0].by,
      ElementsAre(std::pair<std::string, std::string>{"bs", "8"}, std::pair<std::string, std::string>{"phase", "\"bwd\""},
                  std::pair<std::string, std::string>{"graph", "2"}, std::pair<std::string, std::string>{"stream", "8"},
                  std::pair<std::string, std::string>{"device", "0"}, std::pair<std::string, std::string>{"kind", "\"kernel\""}));
  EXPECT_EQ(report.rows[1].calls, 2U);
  EXPECT_EQ(report.rows[1].by[0].second, "1");
  EXPECT_EQ(report.rows[1].by[1].second, "\"fwd\"");
}

TEST(Regions, WhereSelectsAsIfNothingElseWereThere) {
  const auto busy_where = [](std::vector<std::pair<std::string, std::string>> where) {
    RegionOptions options;
    options.where = std::move(where);
    return analyze(two_batch_sizes(), options).busy_ns;
  };
  EXPECT_EQ(busy_where({{"bs", "8"}}), 30);
  EXPECT_EQ(busy_where({{"bs", "1"}}), 25);
  EXPECT_EQ(busy_where({{"phase", "bwd"}}), 30);
  EXPECT_EQ(busy_where({{"phase", "fwd"}}), 27);
  EXPECT_EQ(busy_where({{"graph", "1"}}), 25);
  EXPECT_EQ(busy_where({{"stream", "8"}}), 30);
  EXPECT_EQ(busy_where({{"kind", "memcpy"}}), 2);
  EXPECT_EQ(busy_where({{"name", "mlp"}, {"stream", "7"}}), 25);
  EXPECT_EQ(busy_where({{"device", "1"}}), 0);
  RegionOptions options;
  options.where = {{"bs", "1"}};
  EXPECT_EQ(analyze(two_batch_sizes(), options).window_ns, 75);
}

TEST(Regions, KindAndSkippedReplays) {
  RegionOptions options;
  options.kind = OperationKind::memcpy;
  EXPECT_EQ(analyze(two_batch_sizes(), options).busy_ns, 2);
  options = {};
  options.skip_replays = 1;  // of each graph
  const RegionReport report = analyze(two_batch_sizes(), options);
  EXPECT_EQ(report.replays, 1U);
  EXPECT_EQ(report.busy_ns, 17);
  EXPECT_EQ(report.window_ns, 22);  // from the first record that is left
}

TEST(Regions, WindowClips) {
  RegionOptions options;
  options.window_ns = {{5, 62}};
  OperationBuilder builder;
  builder.table = two_batch_sizes();
  for (GpuOperation& operation : builder.table.operations) {  // the window is relative to the first record
    operation.start_ns += 1'000;
    operation.end_ns += 1'000;
  }
  const RegionReport report = analyze(std::move(builder.table), options);
  EXPECT_EQ(report.window_ns, 57);
  EXPECT_EQ(report.busy_ns, 5 + 30 + 2);
  EXPECT_EQ(report.records, 3U);
  EXPECT_TRUE(report.copies.empty());
}

TEST(Regions, AWindowWithAnOpenEndHasTheTracesLastInstant) {
  const auto records_in = [](std::int64_t start_ns, std::int64_t end_ns) {
    OperationBuilder builder;
    const std::uint32_t replay = builder.replay(1);
    builder.kernel(0, 10, 7, replay, builder.region("a"));
    builder.kernel(10, 10, 7, replay, builder.region("instant"));
    RegionOptions options;
    options.window_ns = {{start_ns, end_ns}};
    return analyze(std::move(builder.table), options).records;
  };
  EXPECT_EQ(records_in(0, kWindowOpen), 2U);
  EXPECT_EQ(records_in(10, kWindowOpen), 1U);
  EXPECT_EQ(records_in(11, kWindowOpen), 0U);
  EXPECT_EQ(records_in(0, 10), 1U);  // half-open
  EXPECT_EQ(records_in(0, 11), 2U);
}

TEST(Regions, WindowBeyondTheRecordsIsIdle) {
  RegionOptions options;
  options.window_ns = {{100'000, 1'000'000}};
  const RegionReport report = analyze(worked_example(), options);
  EXPECT_EQ(report.window_ns, 900'000);
  EXPECT_EQ(report.busy_ns, 10'000);
  EXPECT_THAT(names(report), ElementsAre("L"));
}

TEST(Regions, DevicesAddUp) {
  OperationBuilder builder;
  const std::uint32_t first = builder.replay(1), second = builder.replay(1);
  const AnnotationId mlp = builder.region("mlp");
  builder.set_device(builder.kernel(100, 110, 7, first, mlp), 0);
  builder.set_device(builder.kernel(130, 140, 7, first, mlp), 0);
  builder.set_device(builder.kernel(0, 25, 7, second, mlp), 1);
  const RegionReport report = analyze(std::move(builder.table));
  EXPECT_EQ(report.window_ns, 40 + 25);
  EXPECT_EQ(report.busy_ns, 20 + 25);
  EXPECT_EQ(report.idle_ns, 20);
  EXPECT_EQ(report.devices, 2U);
  EXPECT_EQ(report.rows[0].total_ns, 45);
  EXPECT_EQ(report.rows[0].calls, 2U);
}

TEST(Regions, TheRemainderOfAnInstantGoesToTheRecordThatStartedFirst) {
  OperationBuilder builder;
  const std::uint32_t replay = builder.replay(1);
  builder.kernel(0, 11, 7, replay, builder.region("a"));
  builder.kernel(3, 14, 8, replay, builder.region("b"));
  builder.kernel(4, 11, 9, replay, builder.region("c"));
  const RegionReport report = analyze(std::move(builder.table));
  // [0,3) a 3; [3,4) one ns over two: a 1; [4,11) 7 over three: 2 each and 1 for a; [11,14) b 3.
  EXPECT_EQ(row_of(report, "a").share_ns, 3 + 1 + 2 + 1);
  EXPECT_EQ(row_of(report, "b").share_ns, 2 + 3);
  EXPECT_EQ(row_of(report, "c").share_ns, 2);
}

TEST(Regions, RecordsWithoutLengthCountButTakeNoTime) {
  OperationBuilder builder;
  const std::uint32_t replay = builder.replay(1);
  builder.kernel(10, 10, 7, replay, builder.region("instant"));
  const RegionReport report = analyze(std::move(builder.table));
  EXPECT_EQ(report.window_ns, 0);
  EXPECT_EQ(report.rows[0].calls, 1U);
  EXPECT_EQ(report.rows[0].max_ns, 0);
  EXPECT_EQ(report.rows[0].wall_frac, std::nullopt);
  EXPECT_EQ(report.coverage_busy_frac, std::nullopt);
}

TEST(Regions, EmptyTable) {
  const RegionReport report = analyze(OperationTable{});
  EXPECT_TRUE(report.rows.empty());
  EXPECT_EQ(report.window_ns, 0);
  EXPECT_EQ(report.coverage_records_frac, std::nullopt);
}

TEST(Regions, TimesAtTheLimitsDoNotOverflow) {
  OperationBuilder builder;
  const std::uint32_t replay = builder.replay(1);
  const AnnotationId a = builder.region("a");
  for (int i = 0; i < 4; ++i) builder.kernel(INT64_MIN + i, INT64_MAX - i, i, replay, a);
  const RegionReport report = analyze(std::move(builder.table));
  EXPECT_EQ(report.busy_ns, INT64_MAX - 1);  // from -2^62 + 1 to 2^62 - 1
  EXPECT_EQ(report.sum_ns, INT64_MAX);
  EXPECT_EQ(report.rows[0].share_ns, report.busy_ns);
}

// A cost that grows with the square of what is active would take minutes here.
TEST(Regions, AHundredThousandRecordsMayOverlap) {
  constexpr std::int64_t kRecords = 100'000;
  OperationBuilder builder;
  const std::uint32_t replay = builder.replay(1);
  const AnnotationId even = builder.region("even"), odd = builder.region("odd");
  // Record i is active in [i, 2n - 1 - i): k are active in the k-th ns from either end, up to all n in the middle one.
  for (std::int64_t i = 0; i < kRecords; ++i) builder.kernel(i, 2 * kRecords - 1 - i, 7, replay, i % 2 == 0 ? even : odd);
  const RegionReport report = analyze(std::move(builder.table));
  EXPECT_EQ(report.busy_ns, 2 * kRecords - 1);
  EXPECT_EQ(report.sum_ns, kRecords * kRecords);  // 1 + 3 + 5 + ...
  // No stretch of 1 ns divides by more than one record, so all but nothing goes to the record that started first.
  EXPECT_EQ(row_of(report, "even").share_ns, 2 * kRecords - 1);
  EXPECT_EQ(row_of(report, "odd").share_ns, 0);
  EXPECT_EQ(row_of(report, "odd").total_ns, 2 * kRecords - 3);
}

TEST(Regions, FiftyThousandReplaysMayBeOpenAtOneTime) {
  constexpr std::uint32_t kReplays = 50'000;
  OperationBuilder builder;
  const AnnotationId a = builder.region("a");
  for (std::uint32_t i = 0; i < kReplays; ++i) builder.kernel(i, i + 1, 7, builder.replay(i + 1), a);
  for (std::uint32_t i = 0; i < kReplays; ++i) builder.kernel(kReplays + i, kReplays + i + 1 + i % 2, 7, i, a);
  const RegionReport report = analyze(std::move(builder.table));
  ASSERT_EQ(names(report), std::vector<std::string>{"a"});
  EXPECT_EQ(report.rows[0].calls, kReplays);
  EXPECT_EQ(report.rows[0].min_ns, 2);
  EXPECT_EQ(report.rows[0].max_ns, 3);
  EXPECT_DOUBLE_EQ(report.rows[0].p50_ns.value(), 2.5);
  EXPECT_DOUBLE_EQ(report.rows[0].kernels_per_call.value(), 2);
}

TEST(Regions, CallsOfManySecondsAreExact) {
  OperationBuilder builder;
  const AnnotationId a = builder.region("a");
  const std::vector<std::int64_t> lengths_ns = {4'294'967'294, 4'294'967'295, 4'294'967'296, 9'000'000'000'000, 5};
  std::int64_t now_ns = 0;
  for (const std::int64_t length_ns : lengths_ns) {
    builder.kernel(now_ns, now_ns + length_ns, 7, builder.replay(1), a);
    now_ns += length_ns;
  }
  const RegionReport report = analyze(std::move(builder.table));
  EXPECT_EQ(report.rows[0].min_ns, 5);
  EXPECT_DOUBLE_EQ(report.rows[0].p50_ns.value(), 4'294'967'295.0);
  EXPECT_EQ(report.rows[0].p95_ns, 9'000'000'000'000);
  EXPECT_EQ(report.rows[0].max_ns, 9'000'000'000'000);
  EXPECT_DOUBLE_EQ(report.rows[0].mean_ns.value(), 9'012'884'901'890.0 / 5);
}

// The middle two of an even number; rank ceil(0.95 n).
TEST(Regions, StatisticsOfCalls) {
  const auto row_of_calls = [](const std::vector<std::int64_t>& lengths_ns) {
    OperationBuilder builder;
    const AnnotationId a = builder.region("a");
    std::int64_t now_ns = 0;
    for (const std::int64_t length_ns : lengths_ns) {
      builder.kernel(now_ns, now_ns + length_ns, 7, builder.replay(1), a);
      now_ns += 1'000;
    }
    return analyze(std::move(builder.table)).rows.at(0);
  };
  const RegionRow five = row_of_calls({1, 2, 3, 4, 100});
  EXPECT_DOUBLE_EQ(five.mean_ns.value(), 22);
  EXPECT_DOUBLE_EQ(five.p50_ns.value(), 3);
  EXPECT_EQ(five.p95_ns, 100);
  EXPECT_DOUBLE_EQ(row_of_calls({10, 1, 4, 3}).p50_ns.value(), 3.5);
  std::vector<std::int64_t> hundred;
  for (std::int64_t i = 100; i > 0; --i) hundred.push_back(i);
  EXPECT_EQ(row_of_calls(hundred).p95_ns, 95);
  hundred.push_back(101);
  EXPECT_EQ(row_of_calls(hundred).p95_ns, 96);
}

TEST(Regions, ANameOfAMillionDotsStaysBounded) {
  OperationBuilder builder;
  std::string name;
  for (int i = 0; i < 1'000'000; ++i) name += "a.";
  builder.kernel(0, 10, 7, builder.replay(1), builder.region(name + "end"));
  const RegionReport report = analyze(std::move(builder.table));
  EXPECT_EQ(report.rows.size(), kMaxRegionDepth);
  EXPECT_EQ(report.rows[0].region, name + "end");
}

TEST(Regions, ShortReplaysAreCounted) {
  EXPECT_EQ(analyze(worked_example()).short_replays, 1U);  // 2 of the 4 nodes that replay 0 shows
}

TEST(Regions, WrongOptionsAreErrors) {
  RegionOptions options;
  options.include = "(";
  EXPECT_THAT(error_of(worked_example(), options), HasSubstr("--include '(' is no regular expression"));
  options = {};
  options.comm = "*";
  EXPECT_THAT(error_of(worked_example(), options), HasSubstr("--comm"));
  options = {};
  options.depth = 0;
  EXPECT_THAT(error_of(worked_example(), options), HasSubstr("--depth"));
  options = {};
  options.window_ns = {{2, 1}};
  EXPECT_THAT(error_of(worked_example(), options), HasSubstr("--window"));
  options = {};
  options.by = {"bss"};
  EXPECT_THAT(error_of(two_batch_sizes(), options), HasSubstr("--by 'bss'"));
  options = {};
  options.where = {{"bss", "8"}};
  EXPECT_THAT(error_of(two_batch_sizes(), options), HasSubstr("--where 'bss'"));
}

TEST(Regions, AnExpressionThatCostsTooMuchIsAnErrorNotAHang) {
  OperationBuilder builder;
  builder.kernel(0, 10, 7, builder.replay(1), builder.region(std::string(4'000, 'a') + "!"));
  RegionOptions options;
  options.include = "(a*)*(a*)*(a*)*$b";
  EXPECT_THAT(error_of(std::move(builder.table), options), HasSubstr("costs too much"));
}

}  // namespace
}  // namespace graphtag
