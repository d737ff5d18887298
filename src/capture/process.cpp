#include "capture/process.h"

#include <pthread.h>

#include <atomic>
#include <new>

#include "driver/real_driver.h"

namespace graphtag {
namespace {

std::atomic<Process*> current{nullptr};
std::atomic<std::uint32_t*> active{nullptr};

// In the child no window is open, and nobody is left to unlock what other threads had locked.
void start_anew() {
  current.store(nullptr);
  if (std::uint32_t* windows = active.load()) __atomic_store_n(windows, 0, __ATOMIC_RELAXED);
}

void watch_forks() {
  static std::atomic<bool> watching{false};
  if (!watching.exchange(true)) pthread_atfork(nullptr, nullptr, &start_anew);
}

}  // namespace

Process::Process(std::uint32_t* active_windows)
    : recorder(RealDriver::of_process().driver(), registry, numbering_checked(RealDriver::of_process().facts().cuda.version),
               active_windows) {}

RecordStatus Process::open_window(const WindowOptions& options, WindowId& window) noexcept {
  try {
    const RealDriver& found = RealDriver::of_process();
    recorder.set_driver(found.driver(), numbering_checked(found.facts().cuda.version));
  } catch (...) {
    return RecordStatus::out_of_memory;
  }
  return recorder.open_window(options, window);
}

Process* process(std::uint32_t* active_windows) noexcept {
  if (Process* known = current.load(std::memory_order_acquire)) return known;
  active.store(active_windows);
  watch_forks();
  try {
    auto* made = new Process(active_windows);
    Process* known = nullptr;
    if (current.compare_exchange_strong(known, made)) return made;
    delete made;
    return known;
  } catch (...) {
    return nullptr;
  }
}

}  // namespace graphtag
