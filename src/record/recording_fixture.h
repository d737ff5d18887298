// A recording over a false CUDA, for tests: what the script says the GPUs did must be in the file.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "base/recording_layout.h"
#include "base/unix_time.h"
#include "record/recording.h"
#include "tests/fake/fake_cuda.h"
#include "tests/support/perfetto_decoder.h"

namespace graphtag {

inline std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

inline testing::DecodedTrace decode_recording(const std::string& bytes) {
  return testing::DecodedTrace(bytes, testing::DecoderRules::of_recordings());
}

// A folder of the test's own.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "graphtag-record-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::filesystem::path operator/(const char* name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

class WithRecording : public ::testing::Test {
 protected:
  RecordingOptions options() {
    RecordingOptions options;
    options.path = file().string();
    options.owner.pid = getpid();
    options.owner.process = "test";
    options.serial = 1;
    options.about = std::make_shared<const Json>(Json{{"tool", "graphtag test"}, {"host", "here"}, {"pid", getpid()}});
    return options;
  }
  std::filesystem::path file() const { return folder_ / "app.pftrace"; }

  void begin(RecordingOptions wanted) {
    auto begun = Recording::begin(cuda_.driver(), registry_, std::move(wanted));
    ASSERT_TRUE(begun) << begun.error().to_string();
    recording_ = std::move(*begun);
  }
  void begin() { begin(options()); }
  void end() { ASSERT_TRUE(recording_->end()); }
  const RecordCounts& counts() const { return recording_->counts(); }
  testing::DecodedTrace decoded() { return decode_recording(content_of(file())); }

  fake::FakeActivity& gpu() { return cuda_.activity(); }
  // Now, on CUPTI's clock.
  std::uint64_t now() {
    std::uint64_t time_ns = 0;
    EXPECT_TRUE(cuda_.driver().timestamp_ns(time_ns).ok());
    return time_ns;
  }

  TemporaryFolder folder_;
  fake::FakeCuda cuda_;
  Registry registry_;
  std::unique_ptr<Recording> recording_;
};

// Slices of a category.
inline std::vector<testing::DecodedSlice> slices_of(const testing::DecodedTrace& trace, std::string_view category) {
  std::vector<testing::DecodedSlice> found;
  for (const auto& slice : trace.slices()) {
    if (slice.begin.category == category) found.push_back(slice);
  }
  return found;
}

// The instants of this name.
inline std::vector<testing::DecodedEvent> instants_of(const testing::DecodedTrace& trace, std::string_view name) {
  std::vector<testing::DecodedEvent> found;
  for (const auto& event : trace.events) {
    if (event.type == 3 && event.name == name) found.push_back(event);
  }
  return found;
}

}  // namespace graphtag
