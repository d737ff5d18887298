#include "cli/machine_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "tests/support/join_fixtures.h"

namespace graphtag::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A system's files in a folder.
class FakeRoot {
 public:
  void file(const std::string& path, const std::string& content) {
    std::filesystem::create_directories(std::filesystem::path(folder_.path(path)).parent_path());
    (void)folder_.write(path, content);
  }
  MachineFacts examine() const { return examine_machine(folder_.path()); }
  std::string path(const std::string& name) const { return folder_.path(name); }

 private:
  graphtag::testing::TempFolder folder_;
};

TEST(MachineFacts, AMachineWithADriver) {
  FakeRoot root;
  root.file("proc/driver/nvidia/version",
            "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build  (dvs-builder@U22)  Sun Jul 27\n"
            "GCC version:  gcc version 12.3.0 (Ubuntu 12.3.0-1ubuntu1~22.04)\n");
  root.file("proc/driver/nvidia/gpus/0000:17:00.0/information",
            "Model: \t\t NVIDIA H200\nIRQ:   \t\t 150\nGPU UUID: \t GPU-aa\nBus Location: \t 0000:17:00.0\n");
  root.file("proc/driver/nvidia/gpus/0000:97:00.0/information", "Model: \t\t NVIDIA H200\nGPU UUID: \t GPU-bb\n");
  root.file("proc/driver/nvidia/params", "EnableMSI: 1\nRmProfilingAdminOnly: 1\nUsePageAttributeTable: 4294967295\n");
  root.file("proc/self/status", "Name:\tx\nCapEff:\t00000000a80425fb\n");  // a container's usual rights
  root.file("dev/nvidiactl", "");
  const MachineFacts facts = root.examine();
  EXPECT_EQ(facts.driver_version, "580.65.06");
  ASSERT_EQ(facts.gpus.size(), 2U);
  EXPECT_EQ(facts.gpus[0].model, "NVIDIA H200");
  EXPECT_EQ(facts.gpus[0].uuid, "GPU-aa");
  EXPECT_EQ(facts.gpus[0].bus, "0000:17:00.0");
  EXPECT_EQ(facts.gpus[1].uuid, "GPU-bb");
  EXPECT_EQ(facts.profiling_restricted, true);
  EXPECT_FALSE(facts.is_administrator);
  EXPECT_TRUE(facts.has_control_device);
  EXPECT_THAT(facts.unreadable_devices, IsEmpty());
  EXPECT_EQ(facts.container, "");
}

TEST(MachineFacts, AnEmptyMachine) {
  const MachineFacts facts = FakeRoot().examine();
  EXPECT_EQ(facts.driver_version, "");
  EXPECT_THAT(facts.gpus, IsEmpty());
  EXPECT_FALSE(facts.has_control_device);
  EXPECT_FALSE(facts.profiling_restricted.has_value());
  EXPECT_FALSE(facts.is_administrator);
}

TEST(MachineFacts, RightsToProfile) {
  for (const auto& [capabilities, administrator] : {std::pair<const char*, bool>{"000001ffffffffff", true},
                                                    {"0000000000200000", true},   // CAP_SYS_ADMIN
                                                    {"0000004000000000", true},   // CAP_PERFMON
                                                    {"0000003fffdfffff", false},  // all others
                                                    {"nonsense", false}}) {
    FakeRoot root;
    root.file("proc/self/status", "CapInh:\tffffffffffffffff\nCapEff:\t" + std::string(capabilities) + "\n");
    root.file("proc/driver/nvidia/params", "RmProfilingAdminOnly: 0\n");
    EXPECT_EQ(root.examine().is_administrator, administrator) << capabilities;
    EXPECT_EQ(root.examine().profiling_restricted, false);
  }
}

TEST(MachineFacts, Containers) {
  const auto kind_with = [](const std::string& file, const std::string& content) {
    FakeRoot root;
    root.file(file, content);
    return root.examine().container;
  };
  EXPECT_EQ(kind_with(".dockerenv", ""), "docker");
  EXPECT_EQ(kind_with("run/.containerenv", ""), "podman");
  EXPECT_EQ(kind_with("proc/1/cgroup", "0::/kubepods/burstable/pod1\n"), "kubernetes");
  EXPECT_EQ(kind_with("proc/1/cgroup", "1:name=systemd:/docker/0123\n"), "docker");
  EXPECT_EQ(kind_with("proc/1/cgroup", "0::/init.scope\n"), "");
  EXPECT_EQ(kind_with("run/systemd/container", "systemd-nspawn"), "container");
}

TEST(MachineFacts, DevicesThatMayNotBeOpened) {
  if (geteuid() == 0) {
    // Root may open everything: what it may not is tested where the tests run as somebody else.
    FakeRoot root;
    root.file("dev/nvidia0", "");
    EXPECT_THAT(root.examine().unreadable_devices, IsEmpty());
    return;
  }
  FakeRoot root;
  root.file("dev/nvidia0", "");
  root.file("dev/nvidia-modeset", "");
  chmod(root.path("dev/nvidia0").c_str(), 0);
  chmod(root.path("dev/nvidia-modeset").c_str(), 0);
  EXPECT_THAT(root.examine().unreadable_devices, ElementsAre("/dev/nvidia0"));
}

}  // namespace
}  // namespace graphtag::cli
