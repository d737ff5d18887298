#include "base/segment_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

namespace graphtag {
namespace {

namespace fs = std::filesystem;
using ::testing::UnorderedElementsAre;

class SegmentFiles : public ::testing::Test {
 protected:
  SegmentFiles() { fs::create_directories(folder_); }
  ~SegmentFiles() override { fs::remove_all(folder_); }
  void make(std::initializer_list<const char*> names) {
    for (const char* name : names) std::ofstream(folder_ / name) << "x";
  }
  std::set<std::string> names() const {
    std::set<std::string> found;
    for (const auto& entry : fs::directory_iterator(folder_)) found.insert(entry.path().filename().string());
    return found;
  }
  std::string path(const char* name) const { return (folder_ / name).string(); }

  const fs::path folder_ = fs::path(testing::TempDir()) / ("segment_files_" + std::to_string(getpid()));
};

TEST_F(SegmentFiles, ANumberStandsBeforeTheExtension) {
  EXPECT_EQ(segment_path("a/app.pftrace", 12), "a/app.12.pftrace");
  EXPECT_EQ(segment_path("a.b/app", 1), "a.b/app.1");
}

TEST_F(SegmentFiles, OnlyFilesThatAreNamedExactlySoAreRemoved) {
  make({"app.1.pftrace", "app.7.pftrace", "app.100.pftrace"});
  make({"app.pftrace", "app.07.pftrace", "app.0.pftrace", "app..pftrace", "app.-1.pftrace", "app.1x.pftrace",
        "app.99999999999.pftrace", "app.host.41.pftrace", "app.host.41.2.pftrace", "app.2.3.pftrace", "app.2.pftrace.gz",
        "app.2.annotations.json", "app.2", "my-app.2.pftrace", "app.annotations.json"});
  const std::set<std::string> before = names();
  fs::create_directory(path("app.8.pftrace"));
  fs::create_symlink("app.host.41.pftrace", path("app.9.pftrace"));
  EXPECT_TRUE(has_segments(path("app.pftrace")));
  remove_segments(path("app.pftrace"), 2);
  std::set<std::string> left = before;
  left.erase("app.7.pftrace");
  left.erase("app.100.pftrace");
  left.insert({"app.8.pftrace", "app.9.pftrace"});
  EXPECT_EQ(names(), left);
  remove_segments(path("app.pftrace"), 1);
  EXPECT_FALSE(has_segments(path("app.pftrace")));
  EXPECT_TRUE(has_segments(path("app.host.41.pftrace")));
}

TEST_F(SegmentFiles, WhereThereIsNoFolderThereIsNone) {
  EXPECT_FALSE(has_segments(path("none/app.pftrace")));
  remove_segments(path("none/app.pftrace"), 1);
}

TEST_F(SegmentFiles, WithoutAnExtension) {
  make({"app", "app.2", "app.2.pftrace", "app.x"});
  remove_segments(path("app"), 1);
  EXPECT_THAT(names(), UnorderedElementsAre("app", "app.2.pftrace", "app.x"));
}

}  // namespace
}  // namespace graphtag
