// A second thread of a program under test; nothing but the standard library, so that GPU programs have it too.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace graphtag {

// Runs closures on a thread of its own, one at a time, while the caller waits: a thread of the program that adds to somebody's capture.
class Worker {
 public:
  Worker() : thread_([this] { loop(); }) {}
  ~Worker() {
    run(nullptr);
    thread_.join();
  }
  void run(const std::function<void()>& work) {
    std::unique_lock lock(mutex_);
    work_ = work;
    ready_ = true;
    changed_.notify_all();
    changed_.wait(lock, [&] { return !ready_; });
  }

 private:
  void loop() {
    std::unique_lock lock(mutex_);
    for (bool more = true; more;) {
      changed_.wait(lock, [&] { return ready_; });
      more = work_ != nullptr;
      if (more) work_();
      ready_ = false;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> work_;
  bool ready_ = false;
  std::thread thread_;
};

}  // namespace graphtag
