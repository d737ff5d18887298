// What the system says about the driver, the GPUs, rights and containers, read from its files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace graphtag::cli {

struct GpuFacts {
  std::string model, uuid, bus;
};

struct MachineFacts {
  std::string driver_version;                   // "580.65.06"; empty: the kernel has no NVIDIA driver
  std::vector<GpuFacts> gpus;                   // that the kernel's driver has; a container may see fewer
  bool has_control_device = false;              // /dev/nvidiactl
  std::vector<std::string> unreadable_devices;  // /dev/nvidia0 ...: there, and may not be opened
  std::optional<bool> profiling_restricted;     // NVreg_RestrictProfilingToAdminUsers; nothing where the driver does not say
  bool is_administrator = false;                // has CAP_SYS_ADMIN or CAP_PERFMON
  std::string container;                        // "docker", "podman", "kubernetes", "lxc", "container"; empty: none
};

// `root`: where the system's files are; another folder in tests.
MachineFacts examine_machine(const std::string& root = "/");

}  // namespace graphtag::cli
