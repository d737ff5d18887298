// The exit codes of every verb (docs/command.md).
#pragma once

namespace graphtag::cli {

enum ExitCode : int {
  kOk = 0,
  kGateFailed = 1,   // a bound that the user set was missed
  kUsage = 2,        // the command line makes no sense, or its files do not fit together
  kUnreadable = 3,   // a file cannot be read or written, or is of an unknown kind
  kCannotJudge = 4,  // a bound was set, but the data cannot tell
};

}  // namespace graphtag::cli
