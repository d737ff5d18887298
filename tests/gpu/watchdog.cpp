#include "watchdog.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <map>
#include <mutex>
#include <thread>

namespace gpu_test {
namespace {

std::mutex mutex;
std::map<std::thread::id, std::string> doing;  // thread -> what it does; guarded by mutex
std::atomic<std::uint64_t> steps{0};

}  // namespace

void now_doing(const char* what, const std::string& detail) {
  ++steps;
  const std::lock_guard lock(mutex);
  std::string& mine = doing[std::this_thread::get_id()];
  mine = what;
  if (!detail.empty()) mine += ": " + detail;
}

void start_watchdog(double seconds) {
  std::thread([seconds] {
    std::uint64_t seen = steps;
    double idle = 0;
    for (;;) {
      std::this_thread::sleep_for(std::chrono::seconds(1));
      idle = steps == seen ? idle + 1 : 0;
      seen = steps;
      if (idle < seconds) continue;
      std::printf("gpu_test: nothing happened for %.0f s\n", idle);
      const std::lock_guard lock(mutex);
      for (const auto& [thread, what] : doing) std::printf("  a thread was at: %s\n", what.c_str());
      std::fflush(stdout);
      _exit(3);
    }
  }).detach();
}

}  // namespace gpu_test
