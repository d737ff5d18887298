// What graphtag/torch.hpp remembers: which autograd nodes were made in which scope, for all threads of the process.
#ifndef GRAPHTAG_TORCH_INTERVALS_HPP
#define GRAPHTAG_TORCH_INTERVALS_HPP

#include <ATen/record_function.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "graphtag/graphtag.h"

namespace gt {
namespace autograd {

// How many intervals of one thread are remembered, beyond which the oldest are dropped (and counted).
inline constexpr std::size_t kMaxIntervals = std::size_t{1} << 20;

namespace detail {

using Handle = std::uint64_t;  // gt_annotation::value; 0: none

// The intervals of one thread, cut into runs. Its own thread writes, any thread reads.
class ThreadIntervals {
 public:
  // From `sequence` on; nonzero. May throw std::bad_alloc, as `close` may.
  std::uint64_t open(std::uint64_t sequence, Handle annotation) {
    const std::lock_guard<std::mutex> lock(mutex_);
    open_.reserve(open_.size() + 1);
    start_run(sequence, annotation);
    open_.push_back({++last_token_, annotation});
    return last_token_;
  }

  // In any order. False: it is not open.
  bool close(std::uint64_t sequence, std::uint64_t token) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = std::find_if(open_.rbegin(), open_.rend(), [token](const Open& open) { return open.token == token; });
    if (found == open_.rend()) return false;
    open_.erase(std::next(found).base());
    start_run(sequence, top());
    return true;
  }

  Handle find(std::uint64_t sequence) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto after = std::upper_bound(runs_.begin(), runs_.end(), sequence,
                                        [](std::uint64_t number, const Run& run) { return number < run.first; });
    return after == runs_.begin() ? Handle{0} : std::prev(after)->annotation;
  }

  // What nodes get that this thread makes now.
  Handle current() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return top();
  }

  // The token of the interval opened last; 0: none is open.
  std::uint64_t innermost() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return open_.empty() ? 0 : open_.back().token;
  }

  // An interval that is open goes on.
  void forget() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (open_.empty()) {
      std::deque<Run>().swap(runs_);
    } else {
      runs_.erase(runs_.begin(), std::prev(runs_.end()));
    }
    named_ = open_.empty() ? 0 : 1;
  }

  std::uint64_t size() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return named_;
  }
  bool empty() const { return size() == 0; }
  std::uint64_t dropped() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return dropped_;
  }

  // Of the callback that marks the thread, see mark().
  at::CallbackHandle marker = at::INVALID_CALLBACK_HANDLE;

 private:
  struct Run {
    std::uint64_t first;
    Handle annotation;
  };
  struct Open {
    std::uint64_t token;
    Handle annotation;
  };

  Handle top() const { return open_.empty() ? Handle{0} : open_.back().annotation; }

  void start_run(std::uint64_t sequence, Handle annotation) {
    // No node was made since the last run began: it is empty.
    if (!runs_.empty() && runs_.back().first == sequence) {
      uncount(runs_.back());
      runs_.pop_back();
    }
    if ((runs_.empty() ? Handle{0} : runs_.back().annotation) == annotation) return;
    runs_.push_back({sequence, annotation});
    named_ += annotation != 0;
    while (named_ > kMaxIntervals) {
      if (runs_.front().annotation != 0) ++dropped_;
      uncount(runs_.front());
      runs_.pop_front();
    }
  }
  void uncount(const Run& run) { named_ -= run.annotation != 0; }

  mutable std::mutex mutex_;  // of all below
  std::deque<Run> runs_;      // ascending by `first`; neighbours differ
  std::vector<Open> open_;    // innermost last
  std::uint64_t named_ = 0;   // runs with an annotation
  std::uint64_t dropped_ = 0;
  std::uint64_t last_token_ = 0;
};

using Thread = std::shared_ptr<ThreadIntervals>;

// All intervals of the process. Never destroyed: engine threads run until the process ends.
struct Store {
  std::mutex mutex;
  std::unordered_map<std::uint64_t, Thread> threads;         // RecordFunction::currentThreadId() -> its intervals; under mutex
  std::unordered_map<at::CallbackHandle, Thread> by_marker;  // under mutex
  std::atomic<bool> registered{false};                       // the callback is, for this store
  std::atomic<std::uint64_t> version{1};                     // of both maps
  std::atomic<Handle> phase{0};                              // {"autograd_phase": "backward"}
  std::atomic<std::uint64_t> opened{0}, seen{0}, matched{0}, failures{0};
};

inline std::atomic<Store*> current_store{nullptr};

// Of the callback; under the store's mutex. A child of fork() has its parent's callback too, so this is not in the store.
inline at::CallbackHandle registration = at::INVALID_CALLBACK_HANDLE;

// After fork() the child gets an empty one: another thread may have held a lock, and handles of annotations are the parent's.
inline Store& store() {
  Store* existing = current_store.load(std::memory_order_acquire);
  if (existing != nullptr) return *existing;
  static std::once_flag once;
  std::call_once(once, [] { pthread_atfork(nullptr, nullptr, [] { current_store.store(nullptr, std::memory_order_release); }); });
  auto* made = new Store;
  if (current_store.compare_exchange_strong(existing, made, std::memory_order_acq_rel)) return *made;
  delete made;
  return *existing;
}

}  // namespace detail
}  // namespace autograd
}  // namespace gt

#endif
