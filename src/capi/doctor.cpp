#include "capi/doctor.h"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/version.h"
#include "capi/guard.h"
#include "capi/producer.h"
#include "driver/device_uuid.h"
#include "driver/library_search.h"

namespace graphtag::capi {
namespace {

namespace fs = std::filesystem;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string{} : std::string{value};
}

// The number after "KEY:" in a file of lines such as /proc/self/status; 0 if there is none.
unsigned long long number_in(const char* path, const std::string& key, int base = 10) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(key + ":", 0) == 0) return std::strtoull(line.c_str() + key.size() + 1, nullptr, base);
  }
  return 0;
}

std::string process_torch() {
  for (const std::string& path : mapped_libraries()) {
    if (path.find("/libtorch_cpu.so") != std::string::npos) return path;
  }
  return {};
}

void add_devices(const RealDriver& real, bool may_init_cuda, Symptoms& symptoms) {
  if (may_init_cuda) {
    const DriverResult result = real.initialize_cuda();
    if (!result.ok()) symptoms.devices_unknown = "cuInit failed with CUDA error " + std::to_string(result.code);
  }
  int count = 0;
  const DriverResult result = real.driver().device_count(count);
  if (result.status == DriverStatus::not_ready && symptoms.devices_unknown.empty()) {
    symptoms.devices_unknown = "CUDA is not initialised in this process";
  } else if (!result.ok() && symptoms.devices_unknown.empty()) {
    symptoms.devices_unknown = "cuDeviceGetCount failed with CUDA error " + std::to_string(result.code);
  }
  for (int device = 0; result.ok() && device < count; ++device) {
    std::uint8_t uuid[16] = {};
    if (real.driver().device_uuid(device, uuid).ok()) symptoms.device_uuids.push_back(uuid_text(uuid));
  }
}

// 13000 -> "13.0"; CUPTI's 130001 -> "13.0.1", its 18 (before CUDA 13) -> "API 18".
std::string cuda_version(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}
std::string cupti_version(int version) {
  if (version < 1000) return "API " + std::to_string(version);
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." + std::to_string(version % 100);
}

const char* to_text(EntryState state) {
  switch (state) {
    case EntryState::works:
      return "works";
    case EntryState::found:
      return "found";
    case EntryState::missing:
      return "missing";
    case EntryState::refused:
      return "refused";
    case EntryState::no_library:
      return "no library";
  }
  return "";
}

const char* to_text(SubscriptionFacts::State state) {
  switch (state) {
    case SubscriptionFacts::State::free:
      return "free";
    case SubscriptionFacts::State::held_by_us:
      return "held by graphtag";
    case SubscriptionFacts::State::held:
      return "held";
    case SubscriptionFacts::State::unknown:
      return "unknown";
  }
  return "";
}

Json library_json(const LibraryFacts& facts, const std::string& version) {
  Json json;
  json["path"] = facts.path.empty() ? Json(nullptr) : Json(facts.path);
  json["version"] = facts.version == 0 ? Json(nullptr) : Json(version);
  json["was_mapped"] = facts.was_mapped;
  json["other_copies"] = facts.others;
  json["tried"] = facts.tried;
  return json;
}

// Who, of those that are known to, may hold the subscription.
std::string guess_holder(const Symptoms& symptoms) {
  // CUPTI's words for a subscriber that gave no name, as PyTorch's gives none.
  const std::string& holder = symptoms.subscription->holder;
  if (!holder.empty() && holder.find("<not provided>") == std::string::npos) return holder;
  if (symptoms.under_nsys) return "Nsight Systems";
  if (!symptoms.cuda_injection.empty()) return "the library named in CUDA_INJECTION64_PATH (" + symptoms.cuda_injection + ")";
  if (symptoms.traced) return "the debugger that is attached (cuda-gdb)";
  if (!symptoms.torch.empty()) return "PyTorch's profiler (Kineto), which keeps it once it has run";
  return {};
}

struct Findings {
  Json list = Json::array();
  void add(const char* level, const std::string& what, const std::string& action) {
    Json finding;
    finding["level"] = level;
    finding["what"] = what;
    finding["do"] = action;
    list.push_back(std::move(finding));
  }
};

void find_about_libraries(const Symptoms& symptoms, Findings& findings) {
  const DriverFacts& facts = symptoms.driver;
  if (!facts.can_ask_ids) {
    const std::size_t colon = facts.unavailable.find(": ");
    findings.add("error", facts.unavailable.substr(0, colon),
                 colon == std::string::npos ? "" : facts.unavailable.substr(colon + 2));
  } else if (!facts.can_subscribe) {
    findings.add(
        "warning", "CUPTI's callbacks cannot be used, so nodes are told apart at scope boundaries only",
        "install the CUPTI of the driver's CUDA release, or name every capturing stream and conditional body to graphtag");
  }
  if (facts.cuda.version != 0 && facts.cuda.version < 12000) {
    findings.add("warning",
                 "the driver is of CUDA " + cuda_version(facts.cuda.version) + ", older than any graphtag was tried with",
                 "update the driver to CUDA 12.0 or newer");
  }
  for (const std::string& other : facts.cupti.others) {
    findings.add(
        "warning",
        "a second copy of CUPTI is mapped: " + other + "; a profiler may use that one while graphtag uses " + facts.cupti.path,
        "make both use one copy, such as by importing PyTorch first");
  }
  for (const EntryPoint& entry : facts.entry_points) {
    if (entry.state == EntryState::refused) {
      findings.add("warning",
                   std::string(entry.name) + " answered with error " + std::to_string(entry.code) + "; it gives " + entry.purpose,
                   "take the CUPTI of the driver's CUDA release");
    }
  }
}

void find_about_process(const Symptoms& symptoms, Findings& findings) {
  if (symptoms.subscription && symptoms.subscription->state == SubscriptionFacts::State::held) {
    const std::string holder = guess_holder(symptoms);
    findings.add(
        "warning",
        "CUPTI's one subscription is held" + (holder.empty() ? std::string(" by another tool") : ", it seems by " + holder),
        "capture before a profiler has run, or let graphtag read scope boundaries (observer \"boundary\")");
  }
  if (symptoms.profiling_restricted) {
    findings.add("note", "only administrators may read hardware counters here (NVreg_RestrictProfilingToAdminUsers=1)",
                 "nothing for names and times of kernels; for counters set it to 0, or start the container with CAP_SYS_ADMIN");
  }
  if (!symptoms.cuda_injection.empty()) {
    findings.add("note", "CUDA_INJECTION64_PATH is set: " + symptoms.cuda_injection, "unset it if that tool is not meant to run");
  }
  if (symptoms.in_container && symptoms.driver.cuda.path.empty()) {
    findings.add("note", "this is a container without the driver's libraries",
                 "start it with its GPUs: docker run --gpus all, or NVIDIA_DRIVER_CAPABILITIES=compute,utility");
  }
}

}  // namespace

Symptoms examine(bool may_init_cuda, bool may_subscribe) {
  Symptoms symptoms;
  const RealDriver& real = RealDriver::of_process();
  symptoms.driver = real.facts();
  if (symptoms.driver.can_ask_ids) {
    if (may_subscribe) symptoms.subscription = real.try_subscription();
    add_devices(real, may_init_cuda, symptoms);
  } else {
    symptoms.devices_unknown = symptoms.driver.unavailable;
  }
  symptoms.torch = process_torch();
  symptoms.cuda_injection = variable("CUDA_INJECTION64_PATH");
  symptoms.nvtx_injection = variable("NVTX_INJECTION64_PATH");
  symptoms.under_nsys = !variable("NSYS_PROFILING_SESSION_ID").empty();
  symptoms.traced = number_in("/proc/self/status", "TracerPid") != 0;
  // Root in a container need not have it.
  constexpr unsigned long long kSysAdmin = 1ULL << 21, kPerfmon = 1ULL << 38;
  const bool is_administrator = (number_in("/proc/self/status", "CapEff", 16) & (kSysAdmin | kPerfmon)) != 0;
  symptoms.profiling_restricted = !is_administrator && number_in("/proc/driver/nvidia/params", "RmProfilingAdminOnly") == 1;
  std::error_code ignored;
  symptoms.in_container = fs::exists("/.dockerenv", ignored) || fs::exists("/run/.containerenv", ignored);
  return symptoms;
}

Json diagnose(const Symptoms& symptoms) {
  const DriverFacts& facts = symptoms.driver;
  Json report;
  report["graphtag"] = kVersion;
  report["works"] = facts.can_ask_ids;
  const bool taken = symptoms.subscription && symptoms.subscription->state == SubscriptionFacts::State::held;
  if (!facts.can_ask_ids) {
    report["observer"] = nullptr;
  } else {
    report["observer"] = facts.can_subscribe && !taken ? "callbacks" : "boundary";
  }
  report["cuda"] = library_json(facts.cuda, cuda_version(facts.cuda.version));
  report["cupti"] = library_json(facts.cupti, cupti_version(facts.cupti.version));
  report["subscription"]["state"] = symptoms.subscription ? to_text(symptoms.subscription->state) : "not tried";
  if (taken) report["subscription"]["holder"] = guess_holder(symptoms);
  report["devices"] = symptoms.device_uuids;
  if (!symptoms.devices_unknown.empty()) report["devices_unknown"] = symptoms.devices_unknown;
  Json& process = report["process"];
  process["pid"] = getpid();
  process["torch"] = symptoms.torch.empty() ? Json(nullptr) : Json(symptoms.torch);
  process["cuda_injection"] = symptoms.cuda_injection.empty() ? Json(nullptr) : Json(symptoms.cuda_injection);
  process["nvtx_injection"] = symptoms.nvtx_injection.empty() ? Json(nullptr) : Json(symptoms.nvtx_injection);
  process["container"] = symptoms.in_container;
  report["entry_points"] = Json::array();
  for (const EntryPoint& entry : facts.entry_points) {
    Json json;
    json["name"] = entry.name;
    json["library"] = entry.library;
    json["state"] = to_text(entry.state);
    if (entry.state == EntryState::refused) json["error"] = entry.code;
    json["gives"] = entry.purpose;
    json["since"] = entry.since;
    report["entry_points"].push_back(std::move(json));
  }
  Findings findings;
  find_about_libraries(symptoms, findings);
  find_about_process(symptoms, findings);
  report["findings"] = std::move(findings.list);
  return report;
}

}  // namespace graphtag::capi

extern "C" gt_status gt_doctor_json(uint32_t flags, char* buffer, size_t capacity, size_t* length) noexcept {
  using namespace graphtag::capi;  // NOLINT(google-build-using-namespace)
  return guard([&] {
    if ((flags & ~std::uint32_t{GT_DOCTOR_INIT_CUDA | GT_DOCTOR_TRY_SUBSCRIBE}) != 0)
      return fail(GT_ERROR_INVALID_ARGUMENT, "an unknown flag");
    const graphtag::Json report = diagnose(examine((flags & GT_DOCTOR_INIT_CUDA) != 0, (flags & GT_DOCTOR_TRY_SUBSCRIBE) != 0));
    return put_text(graphtag::dump_json(report), buffer, capacity, length);
  });
}
