// What works on this machine and what to do about the rest, from facts that were gathered: graphtag.doctor/1.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"
#include "base/json.h"
#include "cli/machine_facts.h"
#include "cli/python_facts.h"

namespace graphtag::cli {

struct DoctorFacts {
  std::string capture_library, injection_library, guard_library;  // paths; empty: not found
  Result<Json> capture = Error{};                                 // what libgraphtag.so says, if it was found
  MachineFacts machine;
  PythonFacts python;
};

// {"schema", "tool", "works", "capture": as gt_doctor_json or null, "libraries", "machine", "python", "findings": [{"level", "what", "do"}]};
// "works" is whether capture can work: then no finding has the level "error".
Json doctor_report(const DoctorFacts& facts);
// For people: a line a fact, then the verdict and the findings.
std::string doctor_text(const Json& report);

}  // namespace graphtag::cli
