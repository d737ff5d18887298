#include "trace/byte_stream.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace graphtag {
namespace {

// Text that compresses about as traces do.
std::string some_text(std::size_t size) {
  std::string text;
  for (std::size_t i = 0; text.size() < size; ++i)
    text += "{\"ph\": \"X\", \"ts\": " + std::to_string(i * 7919 % 100003) + "},\n";
  text.resize(size);
  return text;
}

std::string compressed(std::string_view text) {
  std::string out;
  const auto sink = gzip_sink(string_sink(out));
  EXPECT_TRUE(sink->write(text).ok());
  EXPECT_TRUE(sink->finish().ok());
  return out;
}

struct Inflated {
  std::string text;
  std::string error;
  Problems problems;
};

Inflated inflated(std::string_view bytes, std::vector<std::size_t> chunks = {}, std::size_t read_size = 5000) {
  Inflated result;
  const auto source = gzip_source(memory_source(bytes, chunks), result.problems, "t.json.gz");
  std::string block(read_size, '\0');
  for (;;) {
    const auto got = source->read(block.data(), block.size());
    if (!got) {
      result.error = got.error().to_string();
      return result;
    }
    if (*got == 0) return result;
    result.text.append(block, 0, *got);
  }
}

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "byte_stream_XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string file(const std::string& name) const { return (path_ / name).string(); }
  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(path_), std::filesystem::directory_iterator{}));
  }

 private:
  std::filesystem::path path_;
};

TEST(Gzip, ThereAndBack) {
  for (const std::size_t size : {0UL, 1UL, 1000UL, 262144UL, 3000000UL}) {
    const std::string text = some_text(size);
    const std::string bytes = compressed(text);
    EXPECT_EQ(bytes.substr(0, 2), "\x1f\x8b");
    const Inflated back = inflated(bytes);
    EXPECT_EQ(back.text, text) << size;
    EXPECT_TRUE(back.problems.empty());
    EXPECT_EQ(back.error, "");
  }
}

TEST(Gzip, SeveralMembersAndTrailingZerosInAnySplit) {
  const std::string a = some_text(3000), b = some_text(70000);
  const std::string bytes = compressed(a) + compressed("") + compressed(b) + std::string(513, '\0');
  for (const std::size_t chunk : {1UL, 2UL, 3UL, 7UL, 8UL, 9UL, 1000UL}) {
    const Inflated back = inflated(bytes, {chunk}, 1 + chunk);
    EXPECT_EQ(back.text, a + b) << chunk;
    EXPECT_TRUE(back.problems.empty()) << chunk;
  }
}

// The input may be used up while the last block of output is full.
TEST(Gzip, ContentThatEndsNearABlocksEnd) {
  const std::string text = some_text(263000);
  for (std::size_t size = 262144 - 300; size < 262144 + 300; size += 7) {
    const Inflated back = inflated(compressed(std::string_view(text).substr(0, size)), {}, 65536);
    EXPECT_EQ(back.text.size(), size);
    EXPECT_TRUE(back.problems.empty()) << size;
  }
}

TEST(Gzip, AWrongChecksumIsNoted) {
  const std::string text = some_text(50000);
  std::string bytes = compressed(text);
  for (const std::size_t from_end : {1UL, 4UL, 5UL, 8UL}) {  // size and CRC-32, four bytes each
    std::string damaged = bytes;
    damaged[damaged.size() - from_end] = static_cast<char>(damaged[damaged.size() - from_end] ^ 0x10);
    const Inflated back = inflated(damaged + compressed("more"));
    EXPECT_EQ(back.text, text + "more");
    ASSERT_EQ(back.problems[ProblemKind::damaged_gzip].count, 1U);
    EXPECT_EQ(back.problems[ProblemKind::damaged_gzip].offsets[0], text.size());
  }
}

TEST(Gzip, ACutFileGivesWhatItHas) {
  const std::string text = some_text(300000);
  const std::string bytes = compressed(text);
  for (const std::size_t keep : {bytes.size() / 2, bytes.size() - 9, bytes.size() - 1}) {
    const Inflated back = inflated(std::string_view(bytes).substr(0, keep));
    EXPECT_EQ(back.error, "");
    EXPECT_GT(back.text.size(), text.size() / 4);
    EXPECT_EQ(text.compare(0, back.text.size(), back.text), 0);
    ASSERT_EQ(back.problems[ProblemKind::damaged_gzip].count, 1U);
    EXPECT_EQ(back.problems[ProblemKind::damaged_gzip].offsets[0], back.text.size());
  }
}

TEST(Gzip, DamageInTheMiddleGivesWhatCameBefore) {
  const std::string text = some_text(300000);
  std::string bytes = compressed(text);
  for (std::size_t i = bytes.size() / 2; i < bytes.size() / 2 + 64; ++i) bytes[i] = static_cast<char>(0xFF);
  const Inflated back = inflated(bytes);
  EXPECT_EQ(back.error, "");
  EXPECT_GT(back.text.size(), text.size() / 10);
  EXPECT_EQ(back.problems[ProblemKind::damaged_gzip].count, 1U);
}

TEST(Gzip, NothingAtAllIsAnError) {
  const Inflated cut = inflated("\x1f\x8b\x08");
  EXPECT_NE(cut.error.find("t.json.gz"), std::string::npos);
  EXPECT_NE(cut.error.find("nothing could be decompressed"), std::string::npos);
  EXPECT_NE(inflated("\x1f\x8b\x08\xff garbage").error, "");
}

TEST(Gzip, GarbageBehindTheLastMember) {
  for (const std::string garbage : {"garbage", "\x1fgarbage"}) {
    const Inflated back = inflated(compressed("text") + garbage);
    EXPECT_EQ(back.text, "text");
    EXPECT_EQ(back.problems[ProblemKind::trailing_garbage].count, 1U);
    EXPECT_EQ(back.problems[ProblemKind::damaged_gzip].count, 0U);
  }
}

TEST(Gzip, AReaderMayStopEarly) {
  const std::string bytes = compressed(some_text(20000000));  // far more than the blocks between the threads hold
  Problems problems;
  const auto source = gzip_source(memory_source(bytes), problems);
  char block[10];
  EXPECT_EQ(*source->read(block, sizeof block), 10U);
}

TEST(OpenSource, TellsGzipByContent) {
  const Folder folder;
  Problems problems;
  std::ofstream(folder.file("a.json"), std::ios::binary) << compressed("[1]");
  std::ofstream(folder.file("b.json.gz"), std::ios::binary) << "[2]";
  for (const auto& [name, gzip, text] : {std::tuple{"a.json", true, "[1]"}, std::tuple{"b.json.gz", false, "[2]"}}) {
    auto opened = open_source(folder.file(name), problems);
    ASSERT_TRUE(opened.ok());
    EXPECT_EQ(opened->gzip, gzip);
    EXPECT_EQ(opened->size_bytes, std::filesystem::file_size(folder.file(name)));
    std::string content(100, '\0');
    std::size_t size = 0;
    for (;;) {
      const auto got = opened->source->read(content.data() + size, content.size() - size);
      ASSERT_TRUE(got.ok());
      if (*got == 0) break;
      size += *got;
    }
    EXPECT_EQ(content.substr(0, size), text);
    EXPECT_EQ(opened->source->consumed_bytes(), opened->size_bytes);
  }
  EXPECT_EQ(open_source(folder.file("none"), problems).error().code, ErrorCode::not_found);
  EXPECT_EQ(open_source(folder.file(""), problems).error().code, ErrorCode::io);
}

TEST(OpenSink, TheFileAppearsWholeOrNotAtAll) {
  const Folder folder;
  const std::string text = some_text(2000000);
  for (const bool gzip : {false, true}) {
    {
      auto dropped = open_sink(folder.file("dropped"), gzip);
      ASSERT_TRUE(dropped.ok());
      ASSERT_TRUE((*dropped)->write(text).ok());
    }
    EXPECT_EQ(folder.files(), gzip ? 1U : 0U);
    auto sink = open_sink(folder.file("whole"), gzip);
    ASSERT_TRUE(sink.ok());
    ASSERT_TRUE((*sink)->write(text).ok());
    ASSERT_TRUE((*sink)->finish().ok());
    std::ifstream file(folder.file("whole"), std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)), {});
    EXPECT_EQ(gzip ? inflated(bytes).text : bytes, text);
    EXPECT_EQ(folder.files(), 1U);
  }
}

// Gives an error after a while.
class FullDisk : public ByteSink {
 public:
  Result<void> write(std::string_view bytes) override {
    taken_ += bytes.size();
    return taken_ > 1000 ? Result<void>(Error{ErrorCode::io, "no space left", {}, {}}) : Result<void>{};
  }
  Result<void> finish() override { return {}; }

 private:
  std::size_t taken_ = 0;
};

TEST(GzipSink, AnErrorOfItsThreadComesOut) {
  const auto sink = gzip_sink(std::make_unique<FullDisk>());
  const std::string text = some_text(1000000);
  bool failed = false;
  for (int i = 0; i < 20 && !failed; ++i) failed = !sink->write(text).ok();
  EXPECT_TRUE(failed);
  EXPECT_EQ(sink->finish().error().message, "no space left");
}

}  // namespace
}  // namespace graphtag
