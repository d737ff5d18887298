// One function a verb; each returns the exit code.
#pragma once

#include "cli/arguments.h"

namespace graphtag::cli {

int run_annotate(const AnnotateArguments& arguments, const Common& common);
int run_report(const ReportArguments& arguments, const Common& common);
int run_check(const CheckArguments& arguments, const Common& common);
int run_doctor(const DoctorArguments& arguments, const Common& common);
int run_show(const ShowArguments& arguments, const Common& common);
int run_run(const RunArguments& arguments, const Common& common);

// The whole command.
int run(int argc, const char* const* argv);

}  // namespace graphtag::cli
