#include "cli/doctor_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/version.h"
#include "cli/own_library.h"

namespace graphtag::cli {
namespace {

Json text_or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

std::string text_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string{};
}

const Json& object_at(const Json& object, const char* key) {
  static const Json kEmpty = Json::object();
  const auto found = object.find(key);
  return found != object.end() && found->is_object() ? *found : kEmpty;
}

class Findings {
 public:
  explicit Findings(Json& list) : list_(list) {}
  void add(const char* level, std::string what, std::string action) {
    list_.push_back({{"level", level}, {"what", std::move(what)}, {"do", std::move(action)}});
  }

 private:
  Json& list_;
};

void find_about_libraries(const DoctorFacts& facts, Findings& findings) {
  if (facts.capture_library.empty()) {
    findings.add("error", "there is no libgraphtag.so beside the command or in ../lib", kInstallWhole);
  } else if (!facts.capture) {
    findings.add("error", facts.capture.error().to_string(), kInstallWhole);
  }
  if (facts.injection_library.empty()) {
    findings.add("warning",
                 "there is no libgraphtag_inject.so beside the command or in ../lib, so graphtag run cannot record programs",
                 kInstallWhole);
  } else if (facts.guard_library.empty()) {
    findings.add(
        "warning",
        "there is no libgraphtag_guard.so beside the command or in ../lib, so a profiler that a program under graphtag run "
        "starts itself is refused by CUPTI",
        kInstallWhole);
  }
}

void find_about_machine(const DoctorFacts& facts, Findings& findings) {
  const MachineFacts& machine = facts.machine;
  const bool in_container = !machine.container.empty();
  if (machine.driver_version.empty()) {
    findings.add("error", "the kernel has no NVIDIA driver",
                 in_container ? "install the driver on the machine that runs this container"
                              : "install the NVIDIA driver, and load it (modprobe nvidia)");
  } else if (!machine.has_control_device) {
    findings.add("error", "the driver is there (" + machine.driver_version + "), its devices (/dev/nvidiactl) are not",
                 in_container ? "start the container with its GPUs: docker run --gpus all"
                              : "run nvidia-modprobe, or nvidia-smi once as root");
  }
  for (const std::string& device : machine.unreadable_devices) {
    findings.add("error", device + " may not be opened by this user",
                 "become a member of the group that it belongs to (ls -l " + device + ")");
  }
}

void find_about_devices(const Json& capture, Findings& findings) {
  const auto devices = capture.find("devices");
  const bool none = devices == capture.end() || !devices->is_array() || devices->empty();
  if (!capture.value("works", false) || !none) return;
  const std::string why = text_at(capture, "devices_unknown");
  findings.add("error", "CUDA has no GPU" + (why.empty() ? "" : ": " + why),
               "look at nvidia-smi; CUDA_VISIBLE_DEVICES may hide them, and a driver that was updated needs a restart");
}

void find_about_python(const PythonFacts& python, Findings& findings) {
  if (!python.problem.empty()) {
    findings.add("note", python.path + ": " + python.problem,
                 "run " + python.path + " -c 'import importlib.metadata' to see why");
  }
  if (!python.torch_version.empty() && python.graphtag_version.empty()) {
    findings.add("note", "this Python has PyTorch and no graphtag, so graphtag.torch cannot be imported",
                 "install the Python package into " + python.path);
  }
}

Json machine_json(const MachineFacts& machine) {
  Json json;
  json["driver"] = text_or_null(machine.driver_version);
  json["gpus"] = Json::array();
  for (const GpuFacts& gpu : machine.gpus) json["gpus"].push_back({{"model", gpu.model}, {"uuid", gpu.uuid}, {"bus", gpu.bus}});
  json["control_device"] = machine.has_control_device;
  json["unreadable_devices"] = machine.unreadable_devices;
  json["profiling_restricted"] = machine.profiling_restricted ? Json(*machine.profiling_restricted) : Json(nullptr);
  json["administrator"] = machine.is_administrator;
  json["container"] = text_or_null(machine.container);
  return json;
}

Json python_json(const PythonFacts& python) {
  Json json;
  json["path"] = text_or_null(python.path);
  json["version"] = text_or_null(python.version);
  json["torch"] = text_or_null(python.torch_version);
  json["torch_path"] = text_or_null(python.torch_path);
  json["cupti_package"] = text_or_null(python.cupti_version);
  json["cupti_path"] = text_or_null(python.cupti_path);
  json["graphtag"] = text_or_null(python.graphtag_version);
  return json;
}

void add_line(std::string& text, std::string_view key, const std::string& value) {
  text += fmt::format("{:20}{}\n", key, value);
}

std::string library_line(const Json& library) {
  const std::string path = text_at(library, "path"), version = text_at(library, "version");
  if (path.empty()) return "not found";
  return version.empty() ? path : version + ", " + path;
}

std::string profiling_line(const Json& machine) {
  const auto restricted = machine.find("profiling_restricted");
  if (restricted == machine.end() || !restricted->is_boolean()) return "not known";
  if (!restricted->get<bool>()) return "allowed to everybody";
  return machine.value("administrator", false) ? "administrators only, and this process is one's"
                                               : "administrators only (counters; names and times need no right)";
}

}  // namespace

Json doctor_report(const DoctorFacts& facts) {
  Json report{{"schema", "graphtag.doctor/1"}, {"tool", "graphtag " + std::string(kVersion)}, {"works", false}};
  report["capture"] = facts.capture ? *facts.capture : Json(nullptr);
  report["libraries"] = {{"capture", text_or_null(facts.capture_library)},
                         {"injection", text_or_null(facts.injection_library)},
                         {"guard", text_or_null(facts.guard_library)}};
  report["machine"] = machine_json(facts.machine);
  report["python"] = python_json(facts.python);

  Json list = Json::array();
  Findings findings(list);
  find_about_machine(facts, findings);
  find_about_libraries(facts, findings);
  if (facts.capture) {
    find_about_devices(*facts.capture, findings);
    const auto theirs = facts.capture->find("findings");
    if (theirs != facts.capture->end() && theirs->is_array()) list.insert(list.end(), theirs->begin(), theirs->end());
    // They are here with the others.
    report["capture"].erase("findings");
    const auto is_error = [](const Json& finding) { return text_at(finding, "level") == "error"; };
    if (!facts.capture->value("works", false) && std::none_of(list.begin(), list.end(), is_error)) {
      findings.add("error", "libgraphtag.so does not say that it works here, nor why", kInstallWhole);
    }
  }
  find_about_python(facts.python, findings);
  const auto rank = [](const Json& finding) {
    const std::string level = text_at(finding, "level");
    return level == "error" ? 0 : level == "warning" ? 1 : 2;
  };
  std::stable_sort(list.begin(), list.end(), [rank](const Json& a, const Json& b) { return rank(a) < rank(b); });
  report["works"] = list.empty() || rank(list.front()) != 0;
  report["findings"] = std::move(list);
  return report;
}

std::string doctor_text(const Json& report) {
  std::string text;
  const Json& machine = object_at(report, "machine");
  const Json& capture = object_at(report, "capture");
  const Json& python = object_at(report, "python");
  const Json& libraries = object_at(report, "libraries");
  const auto or_none = [](const std::string& value) { return value.empty() ? std::string("none") : value; };

  add_line(text, "driver", or_none(text_at(machine, "driver")));
  for (const Json& gpu : machine.at("gpus")) add_line(text, "GPU", text_at(gpu, "model") + ", " + text_at(gpu, "uuid"));
  add_line(text, "CUDA", library_line(object_at(capture, "cuda")));
  add_line(text, "CUPTI", library_line(object_at(capture, "cupti")));
  const Json& subscription = object_at(capture, "subscription");
  const std::string holder = text_at(subscription, "holder");
  if (!subscription.empty())
    add_line(text, "CUPTI subscription", text_at(subscription, "state") + (holder.empty() ? "" : ", by " + holder));
  add_line(text, "profiling", profiling_line(machine));
  add_line(text, "container", text_at(machine, "container").empty() ? "no" : text_at(machine, "container"));
  add_line(text, "capture library", or_none(text_at(libraries, "capture")));
  add_line(text, "injection library", or_none(text_at(libraries, "injection")));
  add_line(text, "guard library", or_none(text_at(libraries, "guard")));
  const std::string python_path = text_at(python, "path");
  add_line(text, "Python", python_path.empty() ? "none on PATH" : text_at(python, "version") + ", " + python_path);
  const std::string torch = text_at(python, "torch");
  add_line(text, "PyTorch", torch.empty() ? "none" : torch + ", " + text_at(python, "torch_path"));
  if (!text_at(python, "cupti_package").empty()) {
    add_line(text, "PyTorch's CUPTI", text_at(python, "cupti_package") + ", " + text_at(python, "cupti_path"));
  }
  add_line(text, "graphtag",
           text_at(report, "tool").substr(9) +
               (text_at(python, "graphtag").empty() ? "" : ", Python package " + text_at(python, "graphtag")));

  text += report.value("works", false) ? "\nCapture can work here.\n" : "\nCapture cannot work here.\n";
  for (const Json& finding : report.at("findings")) {
    text += fmt::format("\n{}: {}\n  {}\n", text_at(finding, "level"), text_at(finding, "what"), text_at(finding, "do"));
  }
  return text;
}

}  // namespace graphtag::cli
