#include "cli/python_facts.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/support/join_fixtures.h"

namespace graphtag::cli {
namespace {

class FakePython {
 public:
  explicit FakePython(const std::string& script) { chmod(folder_.write("python3", "#!/bin/sh\n" + script + "\n").c_str(), 0755); }
  PythonFacts examine(int limit_ms = 20000) const { return examine_python("/nowhere:" + folder_.path(), limit_ms); }
  std::string path() const { return folder_.path("python3"); }

 private:
  graphtag::testing::TempFolder folder_;
};

TEST(PythonFacts, WhatItSays) {
  const FakePython python(
      R"(echo '{"version": "3.11.2", "torch": "2.11.0", "torch_path": "/v/torch", "cupti": "12.8.90", "cupti_path": "/v/libcupti.so.12"}')");
  const PythonFacts facts = python.examine();
  EXPECT_EQ(facts.path, python.path());
  EXPECT_EQ(facts.version, "3.11.2");
  EXPECT_EQ(facts.torch_version, "2.11.0");
  EXPECT_EQ(facts.torch_path, "/v/torch");
  EXPECT_EQ(facts.cupti_version, "12.8.90");
  EXPECT_EQ(facts.cupti_path, "/v/libcupti.so.12");
  EXPECT_EQ(facts.graphtag_version, "");
  EXPECT_EQ(facts.problem, "");
}

TEST(PythonFacts, ThereMayBeNone) {
  EXPECT_EQ(examine_python("").path, "");
  EXPECT_EQ(examine_python("/nowhere").path, "");
}

TEST(PythonFacts, OneThatFailsIsAProblemAndNoMore) {
  EXPECT_EQ(FakePython("exit 3").examine().problem, "it cannot tell its packages");
  EXPECT_EQ(FakePython("echo nonsense").examine().problem, "it cannot tell its packages");
  EXPECT_EQ(FakePython("echo '[1]'").examine().problem, "it cannot tell its packages");
  EXPECT_EQ(FakePython("exec sleep 600").examine(100).problem, "it gave no answer within 0 s");
  EXPECT_EQ(FakePython("cat /dev/zero").examine().problem, "it cannot tell its packages");
}

}  // namespace
}  // namespace graphtag::cli
