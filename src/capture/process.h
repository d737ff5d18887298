// The recorder and the registry of this process: the only global state. Made at the first use, never destroyed: a CUPTI callback
// may come as late as the exit of the process.
#pragma once

#include <cstdint>

#include "capture/recorder.h"
#include "registry/registry.h"

namespace graphtag {

struct Process {
  Registry registry;
  Recorder recorder;
  explicit Process(std::uint32_t* active_windows);
  // Opens a window with the driver that RealDriver::of_process() finds now.
  RecordStatus open_window(const WindowOptions& options, WindowId& window) noexcept;
};

// Null only where there was no memory for it. After fork() the child gets a new one, without windows, scopes or graphs, and
// leaks its parent's: another thread may have been inside. `active_windows` (exported by the C ABI) is kept up to date, and is
// the same at each call.
Process* process(std::uint32_t* active_windows) noexcept;

}  // namespace graphtag
