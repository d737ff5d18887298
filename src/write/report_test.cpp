#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/support/operation_builder.h"
#include "write/report_check.h"
#include "write/report_regions.h"

namespace graphtag {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::OperationBuilder;
using testing::worked_example;

const ReportContext kContext{"graphtag 0.1.0", {{"e.json.gz", std::string(64, 'a')}, {"e.pkl", {}}}, {}};

ReportStyle style_of(TableFormat format) {
  ReportStyle style;
  style.format = format;
  return style;
}

Result<Rendered> report_result(OperationTable table, const ReportStyle& style, const RegionOptions& options = {}) {
  Result<RegionReport> report = analyze_regions(table, options);
  if (!report) return report.error();
  return render_report(*report, table, kContext, style);
}

Rendered report(OperationTable table, const ReportStyle& style, const RegionOptions& options = {}) {
  Result<Rendered> rendered = report_result(std::move(table), style, options);
  EXPECT_TRUE(rendered.ok()) << (rendered.ok() ? "" : rendered.error().to_string());
  return rendered.ok() ? std::move(*rendered) : Rendered{};
}

Json json_report(OperationTable table, const RegionOptions& options = {}, ReportStyle style = style_of(TableFormat::json)) {
  Result<Json> json = parse_json(report(std::move(table), style, options).text);
  EXPECT_TRUE(json.ok());
  return json.ok() ? std::move(*json) : Json();
}

Rendered check(OperationTable table, const ReportStyle& style, std::optional<double> min_time = {}) {
  CheckOptions options;
  options.min_time = min_time;
  const CheckReport report = check_operations(table, options).value();
  Result<Rendered> rendered = render_check(report, table, kContext, style);
  EXPECT_TRUE(rendered.ok());
  return rendered.ok() ? std::move(*rendered) : Rendered{};
}

std::vector<std::string> keys(const Json& object) {
  std::vector<std::string> keys;
  for (const auto& member : object.items()) keys.push_back(member.key());
  return keys;
}

// The worked example of docs/report.md, every column.
TEST(ReportRegions, WorkedExampleAsTable) {
  ReportStyle style = style_of(TableFormat::table);
  style.terminal.wide = true;
  EXPECT_EQ(
      report(worked_example(), style).text,
      "trace: e.json.gz\n"
      "annotations: e.pkl\n"
      "GPU: 0\n"
      "window: 120 us (+0 ns to +120 us); 2 replays, 7 GPU records\n"
      "busy: 86.7% of the window; compute 66.7% + exposed communication 16.7% + exposed copies 3.3% + idle 13.3%\n"
      "named: 85.7% of records, 96.6% of their time, 96.2% of busy time\n"
      "warning: 1 of 2 replays show fewer nodes than expected: records were dropped, so idle time and overlap are unreliable\n"
      "\n"
      "region        calls  kernels/call  total us  sum us  self us  %busy  %wall  mean us  p50 us  p95 us  min us  max us\n"
      "───────────────────────────────────────────────────────────────────────────────────────────────────────────────────\n"
      "L.q               2             1      40.0    40.0     40.0   38.5   33.3    20.00   20.00   20.00   20.00   20.00\n"
      "L.ar              1             1      25.0    25.0     25.0   21.6   18.8    25.00   25.00   25.00   25.00   25.00\n"
      "L.o               1             1      20.0    20.0     20.0   14.4   12.5    20.00   20.00   20.00   20.00   20.00\n"
      "L.mlp             1             1      20.0    20.0     20.0   12.0   10.4    20.00   20.00   20.00   20.00   20.00\n"
      "L                 2             3     100.0   115.0     10.0    9.6    8.3    50.00   50.00   70.00   30.00   70.00\n"
      "───────────────────────────────────────────────────────────────────────────────────────────────────────────────────\n"
      "unattributed                            4.0     4.0      4.0    3.8    3.3\n"
      "idle                                   16.0                           13.3\n"
      "classed as communication (--comm): ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)\n"
      "\n"
      "copies  count     kB  sum us  GB/s\n"
      "──────────────────────────────────\n"
      "HtoD        1  48.00   4.000    12\n");
}

TEST(ReportRegions, WorkedExampleAsTsv) {
  const Rendered rendered = report(worked_example(), style_of(TableFormat::tsv));
  EXPECT_EQ(
      rendered.text,
      "region\tcalls\tkernels_per_call\ttotal_ns\tsum_ns\tself_ns\tshare_ns\tbusy_frac\twall_frac\tmean_ns\tp50_ns\tp95_ns\tmin_"
      "ns\tmax_ns\n"
      "L.q\t2\t1\t40000\t40000\t40000\t40000\t0.38461538461538464\t0.3333333333333333\t20000\t20000\t20000\t20000\t20000\n"
      "L.ar\t1\t1\t25000\t25000\t25000\t22500\t0.21634615384615385\t0.1875\t25000\t25000\t25000\t25000\t25000\n"
      "L.o\t1\t1\t20000\t20000\t20000\t15000\t0.14423076923076922\t0.125\t20000\t20000\t20000\t20000\t20000\n"
      "L.mlp\t1\t1\t20000\t20000\t20000\t12500\t0.1201923076923077\t0.10416666666666667\t20000\t20000\t20000\t20000\t20000\n"
      "L\t2\t3\t100000\t115000\t10000\t10000\t0.09615384615384616\t0.08333333333333333\t50000\t50000\t70000\t30000\t70000\n");
  EXPECT_THAT(rendered.notes,
              AllOf(HasSubstr("named: 85.7% of records"), HasSubstr("warning: 1 of 2 replays"), HasSubstr("idle: 16 us")));
}

TEST(ReportRegions, TheTreeIsIndentedAndShowsTheRestOfTheName) {
  ReportStyle style = style_of(TableFormat::table);
  style.columns = {"region", "%wall"};
  RegionOptions options;
  options.view = RegionView::tree;
  EXPECT_THAT(report(worked_example(), style, options).text, HasSubstr("L               8.3\n"
                                                                       "  q            33.3\n"
                                                                       "  ar           18.8\n"));
  style.format = TableFormat::tsv;
  EXPECT_THAT(report(worked_example(), style, options).text, HasSubstr("L.ar\t0.1875\n"));
}

TEST(ReportRegions, FooterMakesWallSumUp) {
  ReportStyle style = style_of(TableFormat::md);
  style.top = 2;
  style.columns = {"region", "wall"};
  RegionOptions options;
  options.exclude = "mlp";
  // 33.3 + 18.75 shown; o, L and the hidden mlp: (15 + 10 + 12.5) / 120
  EXPECT_THAT(report(worked_example(), style, options).text, HasSubstr("| `L.q` | 33.3 |\n"
                                                                       "| `L.ar` | 18.8 |\n"
                                                                       "| others (2 rows) | 31.2 |\n"
                                                                       "| unattributed | 3.3 |\n"
                                                                       "| idle | 13.3 |\n"));
}

TEST(ReportRegions, SortTopAndLeastShare) {
  const auto regions = [](const ReportStyle& style) {
    std::vector<std::string> names;
    const Json root = json_report(worked_example(), {}, style);
    for (const Json& row : root["rows"]) names.push_back(row["region"]);
    return names;
  };
  ReportStyle style = style_of(TableFormat::json);
  style.sort = "total";
  EXPECT_THAT(regions(style), ElementsAre("L", "L.q", "L.ar", "L.mlp", "L.o"));
  style.sort = "p50:asc";
  EXPECT_THAT(regions(style), ElementsAre("L.mlp", "L.o", "L.q", "L.ar", "L"));
  style.sort = "region";
  EXPECT_THAT(regions(style), ElementsAre("L", "L.ar", "L.mlp", "L.o", "L.q"));
  style.sort = "region:desc";
  style.top = 2;
  EXPECT_THAT(regions(style), ElementsAre("L.q", "L.o"));
  style = style_of(TableFormat::json);
  style.min_percent = 14;
  EXPECT_THAT(regions(style), ElementsAre("L.q", "L.ar", "L.o"));
}

TEST(ReportRegions, UnknownColumnsAreErrors) {
  ReportStyle style = style_of(TableFormat::table);
  style.sort = "speed";
  Result<Rendered> rendered = report_result(worked_example(), style);
  ASSERT_FALSE(rendered.ok());
  EXPECT_THAT(rendered.error().message, AllOf(HasSubstr("--sort 'speed'"), HasSubstr("region, calls, kernels_per_call, total")));
  style.sort.clear();
  style.columns = {"region", "nope"};
  rendered = report_result(worked_example(), style);
  ASSERT_FALSE(rendered.ok());
  EXPECT_THAT(rendered.error().message, HasSubstr("--columns 'nope'"));
}

// The names are a contract: scripts read them.
TEST(ReportRegions, JsonContract) {
  const Json root = json_report(worked_example());
  EXPECT_EQ(root["schema"], "graphtag.report/1");
  EXPECT_EQ(root["tool"], "graphtag 0.1.0");
  EXPECT_EQ(root["inputs"][0]["path"], "e.json.gz");
  EXPECT_EQ(root["inputs"][0]["sha256"], std::string(64, 'a'));
  EXPECT_TRUE(root["inputs"][1]["sha256"].is_null());
  EXPECT_EQ(root["base_ns"], "0");
  EXPECT_EQ(root["warnings"][0]["code"], "short-replays");
  EXPECT_EQ(root["warnings"][0]["affects"][0], "idle_ns");
  const Json& totals = root["totals"];
  EXPECT_EQ(totals["window_ns"], 120'000);
  EXPECT_EQ(totals["sum_ns"], 119'000);
  EXPECT_EQ(totals["busy_ns"], 104'000);
  EXPECT_EQ(totals["idle_ns"], 16'000);
  EXPECT_EQ(totals["exposed_comm_ns"], 20'000);
  EXPECT_EQ(totals["exposed_copy_ns"], 4'000);
  EXPECT_EQ(totals["compute_ns"], 80'000);
  EXPECT_DOUBLE_EQ(totals["coverage"]["records_frac"].get<double>(), 6.0 / 7);
  EXPECT_DOUBLE_EQ(totals["coverage"]["sum_frac"].get<double>(), 115.0 / 119);
  EXPECT_DOUBLE_EQ(totals["coverage"]["busy_frac"].get<double>(), 100.0 / 104);
  EXPECT_EQ(totals["replays"], 2);
  EXPECT_EQ(totals["bad_events"], 0);
  EXPECT_EQ(totals["problems"], Json::array());
  ASSERT_EQ(root["rows"].size(), 5U);
  EXPECT_THAT(keys(root["rows"][0]),
              ElementsAre("region", "calls", "kernels_per_call", "total_ns", "sum_ns", "self_ns", "share_ns", "busy_frac",
                          "wall_frac", "mean_ns", "p50_ns", "p95_ns", "min_ns", "max_ns"));
  const Json& l = root["rows"][4];
  EXPECT_EQ(
      l, Json::parse(
             R"({"region":"L","calls":2,"kernels_per_call":3,"total_ns":100000,"sum_ns":115000,"self_ns":10000,"share_ns":10000,
                               "busy_frac":0.09615384615384616,"wall_frac":0.08333333333333333,"mean_ns":50000,"p50_ns":50000,"p95_ns":70000,
                               "min_ns":30000,"max_ns":70000})"));
  EXPECT_EQ(root["copies"][0]["gb_per_s"], 12);
}

TEST(ReportRegions, JsonOfWorkOutsideGraphsHasNullsAndKeysOfBy) {
  OperationBuilder builder;
  builder.kernel(0, 10, 7, kNoReplay, builder.annotation(Json{{"name", "eager"}, {"bs", 8}, {"calls", "many"}}));
  RegionOptions options;
  options.by = {"bs", "calls", "phase"};
  const Json root = json_report(std::move(builder.table), options);
  const Json& row = root["rows"][0];
  EXPECT_TRUE(row["calls"].is_null());
  EXPECT_TRUE(row["p50_ns"].is_null());
  EXPECT_EQ(row["bs"], 8);
  EXPECT_EQ(row["annotation.calls"], "many");
  EXPECT_EQ(row["phase"], "fwd");
}

TEST(ReportRegions, ProblemsOfTheTraceAreReported) {
  OperationTable table = worked_example();
  table.read.info.base_time_ns = 1'790'857'026'000'000'000;
  table.operations[0].start_ns = -5;
  table.read.problems.add(ProblemKind::unparsable_event, 1234, "{\"name\": \x01");
  table.read.problems.add(ProblemKind::invalid_utf8, 99, "x");
  table.bad_times = 2;
  const Json root = json_report(std::move(table));
  EXPECT_EQ(root["base_ns"], "1790857025999999995");
  EXPECT_EQ(root["totals"]["bad_events"], 1);
  EXPECT_EQ(root["totals"]["problems"][0]["kind"], "invalid-utf8");
  const Json& bad = root["totals"]["problems"][1];
  EXPECT_EQ(bad["kind"], "unparsable-event");
  EXPECT_EQ(bad["count"], 1);
  EXPECT_EQ(bad["first_offset"], 1234);
  EXPECT_TRUE(bad["example"].is_string());
  std::vector<std::string> codes;
  for (const Json& warning : root["warnings"]) codes.push_back(warning["code"]);
  EXPECT_THAT(codes, ElementsAre("short-replays", "bad-events", "bad-times"));
}

// JSON escapes what must be: nothing is escaped before.
TEST(ReportRegions, TextsInJsonAreAsTheyAre) {
  const std::string text = "a\n\t\x1b\\b.pkl";
  OperationTable table;
  table.passed_over = {text};
  table.read.problems.add(ProblemKind::unparsable_event, 0, text);
  ReportContext context;
  context.inputs = {{"traces/" + text, std::nullopt}, {"annotations/" + text, "0f5c"}};
  const Result<RegionReport> measured = analyze_regions(table, {});
  ASSERT_TRUE(measured.ok());
  const Result<Rendered> rendered = render_report(*measured, table, context, style_of(TableFormat::json));
  ASSERT_TRUE(rendered.ok());
  const Json root = Json::parse(rendered->text);
  EXPECT_EQ(root["inputs"], Json::parse(R"([{"path":"traces/a\n\t\u001b\\b.pkl","sha256":null},
                                           {"path":"annotations/a\n\t\u001b\\b.pkl","sha256":"0f5c"}])"));
  const auto ends_with_text = [&text](const Json& value) { return value.get<std::string>().ends_with(text); };
  EXPECT_TRUE(std::any_of(root["warnings"].begin(), root["warnings"].end(),
                          [&](const Json& warning) { return ends_with_text(warning["message"]); }));
}

TEST(ReportRegions, NothingToReport) {
  const Json root = json_report(OperationTable{});
  EXPECT_EQ(root["rows"], Json::array());
  EXPECT_EQ(root["warnings"][0]["code"], "no-gpu-records");
  EXPECT_TRUE(root["totals"]["coverage"]["sum_frac"].is_null());
  EXPECT_THAT(report(OperationTable{}, style_of(TableFormat::table)).text,
              AllOf(HasSubstr("named: n/a of records"), HasSubstr("idle")));
}

TEST(ReportRegions, HostileNamesInEveryFormat) {
  const std::string name = std::string("evil\x1b]0;t\x07\t\"quoted\",|`x`</script>\n") + std::string(100'000, 'z');
  for (const TableFormat format : {TableFormat::table, TableFormat::tsv, TableFormat::csv, TableFormat::json, TableFormat::md}) {
    for (const bool utf8 : {false, true}) {
      OperationBuilder builder;
      builder.kernel(0, 10, 7, builder.replay(1), builder.region(name), "nccl\x1b[2J\n");
      builder.copy(20, 30, 7, 1, "Memcpy \x1b[2J (x)");
      ReportStyle style = style_of(format);
      style.terminal.utf8 = utf8;
      const Rendered rendered = report(std::move(builder.table), style);
      EXPECT_THAT(rendered.text, AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("\x07")), HasSubstr("evil")));
      EXPECT_THAT(rendered.notes, Not(HasSubstr("\x1b")));
    }
  }
}

TEST(ReportCheck, WorkedExampleAsTable) {
  ReportStyle style = style_of(TableFormat::table);
  style.terminal.utf8 = false;
  style.terminal.wide = true;
  EXPECT_EQ(
      check(worked_example(), style, 0.95).text,
      "trace: e.json.gz\n"
      "annotations: e.pkl\n"
      "GPU: 0\n"
      "named: 85.7% of records, 96.6% of their time, 96.2% of busy time\n"
      "warning: 1 of 2 replays show fewer nodes than expected: records were dropped, so idle time and overlap are unreliable\n"
      "\n"
      "  graph  label  replays  expected  seen min  max  short  records  named  %records  %time  ambiguous  unnamed\n"
      "------------------------------------------------------------------------------------------------------------\n"
      "      5  -            2         4         2    4      1        6      6     100.0  100.0          0  -\n"
      "------------------------------------------------------------------------------------------------------------\n"
      "outside                                                        1      0       0.0    0.0\n"
      "--min-time 95.00%: cannot judge, records are missing: 1 of 2 replays show fewer nodes than expected\n");
}

TEST(ReportCheck, JsonContract) {
  OperationTable table = worked_example();
  table.operations[1].annotation = AnnotationId::none;
  table.operations[1].origin = Origin::outside_scope;
  table.read.problems.add(ProblemKind::not_an_object, 7, "3");
  Result<Json> root = parse_json(check(std::move(table), style_of(TableFormat::json)).text);
  ASSERT_TRUE(root.ok());
  EXPECT_EQ((*root)["schema"], "graphtag.check/1");
  EXPECT_EQ((*root)["totals"]["bad_events"], 1);
  EXPECT_EQ((*root)["totals"]["problems"][0]["kind"], "not-an-object");
  const Json& row = (*root)["rows"][0];
  EXPECT_EQ(row["graph"], 5);
  EXPECT_TRUE(row["label"].is_null());
  EXPECT_EQ(row["replays"], 2);
  EXPECT_EQ(row["nodes_expected"], 4);
  EXPECT_EQ(row["nodes_seen_min"], 2);
  EXPECT_EQ(row["nodes_seen_max"], 4);
  EXPECT_EQ(row["named"], 5);
  EXPECT_EQ(row["unnamed"], Json::parse(R"({"outside-scope":1})"));
  EXPECT_TRUE((*root)["verdict"].is_null());
}

}  // namespace
}  // namespace graphtag
