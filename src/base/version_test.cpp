#include "base/version.h"

#include <gtest/gtest.h>

#include <string>

#include "base/file.h"

namespace graphtag {
namespace {

TEST(Version, IsTheOneOfTheBuild) {
  const Result<std::string> cmake = read_file(GRAPHTAG_SOURCE_DIR "/CMakeLists.txt", 1 << 20);
  ASSERT_TRUE(cmake.ok());
  EXPECT_NE(cmake->find("project(graphtag VERSION " + std::string(kVersion) + " "), std::string::npos);
}

}  // namespace
}  // namespace graphtag
