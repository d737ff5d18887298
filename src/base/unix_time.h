#pragma once

#include <chrono>
#include <cstdint>

namespace graphtag {

// Unix time in ns, as the registry wants it.
inline std::int64_t unix_time_ns() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace graphtag
