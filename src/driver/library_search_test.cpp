#include "driver/library_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

namespace graphtag {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

class Candidates : public testing::Test {
 protected:
  Candidates() { fs::create_directories(root_); }
  ~Candidates() override { fs::remove_all(root_); }

  std::string touch(const std::string& path) {
    const fs::path full = root_ / path;
    fs::create_directories(full.parent_path());
    std::ofstream(full) << "x";
    return full.string();
  }
  std::vector<std::string> find(int driver_version, const std::vector<std::string>& mapped = {}) {
    return cupti_candidates(
        driver_version, mapped, [this](const char* name) { return environment_[name]; }, root_.string());
  }

  fs::path root_ = fs::path(testing::TempDir()) / ("graphtag_search_" + std::to_string(getpid()));
  std::map<std::string, std::string> environment_;
};

TEST_F(Candidates, AnEmptyMachineIsSearchedByNameOnly) {
  EXPECT_THAT(find(13000), ElementsAre("libcupti.so.13", "libcupti.so.12"));
}

TEST_F(Candidates, TheDriversOwnReleaseComesFirst) {
  EXPECT_THAT(find(12040), ElementsAre("libcupti.so.12", "libcupti.so.13"));
  EXPECT_THAT(find(0), ElementsAre("libcupti.so.13", "libcupti.so.12"));
}

TEST_F(Candidates, ToolkitsComeAfterTheLoadersPathNamedOnesFirst) {
  const std::string named = touch("opt/cuda/extras/CUPTI/lib64/libcupti.so.13");
  const std::string usual = touch("usr/local/cuda/lib64/libcupti.so.13");
  const std::string newer = touch("usr/local/cuda-13.1/lib64/libcupti.so.13");
  const std::string older = touch("usr/local/cuda-13.0/extras/CUPTI/lib64/libcupti.so.13");
  const std::string oldest = touch("usr/local/cuda-12.4/extras/CUPTI/lib64/libcupti.so.12");
  environment_["CUDA_HOME"] = (root_ / "opt/cuda").string();
  EXPECT_THAT(find(13000), ElementsAre("libcupti.so.13", "libcupti.so.12", named, usual, newer, older, oldest));
}

TEST_F(Candidates, ThePytorchOfTheProcessComesBeforeAllOthers) {
  const std::string own = touch("venv/site-packages/nvidia/cu13/lib/libcupti.so.13");
  touch("elsewhere/site-packages/nvidia/cu13/lib/libcupti.so.13");
  const std::string torch = touch("venv/site-packages/torch/lib/libtorch_cpu.so");
  EXPECT_THAT(find(13000, {"/lib/libc.so.6", torch}), ElementsAre(own, "libcupti.so.13", "libcupti.so.12"));
  EXPECT_THAT(find(13000, {"/lib/libc.so.6"}), ElementsAre("libcupti.so.13", "libcupti.so.12"));
}

TEST(MappedLibraries, KnowsWhatIsInTheProcess) {
  const std::vector<std::string> mapped = mapped_libraries();
  EXPECT_TRUE(std::any_of(mapped.begin(), mapped.end(),
                          [](const std::string& path) { return path.find("libc.so") != std::string::npos; }));
  EXPECT_GE(libraries_ever_mapped(), mapped.size());
}

TEST(MappedLibraries, TellsCuptiByItsName) {
  EXPECT_TRUE(is_cupti("/usr/local/cuda/lib64/libcupti.so.13"));
  EXPECT_TRUE(is_cupti("/x/nvidia/cuda_cupti/lib/libcupti.so.12"));
  EXPECT_TRUE(is_cupti("libcupti.so.2025.3.1"));
  EXPECT_TRUE(is_cupti("/x/libcupti.so"));
  EXPECT_FALSE(is_cupti("/x/libcupti_static.so"));
  EXPECT_FALSE(is_cupti("/x/libcuptimizer.so.1"));
  EXPECT_FALSE(is_cupti("/libcupti.so.13/libc.so"));
}

}  // namespace
}  // namespace graphtag
