// gt_record: recordings.
#include "capi/guard.h"
#include "capture/unix_time.h"

using namespace graphtag::capi;  // NOLINT(google-build-using-namespace)

extern "C" {

uint32_t gt_active_recordings = 0;

gt_status gt_record_begin(const gt_record_options*, gt_recording*) noexcept {
  return fail(GT_ERROR_UNAVAILABLE, "this build of graphtag has no recorder");
}

gt_status gt_record_stats_get(gt_recording, gt_record_stats*) noexcept {
  return fail(GT_ERROR_INVALID_HANDLE, "no such recording");
}

gt_status gt_record_flush(gt_recording, uint32_t) noexcept {
  return fail(GT_ERROR_INVALID_HANDLE, "no such recording");
}

gt_status gt_record_end(gt_recording, gt_record_stats*) noexcept {
  return fail(GT_ERROR_INVALID_HANDLE, "no such recording");
}

int64_t gt_record_now(void) noexcept {
  return graphtag::unix_time_ns();
}

gt_status gt_record_range(const gt_range*) noexcept {
  return GT_OK;
}
}
