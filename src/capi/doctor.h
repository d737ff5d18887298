// What works here, what does not, and what to do about it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "driver/real_driver.h"

namespace graphtag::capi {

// All that the diagnosis rests on, gathered from the process and the machine (or made up in tests).
struct Symptoms {
  DriverFacts driver;
  std::optional<SubscriptionFacts> subscription;  // nothing: not tried
  std::vector<std::string> device_uuids;
  std::string devices_unknown;        // why device_uuids is empty; else empty
  std::string torch;                  // path of the process's PyTorch; empty if there is none
  std::string cuda_injection;         // CUDA_INJECTION64_PATH
  std::string nvtx_injection;         // NVTX_INJECTION64_PATH
  bool under_nsys = false;            // Nsight Systems started the process
  bool traced = false;                // a debugger is attached
  bool profiling_restricted = false;  // NVreg_RestrictProfilingToAdminUsers, and the process is no administrator's
  bool in_container = false;
};

Symptoms examine(bool may_init_cuda, bool may_subscribe);

// {"graphtag", "works", "observer", "cuda", "cupti", "subscription", "devices", "process", "entry_points", "findings": [{"level",
// "what", "do"}]}; level is "error" (nothing can be recorded), "warning" (less can) or "note".
Json diagnose(const Symptoms& symptoms);

}  // namespace graphtag::capi
