// Says what each thread of the test is doing, so that a hang of the driver, the GPU or graphtag can be told from slow work.
#pragma once

#include <string>

namespace gpu_test {

// This thread does `what` from now on. `detail` outlives it, or is empty.
void now_doing(const char* what, const std::string& detail = {});

// Ends the process with code 3 if no thread says anything new for `seconds`, after printing what each was doing.
void start_watchdog(double seconds);

}  // namespace gpu_test
