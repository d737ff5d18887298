#include "base/segment_files.h"

#include <charconv>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

namespace graphtag {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kExtension = ".pftrace";

// What stands before and behind a segment's number.
struct Around {
  std::string before, behind;
};

Around around_number(const std::string& path) {
  const bool extended = path.ends_with(kExtension);
  return {(extended ? path.substr(0, path.size() - kExtension.size()) : path) + ".", std::string(extended ? kExtension : "")};
}

// Of a file's name; nothing if it is no segment's.
std::optional<std::uint32_t> number_of(std::string_view name, const Around& around) {
  if (name.size() <= around.before.size() + around.behind.size() || !name.starts_with(around.before) ||
      !name.ends_with(around.behind)) {
    return std::nullopt;
  }
  name = name.substr(around.before.size(), name.size() - around.before.size() - around.behind.size());
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  // As it is written: "07" is somebody else's.
  if (error != std::errc{} || end != name.data() + name.size() || name.front() == '0') return std::nullopt;
  return number;
}

std::vector<fs::path> segments_of(const std::string& path, std::uint32_t first) {
  std::vector<fs::path> found;
  const fs::path whole(path);
  const Around around = around_number(whole.filename().string());
  std::error_code error;
  fs::directory_iterator entry(whole.has_parent_path() ? whole.parent_path() : fs::path("."), error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const auto number = number_of(entry->path().filename().native(), around);
    std::error_code unknown;
    if (number && *number >= first && fs::is_regular_file(entry->symlink_status(unknown))) found.push_back(entry->path());
  }
  return found;
}

}  // namespace

std::string segment_path(const std::string& path, std::uint32_t number) {
  const Around around = around_number(path);
  return around.before + std::to_string(number) + around.behind;
}

bool has_segments(const std::string& path) {
  return !segments_of(path, 0).empty();
}

void remove_segments(const std::string& path, std::uint32_t first) {
  std::error_code ignored;
  for (const fs::path& segment : segments_of(path, first)) fs::remove(segment, ignored);
}

}  // namespace graphtag
