// What a call of the driver's or of CUPTI's came to.
#pragma once

#include <cstdint>

namespace graphtag {

enum class DriverStatus : std::int32_t {
  ok,
  missing,    // this CUDA driver or this CUPTI has no such entry point
  invalid,    // it refused a handle or an argument
  busy,       // somebody else holds the CUPTI subscription
  not_ready,  // CUDA is not initialised in this process, or is shutting down
  too_small,  // the caller's buffer; the count says how many there are
  failed,     // anything else; `code` says what
};

struct [[nodiscard]] DriverResult {
  DriverStatus status = DriverStatus::ok;
  std::int32_t code = 0;  // the CUresult or CUptiResult behind the status
  constexpr bool ok() const { return status == DriverStatus::ok; }
};

}  // namespace graphtag
