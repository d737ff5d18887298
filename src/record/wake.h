// Wakes the writer's thread, from inside callbacks: never waits, and calls the kernel only where the writer sleeps.
#pragma once

#include <chrono>
#include <semaphore>

namespace graphtag {

class Wake {
 public:
  void signal() noexcept { semaphore_.release(); }

  // Until somebody signals, or the time is over. Signals that came meanwhile count as one.
  void wait_until(std::chrono::steady_clock::time_point deadline) noexcept {
    if (!semaphore_.try_acquire_until(deadline)) return;
    while (semaphore_.try_acquire()) {
    }
  }

 private:
  std::counting_semaphore<> semaphore_{0};
};

}  // namespace graphtag
