// What libgraphtag.so says about this machine. The command does not link it: it is loaded as programs load it.
#pragma once

#include <string>

#include "base/error.h"
#include "base/json.h"

namespace graphtag::cli {

// The object of gt_doctor_json. May initialise CUDA in this process, and takes CUPTI's subscription for a moment. `cupti`: a libcupti.so that
// is loaded if none is found otherwise; may be empty. Errors: the library cannot be loaded, or is no libgraphtag.so.
Result<Json> examine_capture(const std::string& library, const std::string& cupti);

}  // namespace graphtag::cli
