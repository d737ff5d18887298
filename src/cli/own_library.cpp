#include "cli/own_library.h"

#include <filesystem>
#include <system_error>

namespace graphtag::cli {

std::string own_library(const std::string& name) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::path folder = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  for (const char* place : {"", "../lib", GRAPHTAG_LIBDIR}) {
    const fs::path candidate = folder / place / name;
    if (fs::exists(candidate, ignored)) return fs::canonical(candidate, ignored).string();
  }
  return {};
}

}  // namespace graphtag::cli
