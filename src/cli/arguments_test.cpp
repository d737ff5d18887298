#include "cli/arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "cli/exit_code.h"

namespace graphtag::cli {
namespace {

std::variant<Arguments, int> parse(std::vector<const char*> words) {
  words.insert(words.begin(), "graphtag");
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  auto parsed = parse_arguments(static_cast<int>(words.size()), words.data());
  testing::internal::GetCapturedStdout();
  testing::internal::GetCapturedStderr();
  return parsed;
}

template <typename Verb>
Verb parse_as(std::vector<const char*> words) {
  auto parsed = parse(std::move(words));
  EXPECT_TRUE(std::holds_alternative<Arguments>(parsed));
  return std::get<Verb>(std::get<Arguments>(parsed).verb);
}

int exit_code(std::vector<const char*> words) {
  const auto parsed = parse(std::move(words));
  EXPECT_TRUE(std::holds_alternative<int>(parsed));
  return std::holds_alternative<int>(parsed) ? std::get<int>(parsed) : -1;
}

using testing::ElementsAre;
using testing::Pair;

TEST(Arguments, Run) {
  const auto plain = parse_as<RunArguments>({"run", "--", "app", "-o", "its own"});
  EXPECT_THAT(plain.command, ElementsAre("app", "-o", "its own"));
  EXPECT_EQ(plain.out, "");
  EXPECT_EQ(plain.delay_ms, 0);
  EXPECT_FALSE(plain.duration_ms);
  EXPECT_FALSE(plain.no_api);
  const auto full =
      parse_as<RunArguments>({"run", "-o", "x.pftrace", "--duration", "1.5s", "--delay", "2", "--start-on", "nvtx:a b",
                              "--no-api", "--max-size", "2M", "--buffers", "8x64K", "--nvtx-domains", "A,B", "--", "app"});
  EXPECT_THAT(full.command, ElementsAre("app"));
  EXPECT_EQ(full.out, "x.pftrace");
  EXPECT_EQ(full.duration_ms, 1500);
  EXPECT_EQ(full.delay_ms, 2000);
  EXPECT_EQ(full.start_on, "nvtx:a b");
  EXPECT_TRUE(full.no_api);
  EXPECT_EQ(full.max_bytes, 2u << 20);
  EXPECT_EQ(full.buffers.count, 8u);
  EXPECT_EQ(full.buffers.bytes, 64u << 10);
  EXPECT_EQ(full.nvtx_domains, "A,B");
}

TEST(Arguments, RunTakesWhatFollowsTheProgramAsItIs) {
  EXPECT_THAT(parse_as<RunArguments>({"run", "app", "--help", "-q"}).command, ElementsAre("app", "--help", "-q"));
  EXPECT_THAT(parse_as<RunArguments>({"run", "-o", "out", "app", "--", "x"}).command, ElementsAre("app", "--", "x"));
  EXPECT_THAT(parse_as<RunArguments>({"run", "--", "app", "--", "x"}).command, ElementsAre("app", "--", "x"));
  EXPECT_THAT(parse_as<RunArguments>({"run", "--", "annotate", "--", ""}).command, ElementsAre("annotate", "--", ""));
}

TEST(Arguments, RunWantsAProgramAndSensibleValues) {
  for (const std::vector<const char*>& words : std::vector<std::vector<const char*>>{{"run"},
                                                                                     {"run", "--"},
                                                                                     {"run", "--no-such", "app"},
                                                                                     {"run", "--duration", "soon", "app"},
                                                                                     {"run", "--delay", "-1", "app"},
                                                                                     {"run", "--start-on", "decode", "app"},
                                                                                     {"run", "--start-on", "nvtx:", "app"},
                                                                                     {"run", "--max-size", "1K", "app"},
                                                                                     {"run", "--buffers", "1", "app"}}) {
    EXPECT_EQ(exit_code(words), kUsage) << words.back();
  }
  EXPECT_EQ(exit_code({"run", "--help"}), kOk);
}

TEST(Arguments, Annotate) {
  const auto plain = parse_as<AnnotateArguments>({"annotate", "t.json", "-o", "x.json"});
  EXPECT_THAT(plain.traces, ElementsAre("t.json"));
  EXPECT_EQ(plain.lanes, Lanes::none);
  EXPECT_EQ(plain.default_stream, 7);
  EXPECT_FALSE(plain.input.force);
  EXPECT_FALSE(plain.input.process);
  const auto full = parse_as<AnnotateArguments>({"annotate", "-a", "one", "t0", "t1", "-a", "two", "--lanes", "all",
                                                 "--default-stream", "0", "--format", "perfetto", "--force", "-o", "out"});
  EXPECT_THAT(full.traces, ElementsAre("t0", "t1"));
  EXPECT_THAT(full.input.annotations, ElementsAre("one", "two"));
  EXPECT_EQ(full.lanes, Lanes::all);
  EXPECT_EQ(full.default_stream, 0);
  EXPECT_EQ(full.format, "perfetto");
  EXPECT_TRUE(full.input.force);
  EXPECT_EQ(full.out, "out");
}

TEST(Arguments, Doctor) {
  EXPECT_FALSE(parse_as<DoctorArguments>({"doctor"}).json);
  EXPECT_TRUE(parse_as<DoctorArguments>({"doctor", "--json"}).json);
}

TEST(Arguments, AProcessCanBeChosen) {
  EXPECT_EQ(parse_as<AnnotateArguments>({"annotate", "t", "--process", "12", "-o", "x.json"}).input.process, 12);
  EXPECT_EQ(parse_as<ReportArguments>({"report", "t", "--process", "12"}).input.process, 12);
  EXPECT_EQ(parse_as<CheckArguments>({"check", "t", "--process", "12"}).input.process, 12);
  EXPECT_EQ(parse_as<ShowArguments>({"show", "t", "--process", "12"}).process, 12);
}

TEST(Arguments, ReportCountsWhatIsAskedFor) {
  const auto report = parse_as<ReportArguments>(
      {"report",         "t",        "-a",        "a",         "--where", "bs=8,phase=fwd", "--where",  "x=a=b",
       "--include",      "(?i)attn", "--exclude", "^head",     "--kind",  "memcpy",         "--window", "1.5ms..2s",
       "--skip-replays", "3",        "--by",      "bs,stream", "--view",  "tree",           "--depth",  "2"});
  EXPECT_THAT(report.regions.where, ElementsAre(Pair("bs", "8"), Pair("phase", "fwd"), Pair("x", "a=b")));
  EXPECT_EQ(report.regions.include, "(?i)attn");
  EXPECT_EQ(report.regions.exclude, "^head");
  EXPECT_EQ(report.regions.kind, OperationKind::memcpy);
  EXPECT_EQ(report.regions.window_ns, std::make_pair(std::int64_t{1'500'000}, std::int64_t{2'000'000'000}));
  EXPECT_EQ(report.regions.skip_replays, 3u);
  EXPECT_THAT(report.regions.by, ElementsAre("bs", "stream"));
  EXPECT_EQ(report.regions.view, RegionView::tree);
  EXPECT_EQ(report.regions.depth, 2);
}

TEST(Arguments, WindowsMayBeOpenOnEitherSide) {
  const auto window = [](const char* text) {
    return parse_as<ReportArguments>({"report", "t", "--window", text}).regions.window_ns;
  };
  EXPECT_EQ(window("..5us"), std::make_pair(std::int64_t{0}, std::int64_t{5'000}));
  EXPECT_EQ(window("5ns.."), std::make_pair(std::int64_t{5}, std::numeric_limits<std::int64_t>::max()));
  EXPECT_EQ(window("3..4"), std::make_pair(std::int64_t{3'000'000}, std::int64_t{4'000'000}));
}

TEST(Arguments, TableOptions) {
  const auto table =
      parse_as<ReportArguments>({"report", "t", "--format", "csv", "-o", "f", "--wide", "--unit", "us", "--columns",
                                 "region,calls", "--sort", "p95:asc", "--top", "5", "--min-pct", "0.5"})
          .table;
  EXPECT_EQ(table.format, "csv");
  EXPECT_EQ(table.out, "f");
  EXPECT_TRUE(table.wide);
  EXPECT_EQ(table.unit, "us");
  EXPECT_THAT(table.columns, ElementsAre("region", "calls"));
  EXPECT_EQ(table.sort, "p95:asc");
  EXPECT_EQ(table.top, 5u);
  EXPECT_EQ(table.min_percent, 0.5);
  EXPECT_FALSE(table.all_rows);
  EXPECT_TRUE(parse_as<CheckArguments>({"check", "t", "--top", "all"}).table.all_rows);
}

TEST(Arguments, CheckAndShow) {
  EXPECT_EQ(parse_as<CheckArguments>({"check", "t", "--min-time", ".95"}).options.min_time, 0.95);
  EXPECT_FALSE(parse_as<CheckArguments>({"check", "t"}).options.min_time);
  const auto check = parse_as<CheckArguments>(
      {"check", "t", "--where", "bs=8,phase=fwd", "--kind", "memset", "--window", "..2ms", "--skip-replays", "3"});
  EXPECT_THAT(check.options.where, ElementsAre(Pair("bs", "8"), Pair("phase", "fwd")));
  EXPECT_EQ(check.options.kind, OperationKind::memset);
  EXPECT_EQ(check.options.window_ns, std::pair(std::int64_t{0}, std::int64_t{2'000'000}));
  EXPECT_EQ(check.options.skip_replays, 3U);
  EXPECT_EQ(parse_as<ShowArguments>({"show", "f", "--json"}).file, "f");
}

TEST(Arguments, NonsenseIsAUsageError) {
  for (const std::vector<const char*>& words : std::vector<std::vector<const char*>>{
           {},
           {"nothing"},
           {"annotate", "t.json"},
           {"annotate", "-o", "x"},
           {"annotate", "t", "-o", "x", "--lanes", "some"},
           {"annotate", "t", "-o", "x", "--default-stream", "seven"},
           {"report"},
           {"report", "t", "u"},
           {"report", "t", "--include", "("},
           {"report", "t", "--where", "bs"},
           {"report", "t", "--where", "=8"},
           {"report", "t", "--window", "5"},
           {"report", "t", "--window", "5..4"},
           {"report", "t", "--window", "1h..2h"},
           {"report", "t", "--top", "few"},
           {"report", "t", "--top", "-1"},
           {"report", "t", "--min-pct", "101"},
           {"report", "t", "--depth", "0"},
           {"report", "t", "--skip-replays", "-1"},
           {"check", "t", "--min-time", "95"},
           {"show", "f", "--no-such-option"},
           {"completion", "tcsh"},
       }) {
    EXPECT_EQ(exit_code(words), kUsage) << testing::PrintToString(words);
  }
}

TEST(Arguments, WhatIsWrongIsSaid) {
  const auto said = [](std::vector<const char*> words) {
    words.insert(words.begin(), "graphtag");
    testing::internal::CaptureStderr();
    (void)parse_arguments(static_cast<int>(words.size()), words.data());
    std::string text = testing::internal::GetCapturedStderr();
    return text.substr(0, text.find("; graphtag "));
  };
  EXPECT_EQ(said({}), "graphtag: a verb is needed, such as report");
  EXPECT_EQ(said({"repot"}), "graphtag: there is no verb 'repot'");
  EXPECT_EQ(said({"report", "t", "--graph", "9"}), "graphtag: this was not expected: --graph 9");
  EXPECT_EQ(said({"show", "a", "b"}), "graphtag: this was not expected: b");
  EXPECT_EQ(said({"report"}), "graphtag: TRACE is required");
  EXPECT_EQ(said({"report", "--view", "x", "--", "t"}), "graphtag: --view: 'x' is not one of pattern, tree, flat");
  EXPECT_EQ(said({"report", "--depth", "0", "--", "--nope"}), "graphtag: --depth: '0' is not a whole number from 1 to 1048576");
  EXPECT_EQ(said({"report", "t", "--view", "x"}), "graphtag: --view: 'x' is not one of pattern, tree, flat");
  EXPECT_EQ(said({"report", "t", "--color", "x"}), "graphtag: --color: 'x' is not one of auto, always, never");
  EXPECT_EQ(said({"annotate", "t", "-o", "x", "--lanes", "some"}), "graphtag: --lanes: 'some' is not one of none, all");
  EXPECT_EQ(said({"annotate", "t", "-o", "x", "--default-stream", "7x"}),
            "graphtag: --default-stream: '7x' is not a whole number");
  EXPECT_EQ(said({"report", "t", "--process", "x"}), "graphtag: --process: 'x' is not a whole number");
  EXPECT_EQ(said({"report", "t", "--skip-replays", "x"}), "graphtag: --skip-replays: 'x' is not a whole number of 0 or more");
  EXPECT_EQ(said({"report", "t", "--skip-replays", "99999999999999999999"}),
            "graphtag: --skip-replays: '99999999999999999999' is not a whole number of 0 or more");
  EXPECT_EQ(said({"report", "t", "--depth", "0"}), "graphtag: --depth: '0' is not a whole number from 1 to 1048576");
  EXPECT_EQ(said({"report", "t", "--min-pct", "101"}), "graphtag: --min-pct: '101' is not a number from 0 to 100");
  EXPECT_EQ(said({"check", "t", "--min-time", "nan"}), "graphtag: --min-time: 'nan' is not a number from 0 to 1");
}

TEST(Arguments, HelpAndVersionSucceed) {
  for (const std::vector<const char*>& words : std::vector<std::vector<const char*>>{
           {"--help"}, {"--version"}, {"annotate", "--help"}, {"report", "-h"}, {"check", "--help"}, {"show", "--help"}}) {
    EXPECT_EQ(exit_code(words), kOk) << testing::PrintToString(words);
  }
}

TEST(Completion, KnowsVerbsOptionsAndValues) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const std::string script = parse_as<CompletionArguments>({"completion", shell}).text;
    for (const char* word : {"annotate", "report", "check", "show", "doctor", "completion", "lanes", "none all",
                             "table tsv csv json md", "bash zsh fish"}) {
      EXPECT_NE(script.find(word), std::string::npos) << shell << ": " << word;
    }
  }
}

}  // namespace
}  // namespace graphtag::cli
