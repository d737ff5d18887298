#include "base/process_image.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace graphtag {

ProcessImage process_image(std::uint32_t pid) noexcept {
  constexpr int kStack = 28, kState = 3;  // fields of proc(5)
  std::array<char, 32> path{};
  std::snprintf(path.data(), path.size(), "/proc/%u/stat", pid);
  const int fd = open(path.data(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  std::array<char, 1024> text{};
  const ssize_t size = read(fd, text.data(), text.size() - 1);
  close(fd);
  if (size <= 0) return {};
  // "123 (name) S ...": the name may hold anything.
  const char* at = std::strrchr(text.data(), ')');
  if (at == nullptr || at[1] != ' ') return {true, 0};
  at += 2;
  if (*at == 'Z' || *at == 'X') return {};
  for (int field = kState; field < kStack; ++field) {
    at = std::strchr(at, ' ');
    if (at == nullptr) return {true, 0};
    ++at;
  }
  return {true, std::strtoull(at, nullptr, 10)};
}

}  // namespace graphtag
