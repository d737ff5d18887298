#include "cli/preload.h"

#include <algorithm>
#include <filesystem>

namespace graphtag::cli {
namespace {

constexpr const char* kSeparators = " :";  // of the loader

}  // namespace

std::string preload_without(const std::string& file_name, const std::string& value) {
  std::string kept;
  for (std::size_t from = 0; from < value.size();) {
    const std::size_t end = std::min(value.find_first_of(kSeparators, from), value.size());
    const std::string entry = value.substr(from, end - from);
    if (!entry.empty() && std::filesystem::path(entry).filename() != file_name) kept += (kept.empty() ? "" : ":") + entry;
    from = end + 1;
  }
  return kept;
}

std::optional<std::string> preload_first(const std::string& library, const std::string& value) {
  if (library.find_first_of(std::string(kSeparators) + "$") != std::string::npos) return std::nullopt;
  const std::string others = preload_without(std::filesystem::path(library).filename(), value);
  return others.empty() ? library : library + ":" + others;
}

std::string sanitizer_with_preload(const std::string& value) {
  constexpr const char* kOption = "verify_asan_link_order";
  if (value.find(kOption) != std::string::npos) return value;
  return (value.empty() ? "" : value + ":") + kOption + "=0";
}

}  // namespace graphtag::cli
