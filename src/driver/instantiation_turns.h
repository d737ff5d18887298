// One thread at a time in cuGraphInstantiate. While activity is traced, two lock each other out for good inside CUPTI and the driver (CUDA 13.0: one
// holds a lock of CUPTI's and wants one of the driver's, the other the reverse), whoever does the tracing.
#pragma once

#include <condition_variable>
#include <mutex>

namespace graphtag {

class InstantiationTurns {
 public:
  // Before the call: waits while another thread is inside. Not while closed.
  void enter() noexcept {
    Depth& depth = depth_of_thread();
    if (depth.of == this) {
      ++depth.calls;  // one entry point of the driver calls another
      return;
    }
    std::unique_lock lock(mutex_);
    freed_.wait(lock, [this] { return !taken_ || closed_; });
    if (closed_) return;
    taken_ = true;
    depth = {this, 1};
  }
  // Behind it.
  void leave() noexcept {
    Depth& depth = depth_of_thread();
    if (depth.of != this || --depth.calls > 0) return;
    depth = {};
    const std::lock_guard lock(mutex_);
    taken_ = false;
    freed_.notify_one();
  }
  // From here on nobody waits, and who waited goes on: the end of a call may no longer be told.
  void close() noexcept {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    freed_.notify_all();
  }

 private:
  struct Depth {
    const InstantiationTurns* of = nullptr;
    int calls = 0;
  };
  static Depth& depth_of_thread() noexcept {
    static thread_local Depth depth;
    return depth;
  }

  std::mutex mutex_;
  std::condition_variable freed_;
  bool taken_ = false;
  bool closed_ = false;
};

}  // namespace graphtag
