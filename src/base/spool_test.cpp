#include "base/spool.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <filesystem>

namespace graphtag {
namespace {

TEST(Spool, ReadsBackWhatWasWrittenAndLeavesNoFile) {
  const auto folder = std::filesystem::path{testing::TempDir()} / "graphtag_spool_test";
  std::filesystem::create_directories(folder);
  const char* before = std::getenv("TMPDIR");
  const std::string kept = before == nullptr ? "" : before;
  ASSERT_EQ(setenv("TMPDIR", folder.c_str(), 1), 0);
  {
    Spool spool;
    ASSERT_TRUE(spool.append("abcdef").ok());
    ASSERT_TRUE(spool.append("ghi").ok());
    EXPECT_EQ(spool.size_bytes(), 9u);
    EXPECT_TRUE(std::filesystem::is_empty(folder));
    std::array<char, 4> buffer{};
    const auto middle = spool.read_at(4, buffer.data(), buffer.size());
    ASSERT_TRUE(middle.ok());
    EXPECT_EQ(std::string(buffer.data(), *middle), "efgh");
    const auto end = spool.read_at(7, buffer.data(), buffer.size());
    ASSERT_TRUE(end.ok());
    EXPECT_EQ(std::string(buffer.data(), *end), "hi");
    const auto behind = spool.read_at(100, buffer.data(), buffer.size());
    ASSERT_TRUE(behind.ok());
    EXPECT_EQ(*behind, 0u);
  }
  ASSERT_EQ(setenv("TMPDIR", "/nonexistent/folder", 1), 0);
  Spool nowhere;
  const auto failed = nowhere.append("x");
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().file, "/nonexistent/folder");
  EXPECT_NE(failed.error().message.find("TMPDIR"), std::string::npos);
  before == nullptr ? unsetenv("TMPDIR") : setenv("TMPDIR", kept.c_str(), 1);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace graphtag
