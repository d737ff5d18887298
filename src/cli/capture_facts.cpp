#include "cli/capture_facts.h"
#include "cli/own_library.h"

#include <dlfcn.h>
#include <graphtag/graphtag.h>

#include <nlohmann/json.hpp>

namespace graphtag::cli {
namespace {

using DoctorJson = decltype(&gt_doctor_json);

Result<Json> ask(DoctorJson doctor, const std::string& library) {
  constexpr std::uint32_t kFlags = GT_DOCTOR_INIT_CUDA | GT_DOCTOR_TRY_SUBSCRIBE;
  std::string text;
  // It may have grown since it was measured.
  for (int attempt = 0; attempt < 3; ++attempt) {
    std::size_t length = 0;
    const gt_status status = doctor(kFlags, text.empty() ? nullptr : text.data(), text.size(), &length);
    if (status == GT_OK && !text.empty()) return parse_json(text.substr(0, length));
    if (status != GT_OK && status != GT_ERROR_BUFFER_TOO_SMALL) break;
    text.assign(length + 4096, '\0');
  }
  return Error{ErrorCode::unsupported, std::string("it does not say what works; ") + kInstallWhole, library, {}};
}

bool works(const Result<Json>& report) {
  return report && report->is_object() && report->value("works", false);
}

bool has_driver(const Result<Json>& report) {
  return report && report->is_object() && report->contains("cuda") && (*report)["cuda"].is_object() &&
         (*report)["cuda"].value("path", Json()).is_string();
}

}  // namespace

Result<Json> examine_capture(const std::string& library, const std::string& cupti) {
  void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return Error{ErrorCode::unsupported, std::string("it cannot be loaded: ") + dlerror(), library, {}};
  const auto doctor = reinterpret_cast<DoctorJson>(dlsym(handle, "gt_doctor_json"));
  if (doctor == nullptr) {
    return Error{ErrorCode::unsupported,
                 std::string("it has no gt_doctor_json: it is older than the command; ") + kInstallWhole,
                 library,
                 {}};
  }
  Result<Json> report = ask(doctor, library);
  // The library looks again once more libraries are in the process. Without a driver CUPTI stays out.
  if (!works(report) && has_driver(report) && !cupti.empty() && dlopen(cupti.c_str(), RTLD_NOW | RTLD_LOCAL) != nullptr)
    report = ask(doctor, library);
  return report;
}

}  // namespace graphtag::cli
