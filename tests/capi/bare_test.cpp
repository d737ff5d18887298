// A machine without a GPU: the library loads, says why it cannot record, and all else is a no-op.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "graphtag/graphtag.h"

namespace {

using nlohmann::json;
using testing::HasSubstr;

class Bare : public testing::Test {
 protected:
  void SetUp() override {
    if (dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL) != nullptr) GTEST_SKIP() << "this machine has an NVIDIA driver";
  }
};

template <typename Ask>
json json_of(Ask ask) {
  size_t length = 0;
  EXPECT_EQ(ask(nullptr, 0, &length), GT_OK);
  std::string text(length + 1, '\0');
  EXPECT_EQ(ask(text.data(), text.size(), &length), GT_OK);
  text.resize(length);
  return json::parse(text);
}

TEST_F(Bare, SaysThatThereIsNoLibcuda) {
  for (const gt_observer observer : {GT_OBSERVER_AUTO, GT_OBSERVER_CALLBACKS, GT_OBSERVER_BOUNDARY}) {
    EXPECT_EQ(gt_available(observer), GT_ERROR_UNAVAILABLE);
    EXPECT_THAT(gt_last_error(), testing::StartsWith("unavailable: no libcuda"));
  }
}

TEST_F(Bare, WindowsDoNotOpenAndScopesDoNothing) {
  gt_window window{3};
  EXPECT_EQ(gt_window_open(nullptr, &window), GT_ERROR_UNAVAILABLE);
  EXPECT_THAT(gt_last_error(), HasSubstr("no libcuda"));
  EXPECT_EQ(window.value, 3U);
  EXPECT_EQ(gt_active(), 0);
  EXPECT_EQ(gt_scope_begin_name("decoder", GT_NUL), GT_OK);
  EXPECT_EQ(gt_scope_end(), GT_OK);
  gt_scope scope{3};
  EXPECT_EQ(gt_scope_open({0}, &scope), GT_OK);
  EXPECT_EQ(scope.value, 0U);
  int graph = 0;
  uint32_t id = 0;
  EXPECT_EQ(gt_graph_id(&graph, &id), GT_ERROR_UNAVAILABLE);
  EXPECT_EQ(gt_link_exec(&graph, &graph), GT_ERROR_UNAVAILABLE);
}

TEST_F(Bare, ScopesAreKeptForWindowsToCome) {
  EXPECT_EQ(gt_available(GT_OBSERVER_NONE), GT_OK);
  gt_window_options options{};
  options.size = sizeof options;
  options.observer = GT_OBSERVER_NONE;
  gt_window window{0};
  EXPECT_EQ(gt_window_open(&options, &window), GT_OK);
  EXPECT_NE(gt_active(), 0);
  EXPECT_EQ(gt_scope_begin_name("decoder", GT_NUL), GT_OK);
  EXPECT_EQ(gt_scope_end(), GT_OK);
  EXPECT_EQ(gt_window_close(window), GT_OK);
  EXPECT_EQ(gt_active(), 0);
}

TEST_F(Bare, TheDoctorSaysWhatToDo) {
  const json report = json_of(
      [](char* b, size_t c, size_t* l) { return gt_doctor_json(GT_DOCTOR_INIT_CUDA | GT_DOCTOR_TRY_SUBSCRIBE, b, c, l); });
  EXPECT_EQ(report["works"], false);
  EXPECT_EQ(report["observer"], nullptr);
  EXPECT_EQ(report["cuda"]["path"], nullptr);
  EXPECT_THAT(report["cuda"]["tried"].dump(), HasSubstr("libcuda.so.1"));
  ASSERT_GE(report["findings"].size(), 1U);
  EXPECT_EQ(report["findings"][0]["level"], "error");
  EXPECT_EQ(report["findings"][0]["what"], "no libcuda");
  EXPECT_THAT(report["findings"][0]["do"], HasSubstr("install"));
}

TEST_F(Bare, ASnapshotIsAFileWithNothingInIt) {
  const json file = json_of([](char* b, size_t c, size_t* l) { return gt_snapshot_buffer(b, c, l); });
  EXPECT_EQ(file["schema"], "graphtag.annotations/1");
  EXPECT_TRUE(file["graphs"].empty());
}

}  // namespace
