#include "base/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace graphtag {
namespace {

namespace fs = std::filesystem;

class FileTest : public testing::Test {
 protected:
  FileTest() : folder_(fs::path(testing::TempDir()) / ("graphtag-file-" + std::to_string(getpid()))) {
    fs::create_directory(folder_);
  }
  ~FileTest() override { fs::remove_all(folder_); }
  std::string in(const std::string& name) const { return (folder_ / name).string(); }
  std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  fs::path folder_;
};

TEST_F(FileTest, WrittenContentReadsBack) {
  std::string content = "a\0b\n";
  content.append(200000, 'x');
  ASSERT_TRUE(write_file(in("f"), content));
  const auto back = read_file(in("f"), 1 << 20);
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, content);
  EXPECT_EQ(entries(), 1u);
}

TEST_F(FileTest, AnUncommittedFileLeavesNothingAndKeepsTheOldOne) {
  ASSERT_TRUE(write_file(in("f"), "old"));
  {
    auto file = AtomicFile::create(in("f"));
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->write("new"));
    EXPECT_EQ(entries(), 2u);
  }
  EXPECT_EQ(entries(), 1u);
  EXPECT_EQ(*read_file(in("f"), 100), "old");
}

// As root, `-o /dev/null` must not put a file in its place.
TEST_F(FileTest, WhatIsNoFileIsWrittenInPlace) {
  ASSERT_EQ(mkfifo(in("pipe").c_str(), 0600), 0);
  const int reader = open(in("pipe").c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  ASSERT_TRUE(write_file(in("pipe"), "text"));
  char block[8];
  EXPECT_EQ(read(reader, block, sizeof(block)), 4);
  close(reader);
  EXPECT_TRUE(fs::is_fifo(in("pipe")));
  EXPECT_EQ(entries(), 1u);
}

TEST_F(FileTest, ALinkStaysALink) {
  fs::create_directory(in("elsewhere"));
  ASSERT_TRUE(write_file(in("elsewhere/f"), "old"));
  fs::create_symlink("elsewhere/f", in("link"));
  ASSERT_TRUE(write_file(in("link"), "new"));
  EXPECT_TRUE(fs::is_symlink(in("link")));
  EXPECT_EQ(*read_file(in("elsewhere/f"), 100), "new");
}

TEST_F(FileTest, UnfinishedFilesCanBeRemovedAtOnce) {
  auto one = AtomicFile::create(in("1"));
  auto two = AtomicFile::create(in("2"));
  ASSERT_TRUE(one && two);
  ASSERT_TRUE(two->commit());
  remove_unfinished_files();
  EXPECT_EQ(entries(), 1u);
  EXPECT_TRUE(fs::exists(in("2")));
}

TEST_F(FileTest, TwoWritersOfOnePathDoNotMix) {
  auto one = AtomicFile::create(in("f"));
  auto two = AtomicFile::create(in("f"));
  ASSERT_TRUE(one && two);
  ASSERT_TRUE(one->write("one"));
  ASSERT_TRUE(two->write("two"));
  ASSERT_TRUE(one->commit());
  ASSERT_TRUE(two->commit());
  EXPECT_EQ(*read_file(in("f"), 100), "two");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(FileTest, SaysWhatIsWrongWithAPath) {
  const auto missing = read_file(in("none"), 100);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
  EXPECT_EQ(missing.error().file, in("none"));
  const auto folder = read_file(folder_.string(), 100);
  ASSERT_FALSE(folder);
  EXPECT_NE(folder.error().message.find("folder"), std::string::npos);
  EXPECT_FALSE(AtomicFile::create(folder_.string()));
  EXPECT_FALSE(AtomicFile::create(in("no/such/folder/f")));
}

TEST_F(FileTest, TheSizeLimitHolds) {
  ASSERT_TRUE(write_file(in("f"), std::string(100, 'x')));
  EXPECT_TRUE(read_file(in("f"), 100));
  const auto large = read_file(in("f"), 99);
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code, ErrorCode::too_large);
  const auto endless = read_file("/dev/zero", 1000);
  ASSERT_FALSE(endless);
  EXPECT_EQ(endless.error().code, ErrorCode::too_large);
}

}  // namespace
}  // namespace graphtag
