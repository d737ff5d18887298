// graphtag for autograd: the nodes that run in a backward pass are called what the forward scope was called that made them, with
// "autograd_phase": "backward" added. C++17, over ATen alone (no pybind, no CUDA); links with libgraphtag, libtorch_cpu and libc10.
//
//   gt_scope_open(annotation, &scope);
//   const std::uint64_t token = gt::autograd::open_interval({0});
//   auto hidden = attention(x);                       // forward
//   gt::autograd::close_interval(token);
//   gt_scope_close(scope);
//   ...
//   hidden.sum().backward();                          // in this capture or a later one: the kernels of attention's backward
//
// No hook is put on a node. Each thread numbers the nodes that it makes (at::sequence_number), so a scope is an interval of numbers
// on its thread. A node that runs tells its number and thread to a global RecordFunction callback, which is registered while any
// interval is remembered, also after the window: a later capture may run the backward.
//
//   thread 1   open "a"   nodes 3 4   open "b"   nodes 5 6 7   close   node 8   close
//   runs       3: a       5: b        8: a       9: none
//   backward   node 6 of thread 1, on any thread, runs within the scope b + {"autograd_phase": "backward"}
//
// AccumulateGrad has no number (-1), so it is left out. What makes nodes while it runs hands its annotation on: second order,
// recomputation of checkpoints.
#ifndef GRAPHTAG_TORCH_HPP
#define GRAPHTAG_TORCH_HPP

#include <ATen/SequenceNumber.h>
#include <ATen/record_function.h>
#include <c10/core/GradMode.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <string_view>
#include <type_traits>
#include <utility>

#include "graphtag/graphtag.h"
#include "graphtag/torch_intervals.hpp"

namespace gt {
namespace autograd {

struct Counters {
  std::uint64_t intervals_opened;     // by open_interval
  std::uint64_t intervals_dropped;    // of threads that had too many
  std::uint64_t nodes_seen;           // autograd nodes that ran while intervals were remembered, AccumulateGrad included
  std::uint64_t nodes_matched;        // of them, those that an interval covers
  std::uint64_t failures;             // events that could not be recorded: out of memory, a scope refused
  std::uint64_t intervals_now;        // remembered now, by all threads
  std::uint64_t callback_registered;  // 1 while the callback is
};

namespace detail {

// What is open for a node that runs.
struct Opened {
  gt_scope scope{0};
  std::uint64_t interval = 0;  // on its thread
};

// What was open for a node stays open while the engine fits the gradients that it returned to the shapes that they must have: the sum
// for a bias is made there.
struct Tail {
  Opened opened;
  std::uint64_t serial = 0;  // 0: there is none
};

struct NodeRun;

struct ThisThread {
  Store* store = nullptr;  // that all below are of
  Thread own;              // null until it opens an interval
  struct Cached {
    std::uint64_t key = 0;  // thread id or marker
    std::uint64_t version = 0;
    Thread thread;  // null: none
  };
  Cached forward, caller;  // looked up last
  Tail tail;
  std::uint64_t last_tail = 0;
  NodeRun* running = nullptr;  // the innermost node that runs on it, of those that have something open
};

inline ThisThread& this_thread(Store& all) {
  static thread_local ThisThread self;
  if (self.store != &all) {
    self = ThisThread{};
    self.store = &all;
  }
  return self;
}

inline ThisThread* this_thread_if_any() noexcept {
  Store* all = current_store.load(std::memory_order_acquire);
  return all == nullptr ? nullptr : &this_thread(*all);
}

template <typename Map>
ThreadIntervals* look_up(Store& all, const Map& map, ThisThread::Cached& cached, std::uint64_t key) {
  const std::uint64_t version = all.version.load(std::memory_order_acquire);
  if (cached.key != key || cached.version != version) {
    const std::lock_guard<std::mutex> lock(all.mutex);
    const auto found = map.find(key);
    cached = {key, all.version.load(std::memory_order_relaxed), found == map.end() ? Thread{} : found->second};
  }
  return cached.thread.get();
}

// --- Who called backward()
//
// The engine gives the thread-local callbacks of RecordFunction that the caller of backward() has to each thread that works for it.
// So a callback that never runs (it is disabled) marks that thread, and tells what is open there: nodes made for it belong to it.

inline std::unique_ptr<at::ObserverContext> mark(const at::RecordFunction& /*function*/) {
  return nullptr;
}

inline at::CallbackHandle marker_here() {
  for (const auto& entry : at::get_record_function_tls_().sorted_tls_callbacks_) {
    if (entry.callback_.start() == &mark) return entry.handle_;
  }
  return at::INVALID_CALLBACK_HANDLE;
}

inline ThreadIntervals& own_intervals(Store& all, ThisThread& self) {
  if (!self.own) {
    auto made = std::make_shared<ThreadIntervals>();
    const std::lock_guard<std::mutex> lock(all.mutex);
    all.threads[at::RecordFunction::currentThreadId()] = made;
    all.version.fetch_add(1, std::memory_order_release);
    self.own = std::move(made);
  }
  return *self.own;
}

inline void mark_this_thread(Store& all, ThisThread& self) {
  if (self.own->marker != at::INVALID_CALLBACK_HANDLE && marker_here() == self.own->marker) return;
  const at::CallbackHandle before = marker_here();
  if (before != at::INVALID_CALLBACK_HANDLE) at::removeCallback(before);
  const at::CallbackHandle marker = at::addThreadLocalCallback(at::RecordFunctionCallback(&mark));
  at::disableCallback(marker);
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.by_marker.erase(self.own->marker);
  all.by_marker[marker] = self.own;
  self.own->marker = marker;
  all.version.fetch_add(1, std::memory_order_release);
}

// --- The tail of a node

inline void close(ThisThread& self, const Opened& opened) noexcept {
  if (opened.scope.value != 0) gt_scope_close(opened.scope);
  try {
    if (self.own) self.own->close(at::sequence_number::peek(), opened.interval);
  } catch (...) {
    self.store->failures.fetch_add(1, std::memory_order_relaxed);
  }
}

inline void end_tail(ThisThread& self) noexcept {
  if (self.tail.serial != 0) close(self, std::exchange(self.tail, Tail{}).opened);
}

// The engine restores the thread's ThreadLocalDebugInfo when it is done with a node, whatever happened: this goes then.
class TailEnd final : public c10::DebugInfoBase {
 public:
  explicit TailEnd(std::uint64_t serial) noexcept : serial_(serial) {}
  TailEnd(const TailEnd&) = delete;
  TailEnd& operator=(const TailEnd&) = delete;
  ~TailEnd() override {
    ThisThread* self = this_thread_if_any();
    if (self != nullptr && self->tail.serial == serial_) end_tail(*self);
  }

 private:
  std::uint64_t serial_;
};

// Ends the tail where gradients of several nodes are added up: that is no node's work. The engine takes this callback away as well.
inline std::unique_ptr<at::ObserverContext> on_operator(const at::RecordFunction& function) {
  ThisThread* self = this_thread_if_any();
  if (self == nullptr || self->tail.serial == 0) return nullptr;
  const char* name = function.name();
  if (name != nullptr && (std::strcmp(name, "aten::add") == 0 || std::strcmp(name, "aten::add_") == 0)) end_tail(*self);
  return nullptr;
}

// An enum in older versions of PyTorch, an object with an address in newer ones.
template <typename Kind>
Kind debug_info_kind() {
  if constexpr (std::is_enum_v<Kind>) {
    return Kind::TEST_INFO_2;
  } else {
    static constexpr std::string_view name = "GRAPHTAG_TAIL";
    return Kind(&name);
  }
}

inline void begin_tail(ThisThread& self, const Opened& opened) noexcept {
  const std::uint64_t serial = ++self.last_tail;
  self.tail = {opened, serial};
  try {
    c10::ThreadLocalDebugInfo::_push(debug_info_kind<c10::DebugInfoKind>(), std::make_shared<TailEnd>(serial));
    static const at::RecordFunctionCallback callback =
        at::RecordFunctionCallback(&on_operator).scopes({at::RecordScope::FUNCTION});
    at::addThreadLocalCallback(callback);
  } catch (...) {
    end_tail(self);
    self.store->failures.fetch_add(1, std::memory_order_relaxed);
  }
}

// --- The callback

struct NodeRun final : at::ObserverContext {
  Opened opened;
  Handle region = 0;         // that its scope has
  NodeRun* outer = nullptr;  // a node within which it runs: backward() was called again
};

inline Handle lay_over(Handle outer, Handle inner) noexcept {
  gt_annotation merged{0};
  if (outer == 0 || outer == inner) return inner;
  if (inner == 0) return outer;
  return gt_annotation_merge({outer}, {inner}, &merged) == GT_OK ? merged.value : inner;
}

// What nodes get, besides, that are made while a node runs here: what is open on this thread, else where backward() was called.
inline Handle around(Store& all, ThisThread& self, bool& here) {
  if (self.own) {
    const Handle open = self.own->current();
    if (open != 0) {
      here = true;
      return open;
    }
  }
  const at::CallbackHandle marker = marker_here();
  if (marker == at::INVALID_CALLBACK_HANDLE) return 0;
  const ThreadIntervals* caller = look_up(all, all.by_marker, self.caller, marker);
  return caller == nullptr || caller == self.own.get() ? Handle{0} : caller->current();
}

inline std::unique_ptr<at::ObserverContext> on_node_begin(const at::RecordFunction& function) {
  Store& all = store();
  try {
    ThisThread& self = this_thread(all);
    end_tail(self);
    all.seen.fetch_add(1, std::memory_order_relaxed);
    const std::int64_t sequence = function.seqNr();
    if (sequence < 0) return nullptr;
    const ThreadIntervals* forward = look_up(all, all.threads, self.forward, function.forwardThreadId());
    const Handle region = forward == nullptr ? Handle{0} : forward->find(static_cast<std::uint64_t>(sequence));
    bool here = false;
    const Handle outer = around(all, self, here);
    const Handle inherited = lay_over(outer, region);
    if (region == 0 && (here || inherited == 0)) return nullptr;

    auto run = std::make_unique<NodeRun>();
    run->opened.interval = own_intervals(all, self).open(at::sequence_number::peek(), inherited);
    if (region != 0) {
      all.matched.fetch_add(1, std::memory_order_relaxed);
      if (gt_scope_open({region}, &run->opened.scope) != GT_OK) all.failures.fetch_add(1, std::memory_order_relaxed);
    }
    run->region = region;
    run->outer = std::exchange(self.running, run.get());
    return run;
  } catch (...) {
    all.failures.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }
}

inline void on_node_end(const at::RecordFunction& /*function*/, at::ObserverContext* context) {
  if (context == nullptr) return;
  ThisThread* self = this_thread_if_any();
  if (self == nullptr) return;  // a child of fork()
  end_tail(*self);
  const auto* run = static_cast<NodeRun*>(context);
  self->running = run->outer;
  const Opened opened = run->opened;
  // Nothing is recorded, and no nodes are made: what the engine does now does not matter.
  if (opened.scope.value == 0 && !c10::GradMode::is_enabled()) {
    close(*self, opened);
  } else {
    begin_tail(*self, opened);
  }
}

inline void ensure_registered(Store& all) {
  if (all.registered.load()) return;
  const std::lock_guard<std::mutex> lock(all.mutex);
  if (all.registered.load()) return;
  if (registration == at::INVALID_CALLBACK_HANDLE) {
    registration = at::addGlobalCallback(
        at::RecordFunctionCallback(&on_node_begin, &on_node_end).scopes({at::RecordScope::BACKWARD_FUNCTION}));
  }
  all.registered.store(true);
}

// The handle of {"autograd_phase": "backward"}.
inline gt_status phase_of(Store& all, gt_annotation& phase) noexcept {
  phase.value = all.phase.load(std::memory_order_relaxed);
  if (phase.value != 0) return GT_OK;
  static constexpr std::string_view json = R"({"autograd_phase":"backward"})";
  const gt_status status = gt_annotation_from_json(json.data(), json.size(), &phase);
  if (status == GT_OK) all.phase.store(phase.value, std::memory_order_relaxed);
  return status;
}

}  // namespace detail

// Nodes that this thread makes from now on belong to `annotation` (the merged scopes that are open here, as gt_scope_current says;
// {0} asks it), until close_interval. Open it right after the scope. 0: nothing is recorded now, or nothing is open, or it could
// not be remembered (Counters::failures).
inline std::uint64_t open_interval(gt_annotation annotation) noexcept {
  if (!gt_active()) return 0;
  detail::Store* all = nullptr;
  try {
    all = &detail::store();
    gt_annotation phase{0};
    gt_annotation merged{0};
    gt_status status = annotation.value == 0 ? gt_scope_current(&annotation) : gt_status{GT_OK};
    if (status == GT_OK && annotation.value == 0) return 0;
    if (status == GT_OK) status = detail::phase_of(*all, phase);
    if (status == GT_OK) status = gt_annotation_merge(annotation, phase, &merged);
    if (status != GT_OK) {
      all->failures.fetch_add(1, std::memory_order_relaxed);
      return 0;
    }
    detail::ThisThread& self = detail::this_thread(*all);
    detail::ThreadIntervals& own = detail::own_intervals(*all, self);
    detail::mark_this_thread(*all, self);
    const std::uint64_t token = own.open(at::sequence_number::peek(), merged.value);
    all->opened.fetch_add(1, std::memory_order_relaxed);
    detail::ensure_registered(*all);
    return token;
  } catch (...) {
    if (all != nullptr) all->failures.fetch_add(1, std::memory_order_relaxed);
    return 0;
  }
}

// On the thread that opened it, in any order; 0 does nothing. False: it is not open on this thread.
inline bool close_interval(std::uint64_t token) noexcept {
  if (token == 0) return true;
  detail::ThisThread* self = detail::this_thread_if_any();
  try {
    return self != nullptr && self->own && self->own->close(at::sequence_number::peek(), token);
  } catch (...) {
    self->store->failures.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
}

// A checkpoint's forward is run again, within a node of that forward: until it ends, what runs is of `annotation`, which was open where
// the checkpoint was called, not of that node's region. (Where the checkpoint is a node of its own, its region is that already.)
class [[nodiscard]] Recomputation {
 public:
  [[nodiscard]] explicit Recomputation(gt_annotation annotation) noexcept {
    self_ = gt_active() ? detail::this_thread_if_any() : nullptr;
    if (self_ == nullptr || self_->running == nullptr || !self_->own) return;
    detail::NodeRun& run = *self_->running;
    // Within a scope of the node's own function, which must stay the innermost.
    if (self_->own->innermost() != run.opened.interval) return;
    gt_annotation phase{0};
    gt_annotation merged{0};
    if (annotation.value != 0 &&
        (detail::phase_of(*self_->store, phase) != GT_OK || gt_annotation_merge(annotation, phase, &merged) != GT_OK))
      return;
    run_ = &run;
    if (run.opened.scope.value != 0) gt_scope_close(std::exchange(run.opened.scope, gt_scope{0}));
    if (merged.value == 0) return;
    try {
      opened_.interval = self_->own->open(at::sequence_number::peek(), merged.value);
      if (gt_scope_open(merged, &opened_.scope) == GT_OK) return;
    } catch (...) {
      opened_.interval = 0;
    }
    self_->store->failures.fetch_add(1, std::memory_order_relaxed);
  }
  Recomputation(const Recomputation&) = delete;
  Recomputation& operator=(const Recomputation&) = delete;
  ~Recomputation() {
    if (run_ == nullptr || self_->running != run_) return;
    if (opened_.interval != 0) detail::close(*self_, opened_);
    if (run_->region != 0 && gt_scope_open({run_->region}, &run_->opened.scope) != GT_OK)
      self_->store->failures.fetch_add(1, std::memory_order_relaxed);
  }

 private:
  detail::ThisThread* self_ = nullptr;
  detail::NodeRun* run_ = nullptr;  // null: nothing was changed
  detail::Opened opened_;
};

// Drops all intervals, and takes the callback away; those that are open go on, and keep it.
inline void forget() noexcept {
  detail::Store& all = detail::store();
  const std::lock_guard<std::mutex> lock(all.mutex);
  // Before the intervals are looked at: a thread that opens one meanwhile registers it again.
  all.registered.store(false);
  bool left = false;
  for (auto entry = all.threads.begin(); entry != all.threads.end();) {
    entry->second->forget();
    const bool empty = entry->second->empty();
    left = left || !empty;
    // Held by the maps alone: its thread is gone.
    const bool marked = all.by_marker.count(entry->second->marker) != 0;
    const bool gone = empty && entry->second.use_count() == (marked ? 2 : 1);
    if (gone) all.by_marker.erase(entry->second->marker);
    entry = gone ? all.threads.erase(entry) : std::next(entry);
  }
  all.version.fetch_add(1, std::memory_order_release);
  if (left) {
    all.registered.store(true);
  } else if (detail::registration != at::INVALID_CALLBACK_HANDLE) {
    at::removeCallback(std::exchange(detail::registration, at::INVALID_CALLBACK_HANDLE));
  }
}

inline Counters counters() noexcept {
  detail::Store& all = detail::store();
  Counters counted{};
  counted.intervals_opened = all.opened.load(std::memory_order_relaxed);
  counted.nodes_seen = all.seen.load(std::memory_order_relaxed);
  counted.nodes_matched = all.matched.load(std::memory_order_relaxed);
  counted.failures = all.failures.load(std::memory_order_relaxed);
  counted.callback_registered = all.registered.load() ? 1 : 0;
  const std::lock_guard<std::mutex> lock(all.mutex);
  for (const auto& [id, thread] : all.threads) {
    counted.intervals_now += thread->size();
    counted.intervals_dropped += thread->dropped();
  }
  return counted;
}

}  // namespace autograd
}  // namespace gt

#endif
