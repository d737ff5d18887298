// A recording through the C ABI over the false CUPTI with its own layouts, for tests.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/capi/fixture.h"
#include "tests/support/perfetto_decoder.h"

namespace graphtag::capi {

using graphtag::testing::DecodedSlice;
using graphtag::testing::DecodedTrace;
using graphtag::testing::DecoderRules;

class RecordTest : public WithFakeCuda {
 protected:
  RecordTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "graphtag-capi-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    path_ = (folder_ / "app.pftrace").string();
  }
  ~RecordTest() override {
    EXPECT_EQ(gt_recording_active(), 0);
    std::filesystem::remove_all(folder_);
  }

  gt_record_options options() const {
    gt_record_options options{};
    options.size = sizeof options;
    options.path = path_.data();
    options.path_length = path_.size();
    return options;
  }
  gt_recording begin(const gt_record_options& options) {
    gt_recording recording{0};
    EXPECT_EQ(gt_record_begin(&options, &recording), GT_OK) << gt_last_error();
    return recording;
  }
  gt_recording begin() { return begin(options()); }
  static gt_record_stats end(gt_recording recording) {
    gt_record_stats stats{};
    stats.size = sizeof stats;
    EXPECT_EQ(gt_record_end(recording, &stats), GT_OK) << gt_last_error();
    return stats;
  }
  std::string content() const {
    std::ifstream file(path_, std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  DecodedTrace decoded() const { return DecodedTrace(content(), DecoderRules::of_recordings()); }

  std::uint64_t now() {
    std::uint64_t time_ns = 0;
    EXPECT_TRUE(cuda().driver().timestamp_ns(time_ns).ok());
    return time_ns;
  }
  void launch(std::uint32_t correlation, std::uint64_t node_id = 0) {
    const std::uint64_t start = now();
    EXPECT_TRUE(cuda().activity().call({false, 211, start, start + 5, 1, correlation, 0}));
    fake::FakeActivity::Kernel kernel;
    kernel.node_id = node_id;
    kernel.correlation = correlation;
    kernel.start_ns = kernel.end_ns = start + 10;
    EXPECT_TRUE(cuda().activity().kernel(kernel));
  }
  static std::vector<DecodedSlice> kernels(const DecodedTrace& trace) {
    std::vector<DecodedSlice> found;
    for (const DecodedSlice& slice : trace.slices()) {
      if (slice.begin.category == "kernel") found.push_back(slice);
    }
    return found;
  }

  std::filesystem::path folder_;
  std::string path_;
};

}  // namespace graphtag::capi
