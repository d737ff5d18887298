// One thread at a time in cuGraphInstantiate. While activity is traced, two lock each other out for good inside CUPTI and the driver (CUDA 13.0: one
// holds a lock of CUPTI's and wants one of the driver's, the other the reverse), whoever does the tracing.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace graphtag {

class InstantiationTurns {
 public:
  // From here on threads wait for each other. Who is inside a call that began before does not count.
  void open() noexcept {
    const std::lock_guard lock(mutex_);
    open_ = true;
    taken_ = false;
    ++period_;
    freed_.notify_all();
  }
  // From here on nobody waits, and who waited goes on: the end of a call may no longer be told.
  void close() noexcept {
    const std::lock_guard lock(mutex_);
    open_ = false;
    freed_.notify_all();
  }

  // Before the call: waits while another thread is inside.
  void enter() noexcept {
    Turn& turn = turn_of_thread();
    std::unique_lock lock(mutex_);
    if (!open_) return;
    if (turn.of == this && turn.period == period_) {
      ++turn.calls;  // one entry point of the driver calls another
      return;
    }
    const std::uint64_t period = period_;
    freed_.wait(lock, [&] { return !taken_ || !open_ || period_ != period; });
    if (!open_ || period_ != period) return;
    taken_ = true;
    turn = {this, period, 1};
  }
  // Behind it.
  void leave() noexcept {
    Turn& turn = turn_of_thread();
    if (turn.of != this) return;
    const std::lock_guard lock(mutex_);
    const bool counts = turn.period == period_;
    if (counts && --turn.calls > 0) return;
    turn = {};
    if (!counts) return;
    taken_ = false;
    freed_.notify_one();
  }

 private:
  struct Turn {
    const InstantiationTurns* of = nullptr;
    std::uint64_t period = 0;
    int calls = 0;
  };
  static Turn& turn_of_thread() noexcept {
    static thread_local Turn turn;
    return turn;
  }

  std::mutex mutex_;  // of what follows
  std::condition_variable freed_;
  bool open_ = false;
  bool taken_ = false;
  std::uint64_t period_ = 0;  // counts open()
};

}  // namespace graphtag
