// What every verb says on standard error, in one form.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "trace/problems.h"

namespace graphtag::cli {

// What cannot be written there (a full disk, a reader that is gone) is lost: no reason to end anything.
void write_stderr(std::string_view text) noexcept;

// "graphtag: FILE: offset N: what, and what to do"; returns the exit code that goes with it.
int fail(const Error& error);
// "graphtag: warning: ..."
void warn(std::string_view text);
// "graphtag: ..." for the summary of a finished verb.
void note(std::string_view text);

// One line a kind: "3 events with unescaped quotes, repaired; first at offset 123: ..."
std::vector<std::string> describe(const Problems& problems);

}  // namespace graphtag::cli
