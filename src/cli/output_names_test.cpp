#include "cli/output_names.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/join_fixtures.h"

namespace graphtag::cli {
namespace {

using enum OutputFormat;

TEST(OutputNames, OneTraceIsWrittenToTheNamedFile) {
  const auto one = [](const std::string& out, const std::string& format = "") {
    return plan_outputs({"t.json.gz"}, out, format);
  };
  EXPECT_EQ((*one("x.json"))[0], (Output{"x.json", chrome, false}));
  EXPECT_EQ((*one("x.json.gz"))[0], (Output{"x.json.gz", chrome, true}));
  EXPECT_EQ((*one("d/x.pftrace"))[0], (Output{"d/x.pftrace", perfetto, false}));
  EXPECT_EQ((*one("x.pftrace.gz"))[0], (Output{"x.pftrace.gz", perfetto, true}));
  EXPECT_EQ((*one("x.perfetto-trace"))[0], (Output{"x.perfetto-trace", perfetto, false}));
  EXPECT_EQ((*one("x.bin", "perfetto"))[0], (Output{"x.bin", perfetto, false}));
  EXPECT_EQ((*one("x.gz", "chrome"))[0], (Output{"x.gz", chrome, true}));
  EXPECT_EQ((*one("x.json", "perfetto"))[0], (Output{"x.json", perfetto, false}));
}

TEST(OutputNames, ANameThatDoesNotTellIsAUsageError) {
  for (const char* out : {"x", "x.bin", ".json", "x.gz"}) {
    const auto planned = plan_outputs({"t.json"}, out, "");
    ASSERT_FALSE(planned) << out;
    EXPECT_EQ(planned.error().code, ErrorCode::invalid_argument);
  }
}

TEST(OutputNames, SeveralTracesKeepTheirNamesInAFolder) {
  const auto planned = plan_outputs({"a/r0.json.gz", "b/r1.json"}, "out", "");
  ASSERT_TRUE(planned);
  EXPECT_EQ(*planned, (std::vector<Output>{{"out/r0.json.gz", chrome, true}, {"out/r1.json", chrome, false}}));
  const auto perfetto_ones = plan_outputs({"a/r0.json.gz", "b/r1.json", "c/r2.gz"}, "out/", "perfetto");
  EXPECT_EQ(*perfetto_ones, (std::vector<Output>{{"out/r0.pftrace.gz", perfetto, true},
                                                 {"out/r1.pftrace", perfetto, false},
                                                 {"out/r2.pftrace.gz", perfetto, true}}));
}

TEST(OutputNames, RecordingsAndExportsGetAnEndingOfTheFormat) {
  const std::vector<std::string> traces{"a.json.gz", "b.pftrace", "c.pftrace.gz", "d.sqlite"};
  const auto chrome_ones = plan_outputs(traces, "out", "");
  ASSERT_TRUE(chrome_ones.ok());
  EXPECT_EQ(*chrome_ones, (std::vector<Output>{{"out/a.json.gz", chrome, true},
                                               {"out/b.json", chrome, false},
                                               {"out/c.json.gz", chrome, true},
                                               {"out/d.sqlite.json", chrome, false}}));
  const auto perfetto_ones = plan_outputs(traces, "out", "perfetto");
  ASSERT_TRUE(perfetto_ones.ok());
  EXPECT_EQ(*perfetto_ones, (std::vector<Output>{{"out/a.pftrace.gz", perfetto, true},
                                                 {"out/b.pftrace", perfetto, false},
                                                 {"out/c.pftrace.gz", perfetto, true},
                                                 {"out/d.sqlite.pftrace", perfetto, false}}));
}

TEST(OutputNames, OneTraceIntoAnExistingFolder) {
  const std::string folder = ::testing::TempDir();
  const auto planned = plan_outputs({"a/r0.json.gz"}, folder, "");
  ASSERT_TRUE(planned);
  EXPECT_EQ((*planned)[0].path, (std::filesystem::path(folder) / "r0.json.gz").string());
}

TEST(OutputNames, TwoTracesOfOneNameAreRefused) {
  const auto planned = plan_outputs({"a/t.json", "b/t.json"}, "out", "");
  ASSERT_FALSE(planned);
  EXPECT_EQ(planned.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(planned.error().file, "b/t.json");
}

TEST(OutputNames, WhatIsReadIsNotWritten) {
  const testing::TempFolder folder;
  const std::string annotations =
      folder.write("names.json", R"({"schema": "graphtag.annotations/1", "annotations": [], "graphs": []})");
  const std::string trace = folder.write("t.json", R"({"traceEvents": []})");
  const std::string link = folder.path("link.json");
  std::filesystem::create_hard_link(trace, link);
  const std::string here = folder.path(".");
  const auto is_refused = [&](const std::string& out, const std::vector<std::string>& inputs) {
    const auto refused = refuse_inputs(out, inputs);
    if (!refused) {
      EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
    }
    return !refused;
  };
  EXPECT_TRUE(is_refused(trace, {"other.json", trace}));
  EXPECT_TRUE(is_refused(here + "/t.json", {trace}));
  EXPECT_TRUE(is_refused(link, {trace}));
  EXPECT_TRUE(is_refused(annotations, {annotations}));
  EXPECT_TRUE(is_refused(annotations, {here}));
  EXPECT_FALSE(is_refused(trace, {here})) << "no annotation file: an earlier output, say";
  EXPECT_FALSE(is_refused(folder.path("new.json"), {trace, here}));
  EXPECT_FALSE(is_refused("/dev/null", {"/dev/null"}));
  EXPECT_FALSE(is_refused("", {trace}));
}

}  // namespace
}  // namespace graphtag::cli
