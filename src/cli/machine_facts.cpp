#include "cli/machine_facts.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>

namespace graphtag::cli {
namespace {

namespace fs = std::filesystem;

// Bits of CapEff.
constexpr int kSysAdmin = 21;
constexpr int kPerfmon = 38;
constexpr std::size_t kFileBytes = std::size_t{1} << 16;

std::string read_start(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(kFileBytes, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

// What stands behind "KEY:" in a text of such lines, without the blanks around it.
std::string value_of(const std::string& text, const std::string& key) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind(key + ":", 0) != 0) continue;
    const std::size_t begin = line.find_first_not_of(" \t", key.size() + 1);
    return begin == std::string::npos ? std::string{} : line.substr(begin, line.find_last_not_of(" \t\r") + 1 - begin);
  }
  return {};
}

// "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build" -> "580.65.06"
std::string driver_version(const std::string& text) {
  std::istringstream words(value_of(text, "NVRM version"));
  for (std::string word; words >> word;) {
    const bool digits = std::all_of(word.begin(), word.end(), [](char c) { return c == '.' || (c >= '0' && c <= '9'); });
    if (digits && word.find('.') != std::string::npos) return word;
  }
  return {};
}

std::vector<fs::path> entries(const fs::path& folder) {
  std::vector<fs::path> paths;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    paths.push_back(entry->path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::string container_kind(const fs::path& root) {
  std::error_code ignored;
  if (fs::exists(root / "var/run/secrets/kubernetes.io", ignored)) return "kubernetes";
  if (fs::exists(root / ".dockerenv", ignored)) return "docker";
  if (fs::exists(root / "run/.containerenv", ignored)) return "podman";
  const std::string groups = read_start(root / "proc/1/cgroup");
  constexpr std::array<std::pair<const char*, const char*>, 4> kKinds = {
      {{"kubepods", "kubernetes"}, {"docker", "docker"}, {"libpod", "podman"}, {"lxc", "lxc"}}};
  for (const auto& [word, kind] : kKinds) {
    if (groups.find(word) != std::string::npos) return kind;
  }
  return fs::exists(root / "run/systemd/container", ignored) ? "container" : "";
}

}  // namespace

MachineFacts examine_machine(const std::string& root_path) {
  const fs::path root(root_path);
  MachineFacts facts;
  facts.driver_version = driver_version(read_start(root / "proc/driver/nvidia/version"));
  for (const fs::path& gpu : entries(root / "proc/driver/nvidia/gpus")) {
    const std::string text = read_start(gpu / "information");
    facts.gpus.push_back({value_of(text, "Model"), value_of(text, "GPU UUID"), value_of(text, "Bus Location")});
  }
  std::error_code ignored;
  facts.has_control_device = fs::exists(root / "dev/nvidiactl", ignored);
  for (const fs::path& device : entries(root / "dev")) {
    const std::string name = device.filename().string();
    const bool is_gpu = name.size() > 6 && name.rfind("nvidia", 0) == 0 && name[6] >= '0' && name[6] <= '9';
    if ((is_gpu || name == "nvidiactl" || name == "nvidia-uvm") && access(device.c_str(), R_OK | W_OK) != 0) {
      facts.unreadable_devices.push_back("/dev/" + name);
    }
  }
  const std::string restricted = value_of(read_start(root / "proc/driver/nvidia/params"), "RmProfilingAdminOnly");
  if (!restricted.empty()) facts.profiling_restricted = restricted != "0";
  const std::string capabilities = value_of(read_start(root / "proc/self/status"), "CapEff");
  std::uint64_t bits = 0;
  std::from_chars(capabilities.data(), capabilities.data() + capabilities.size(), bits, 16);
  facts.is_administrator = (bits >> kSysAdmin & 1) != 0 || (bits >> kPerfmon & 1) != 0;
  facts.container = container_kind(root);
  return facts;
}

}  // namespace graphtag::cli
