// Can it work here?
#include "capi/guard.h"
#include "driver/real_driver.h"

using namespace graphtag;        // NOLINT(google-build-using-namespace)
using namespace graphtag::capi;  // NOLINT(google-build-using-namespace)

extern "C" gt_status gt_available(gt_observer observer) noexcept {
  return guard([&] {
    if (observer > GT_OBSERVER_NONE) return fail(GT_ERROR_INVALID_ARGUMENT, "none of GT_OBSERVER_*");
    if (observer == GT_OBSERVER_NONE) return gt_status{GT_OK};
    const DriverFacts& facts = RealDriver::of_process().facts();
    if (!facts.can_ask_ids) return fail(GT_ERROR_UNAVAILABLE, "unavailable: " + facts.unavailable);
    if (observer == GT_OBSERVER_CALLBACKS && !facts.can_subscribe) {
      return fail(GT_ERROR_UNAVAILABLE,
                  "unavailable: callbacks need CUPTI, and none that works was found; gt_doctor_json() says where was looked");
    }
    return gt_status{GT_OK};
  });
}
