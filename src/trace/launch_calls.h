// Which calls of CUDA give the GPU work: arrows start at them.
#pragma once

#include <string_view>

namespace graphtag {

inline bool gives_gpu_work(std::string_view call) {
  return call.find("Launch") != std::string_view::npos || call.find("Memcpy") != std::string_view::npos ||
         call.find("Memset") != std::string_view::npos;
}

}  // namespace graphtag
