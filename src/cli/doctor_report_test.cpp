#include "cli/doctor_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace graphtag::cli {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A machine where everything works.
DoctorFacts healthy() {
  DoctorFacts facts;
  facts.capture_library = "/p/lib/libgraphtag.so";
  facts.injection_library = "/p/lib/libgraphtag_inject.so";
  facts.guard_library = "/p/lib/libgraphtag_guard.so";
  facts.capture = *parse_json(R"({"graphtag":"0.1.0","works":true,"observer":"callbacks",
    "cuda":{"path":"/l/libcuda.so.1","version":"13.0"},"cupti":{"path":"/l/libcupti.so.13","version":"13.0.1"},
    "subscription":{"state":"free"},"devices":["GPU-aa"],"findings":[]})");
  facts.machine.driver_version = "580.65.06";
  facts.machine.gpus = {{"NVIDIA H200", "GPU-aa", "0000:17:00.0"}};
  facts.machine.has_control_device = true;
  facts.machine.profiling_restricted = false;
  facts.python = {"/usr/bin/python3", "3.11.2", "", "2.11.0", "/s/torch", "13.0.85", "/s/libcupti.so.13", "0.1.0"};
  return facts;
}

// "level: what"
std::vector<std::string> findings(const DoctorFacts& facts) {
  std::vector<std::string> all;
  const Json report = doctor_report(facts);
  for (const Json& finding : report.at("findings")) {
    EXPECT_NE(finding.at("do").get<std::string>(), "");
    all.push_back(finding.at("level").get<std::string>() + ": " + finding.at("what").get<std::string>());
  }
  const bool error = std::any_of(all.begin(), all.end(), [](const std::string& text) { return text.starts_with("error"); });
  EXPECT_EQ(report.at("works").get<bool>(), !error);
  return all;
}

TEST(DoctorReport, AHealthyMachineHasNoFindings) {
  EXPECT_THAT(findings(healthy()), IsEmpty());
  const Json report = doctor_report(healthy());
  EXPECT_EQ(report.at("schema"), "graphtag.doctor/1");
  EXPECT_EQ(report.at("machine").at("driver"), "580.65.06");
  EXPECT_EQ(report.at("capture").at("cupti").at("version"), "13.0.1");
  EXPECT_EQ(report.at("python").at("torch"), "2.11.0");
  EXPECT_EQ(report.at("libraries").at("injection"), "/p/lib/libgraphtag_inject.so");
  EXPECT_EQ(report.at("libraries").at("guard"), "/p/lib/libgraphtag_guard.so");
  EXPECT_THAT(doctor_text(report),
              AllOf(HasSubstr("580.65.06"), HasSubstr("NVIDIA H200, GPU-aa"), HasSubstr("13.0.1, /l/libcupti.so.13"),
                    HasSubstr("free"), HasSubstr("2.11.0, /s/torch"), HasSubstr("Capture can work here.")));
}

TEST(DoctorReport, WhatIsMissingIsSaidWithWhatToDo) {
  DoctorFacts facts = healthy();
  facts.capture_library.clear();
  facts.capture = Error{};
  EXPECT_THAT(findings(facts), ElementsAre(HasSubstr("error: there is no libgraphtag.so")));

  facts = healthy();
  facts.capture = Error{ErrorCode::unsupported, "it cannot be loaded: bad", "/p/lib/libgraphtag.so", {}};
  EXPECT_THAT(findings(facts), ElementsAre(HasSubstr("error: /p/lib/libgraphtag.so: it cannot be loaded: bad")));

  facts = healthy();
  facts.injection_library.clear();
  EXPECT_THAT(findings(facts), ElementsAre(HasSubstr("warning: there is no libgraphtag_inject.so")));

  facts = healthy();
  facts.guard_library.clear();
  EXPECT_THAT(findings(facts), ElementsAre(HasSubstr("warning: there is no libgraphtag_guard.so")));

  facts = healthy();
  facts.machine.driver_version.clear();
  EXPECT_THAT(findings(facts), ElementsAre("error: the kernel has no NVIDIA driver"));

  facts = healthy();
  facts.machine.has_control_device = false;
  facts.machine.container = "docker";
  EXPECT_THAT(findings(facts), ElementsAre(HasSubstr("/dev/nvidiactl")));
  EXPECT_THAT(doctor_report(facts).at("findings")[0].at("do").get<std::string>(), HasSubstr("--gpus all"));

  facts = healthy();
  facts.machine.unreadable_devices = {"/dev/nvidia0"};
  EXPECT_THAT(findings(facts), ElementsAre(HasSubstr("error: /dev/nvidia0 may not be opened")));

  facts = healthy();
  facts.python.graphtag_version.clear();
  EXPECT_THAT(findings(facts), ElementsAre(HasSubstr("note: this Python has PyTorch and no graphtag")));
}

TEST(DoctorReport, NoGpuInCudaIsAnError) {
  DoctorFacts facts = healthy();
  (*facts.capture)["devices"] = Json::array();
  (*facts.capture)["devices_unknown"] = "cuInit failed with CUDA error 100";
  EXPECT_THAT(findings(facts), ElementsAre("error: CUDA has no GPU: cuInit failed with CUDA error 100"));
}

TEST(DoctorReport, TheLibrarysFindingsAreAmongThemErrorsFirst) {
  DoctorFacts facts = healthy();
  facts.injection_library.clear();
  (*facts.capture)["works"] = false;
  (*facts.capture)["findings"] =
      *parse_json(R"([{"level":"note","what":"n","do":"x"},{"level":"error","what":"no libcupti","do":"y"}])");
  EXPECT_THAT(findings(facts), ElementsAre("error: no libcupti", HasSubstr("warning"), "note: n"));
  EXPECT_THAT(doctor_text(doctor_report(facts)), HasSubstr("Capture cannot work here."));
}

// A file of somebody else's that is found and says nothing of what is asked makes no crash.
TEST(DoctorReport, AnotherObjectIsNoAnswer) {
  DoctorFacts facts = healthy();
  facts.capture = *parse_json("{}");
  EXPECT_THAT(doctor_text(doctor_report(facts)), HasSubstr("not found"));
  EXPECT_THAT(findings(facts), ElementsAre(HasSubstr("error: libgraphtag.so does not say that it works")));
}

}  // namespace
}  // namespace graphtag::cli
