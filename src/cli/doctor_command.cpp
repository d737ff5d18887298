#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "cli/capture_facts.h"
#include "cli/commands.h"
#include "cli/doctor_report.h"
#include "cli/exit_code.h"
#include "cli/own_library.h"
#include "write/table_text.h"

namespace graphtag::cli {

int run_doctor(const DoctorArguments& arguments, const Common&) {
  DoctorFacts facts;
  facts.machine = examine_machine();
  const char* const search_path = std::getenv("PATH");
  facts.python = examine_python(search_path == nullptr ? "" : search_path);
  facts.capture_library = own_library("libgraphtag.so");
  facts.injection_library = own_library("libgraphtag_inject.so");
  facts.guard_library = own_library("libgraphtag_guard.so");
  if (!facts.capture_library.empty()) facts.capture = examine_capture(facts.capture_library, facts.python.cupti_path);
  const Json report = doctor_report(facts);
  const std::string text = arguments.json ? report.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"
                                          : printable(doctor_text(report), {.keep_line_breaks = true});
  std::fputs(text.c_str(), stdout);
  return report.at("works").get<bool>() ? kOk : kGateFailed;
}

}  // namespace graphtag::cli
