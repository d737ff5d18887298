#include "driver/library_search.h"

#include <link.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

namespace graphtag {
namespace {

namespace fs = std::filesystem;

std::string base_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

bool starts_with(const std::string& text, const char* prefix) {
  return text.rfind(prefix, 0) == 0;
}

// The site-packages folder of the process's own PyTorch, whose libraries lie in site-packages/torch/lib; empty if there is none.
fs::path torch_packages(const std::vector<std::string>& mapped) {
  for (const std::string& path : mapped) {
    const std::string name = base_name(path);
    if (!starts_with(name, "libtorch_cpu.so") && !starts_with(name, "libtorch_cuda.so") && !starts_with(name, "libc10.so"))
      continue;
    return fs::path(path).parent_path().parent_path().parent_path();
  }
  return {};
}

// /usr/local/cuda, then /usr/local/cuda-13.0 and its like, newest first.
std::vector<fs::path> toolkits(const fs::path& root) {
  const fs::path local = root / "usr/local";
  std::vector<fs::path> found;
  std::error_code ignored;
  for (fs::directory_iterator entry(local, ignored), end; !ignored && entry != end; entry.increment(ignored)) {
    if (starts_with(entry->path().filename().string(), "cuda-")) found.push_back(entry->path());
  }
  std::sort(found.begin(), found.end(), [](const fs::path& a, const fs::path& b) {
    const std::string x = a.filename().string(), y = b.filename().string();
    return x.size() != y.size() ? x.size() > y.size() : x > y;
  });
  found.insert(found.begin(), local / "cuda");
  return found;
}

}  // namespace

std::vector<std::string> mapped_libraries() {
  std::vector<std::string> paths;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* user) {
        if (info->dlpi_name != nullptr && info->dlpi_name[0] != '\0')
          static_cast<std::vector<std::string>*>(user)->emplace_back(info->dlpi_name);
        return 0;
      },
      &paths);
  return paths;
}

std::uint64_t libraries_ever_mapped() {
  std::uint64_t count = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* user) {
        *static_cast<std::uint64_t*>(user) = info->dlpi_adds;
        return 1;
      },
      &count);
  return count;
}

bool is_cupti(const std::string& path) {
  const std::string name = base_name(path);
  return name == "libcupti.so" || starts_with(name, "libcupti.so.");
}

std::vector<std::string> cupti_candidates(int driver_version, const std::vector<std::string>& mapped,
                                          const Environment& environment, const std::string& root) {
  const bool older = driver_version != 0 && driver_version < 13000;
  const std::array<const char*, 2> names = older ? std::array<const char*, 2>{"libcupti.so.12", "libcupti.so.13"}
                                                 : std::array<const char*, 2>{"libcupti.so.13", "libcupti.so.12"};
  std::vector<std::string> candidates;
  const auto add_existing = [&](const fs::path& path) {
    std::error_code ignored;
    if (fs::exists(path, ignored)) candidates.push_back(path.string());
  };

  if (const fs::path packages = torch_packages(mapped); !packages.empty()) {
    for (const char* name : names) {
      add_existing(packages / "nvidia/cu13/lib" / name);
      add_existing(packages / "nvidia/cuda_cupti/lib" / name);
      add_existing(packages / "torch/lib" / name);
    }
  }
  candidates.insert(candidates.end(), names.begin(), names.end());

  std::vector<fs::path> folders;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const std::string value = environment(variable); !value.empty()) folders.emplace_back(value);
  }
  const std::vector<fs::path> usual = toolkits(root);
  folders.insert(folders.end(), usual.begin(), usual.end());
  for (const char* name : names) {
    for (const fs::path& folder : folders) {
      for (const char* part : {"extras/CUPTI/lib64", "lib64", "lib"}) add_existing(folder / part / name);
    }
  }
  return candidates;
}

}  // namespace graphtag
