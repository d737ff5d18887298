#include "tests/capi/fixture.h"

#include <dlfcn.h>

namespace graphtag::capi {

WithFakeCuda::WithFakeCuda() {
  for (const char* library : {GRAPHTAG_FAKE_DIR "/libcuda.so.1", GRAPHTAG_FAKE_DIR "/libcupti.so.13"}) {
    EXPECT_NE(dlopen(library, RTLD_NOW | RTLD_LOCAL), nullptr) << dlerror();
  }
}

WithFakeCuda::~WithFakeCuda() {
  for (const gt_window window : windows_) gt_window_close(window);
  EXPECT_EQ(gt_active(), 0);
  EXPECT_FALSE(cuda().has_subscriber());
  gt_forget();
}

gt_window WithFakeCuda::open_window(gt_observer observer) {
  gt_window_options options{};
  options.size = sizeof options;
  options.observer = observer;
  gt_window window{0};
  EXPECT_EQ(gt_window_open(&options, &window), GT_OK) << gt_last_error();
  windows_.push_back(window);
  return window;
}

gt_annotation WithFakeCuda::annotation(const char* json) {
  gt_annotation made{0};
  EXPECT_EQ(gt_annotation_from_json(json, GT_NUL, &made), GT_OK) << gt_last_error();
  return made;
}

std::string WithFakeCuda::name_of(std::uint64_t node_id) {
  gt_resolution resolution{};
  resolution.size = sizeof resolution;
  EXPECT_EQ(gt_resolve(node_id, GT_NOW, &resolution), GT_OK) << gt_last_error();
  if (resolution.annotation.value == 0) return std::string("- ") + gt_origin_name(resolution.origin);
  return json_of(resolution.annotation, GT_JSON_PATH);
}

}  // namespace graphtag::capi
