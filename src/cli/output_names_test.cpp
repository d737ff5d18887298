#include "cli/output_names.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

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

// The profiler's file cannot be had again.
TEST(OutputNames, NoOutputTakesThePlaceOfATrace) {
  namespace fs = std::filesystem;
  std::string folder = (fs::temp_directory_path() / "graphtag-names-XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const std::string trace = folder + "/t.json";
  std::ofstream(trace) << "[]";
  fs::create_symlink("t.json", folder + "/link.json");
  for (const std::string& out : {trace, folder, folder + "/", folder + "/link.json", folder + "/./t.json"}) {
    const auto planned = plan_outputs({trace}, out, "");
    ASSERT_FALSE(planned) << out;
    EXPECT_EQ(planned.error().code, ErrorCode::invalid_argument);
  }
  std::ofstream(folder + "/u.json") << "[]";
  EXPECT_FALSE(plan_outputs({folder + "/u.json", "elsewhere/t.json"}, folder, ""));
  EXPECT_TRUE(plan_outputs({trace}, folder + "/named.json", ""));
  EXPECT_TRUE(plan_outputs({trace}, folder + "/named/", ""));
  EXPECT_TRUE(plan_outputs({trace}, folder, "perfetto"));
  EXPECT_TRUE(plan_outputs({trace}, "/dev/null", "chrome"));
  fs::remove_all(folder);
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

TEST(OutputNames, OneTraceIntoAnExistingFolder) {
  const std::string folder = testing::TempDir();
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

}  // namespace
}  // namespace graphtag::cli
