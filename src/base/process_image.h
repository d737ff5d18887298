// Which image (program) a process has: another one after each exec, with the same process id.
#pragma once

#include <cstdint>

namespace graphtag {

struct ProcessImage {
  bool lives = false;  // there is such a process, and it is no zombie
  std::uint64_t stack =
      0;  // where its stack begins, at another place in each image (unless addresses are not randomized); 0: unknown
};

ProcessImage process_image(std::uint32_t pid) noexcept;

}  // namespace graphtag
