// The libraries that were installed with the command.
#pragma once

#include <string>

namespace graphtag::cli {

// The path of `name`, such as "libgraphtag.so": beside the command, in ../lib, or where this installation has its libraries. Empty if there is none.
std::string own_library(const std::string& name);

// What to do where one is not there, or is another version's.
inline constexpr const char* kInstallWhole = "install graphtag as a whole (where it was built: all of it, ./dev build)";

}  // namespace graphtag::cli
