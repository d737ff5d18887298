// How an export numbers processes and threads of all machines:
//
//   globalTid   | hardware : 8 | machine : 8 | process : 24 | thread : 24 |
//   globalPid   the same with thread 0
#pragma once

#include <cstdint>

namespace graphtag::nsys {

constexpr std::int64_t pid_of(std::int64_t global_id) {
  return global_id >> 24 & 0xffffff;
}
constexpr std::int64_t tid_of(std::int64_t global_tid) {
  return global_tid & 0xffffff;
}
constexpr std::int64_t process_of(std::int64_t global_id) {
  return global_id & ~std::int64_t{0xffffff};
}

}  // namespace graphtag::nsys
