// A process with a false CUDA: libcuda.so.1 and libcupti.so.13 of tests/fake are mapped, and graphtag finds them as it would the
// real ones.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "graphtag/graphtag.h"
#include "tests/fake/vendor/process_fake.h"

namespace graphtag::capi {

class WithFakeCuda : public testing::Test {
 protected:
  WithFakeCuda();
  ~WithFakeCuda() override;

  fake::FakeCuda& cuda() { return fake::process_fake(); }

  // A window that must open. Closed when the test ends, if it still is open.
  gt_window open_window(gt_observer observer = GT_OBSERVER_AUTO);
  gt_annotation annotation(const char* json);
  // What a record with this id is to be called, as JSON with its path; "-" and the reason if nothing.
  std::string name_of(std::uint64_t node_id);

 private:
  std::vector<gt_window> windows_;
};

// The text that `ask(buffer, capacity, length)` gives out.
template <typename Ask>
std::string text_of(Ask ask) {
  size_t length = 0;
  EXPECT_EQ(ask(nullptr, 0, &length), GT_OK) << gt_last_error();
  std::string text(length + 1, '#');
  EXPECT_EQ(ask(text.data(), text.size(), &length), GT_OK) << gt_last_error();
  EXPECT_EQ(text[length], '\0');
  text.resize(length);
  return text;
}

inline std::string json_of(gt_annotation annotation, std::uint32_t flags = 0) {
  return text_of([&](char* b, size_t c, size_t* l) { return gt_annotation_json(annotation, flags, b, c, l); });
}

inline nlohmann::json snapshot() {
  return nlohmann::json::parse(text_of([](char* b, size_t c, size_t* l) { return gt_snapshot_buffer(b, c, l); }));
}

inline nlohmann::json doctor(std::uint32_t flags) {
  return nlohmann::json::parse(text_of([&](char* b, size_t c, size_t* l) { return gt_doctor_json(flags, b, c, l); }));
}

}  // namespace graphtag::capi
