#include "watchdog.h"

#include <execinfo.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <mutex>
#include <thread>

namespace gpu_test {
namespace {

std::mutex mutex;
std::map<std::thread::id, std::string> doing;  // thread -> what it does; guarded by mutex
std::atomic<std::uint64_t> steps{0};

// Every thread prints where it is.
void print_stacks() {
  std::signal(SIGUSR1, [](int) {
    void* frames[64];
    backtrace_symbols_fd(frames, backtrace(frames, 64), STDOUT_FILENO);
    (void)!write(STDOUT_FILENO, "--\n", 3);
  });
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    syscall(SYS_tgkill, getpid(), std::stoi(task.path().filename()), SIGUSR1);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

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
      print_stacks();
      _exit(3);
    }
  }).detach();
}

}  // namespace gpu_test
