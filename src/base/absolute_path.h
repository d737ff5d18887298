#pragma once

#include <filesystem>
#include <string>
#include <system_error>

namespace graphtag {

// From the root on, so that it stays where it is when the program changes its folder; `path` itself where that cannot be told.
inline std::string absolute_path(const std::string& path) {
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  return error ? path : absolute.string();
}

}  // namespace graphtag
