#include "inject/ranges.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <new>
#include <unordered_map>
#include <utility>
#include <vector>

namespace graphtag::inject {

struct Ranges::Range {
  const Domain* domain = nullptr;
  Label* label = nullptr;          // null: there was no room for it
  std::unique_ptr<Label> passing;  // instead, to be drawn
  gt_scope scope{};                // 0: no scope
  std::int64_t start_ns = 0;
  nvtx::RangeId id = 0;  // of start and end; 0: push and pop
};

struct Ranges::Thread {
  std::timed_mutex mutex;   // held by the thread itself but for ends on other threads and draw_unfinished
  std::int64_t id = 0;      // the system's
  std::vector<Range> open;  // outermost first
  struct Depth {
    const Domain* domain;
    int kept;     // pushed ranges in `open`
    int counted;  // further in, and only counted
  };
  std::vector<Depth> depths;
  std::uint32_t window = 0;  // that the scopes are of

  Depth& depth_of(const Domain& domain) {
    for (Depth& depth : depths) {
      if (depth.domain == &domain) return depth;
    }
    return depths.emplace_back(Depth{&domain, 0, 0});
  }
};

struct Ranges::Threads {
  std::mutex mutex;                                                    // of what follows
  std::vector<std::shared_ptr<Thread>> all;                            // that live, and have or had ranges
  std::unordered_map<nvtx::RangeId, std::shared_ptr<Thread>> started;  // open start/end range -> thread it is of
};

// Lets go of the thread's state when the thread ends, after which its calls are passed over.
struct Ranges::ThreadPlace {
  std::shared_ptr<Threads> owner;
  std::shared_ptr<Thread> state;
  static thread_local ThreadPlace place;
  // Outlives the place: what a thread's last destructors call comes after it is gone.
  static thread_local bool is_gone;

  ~ThreadPlace() {
    is_gone = true;
    if (state == nullptr) return;
    {
      const std::lock_guard lock(owner->mutex);
      std::erase(owner->all, state);
    }
    // Nobody can pop what is still open; what was started may be ended elsewhere.
    const std::lock_guard lock(state->mutex);
    for (const Range& range : state->open) {
      if (range.id == 0) draw(range, state->id, GT_RANGE_UNFINISHED);
    }
    std::erase_if(state->open, [](const Range& range) { return range.id == 0; });
  }
};
thread_local Ranges::ThreadPlace Ranges::ThreadPlace::place;
thread_local bool Ranges::ThreadPlace::is_gone = false;

Ranges::Ranges(Names& names) : names_(&names), threads_(std::make_shared<Threads>()) {}

Ranges::Thread* Ranges::this_thread() {
  if (ThreadPlace::is_gone) return nullptr;
  ThreadPlace& place = ThreadPlace::place;
  if (place.owner != threads_) {
    auto made = std::make_shared<Thread>();
    made->id = static_cast<std::int64_t>(syscall(SYS_gettid));
    const std::lock_guard lock(threads_->mutex);
    threads_->all.push_back(made);
    place.state = std::move(made);
    place.owner = threads_;
  }
  return place.state.get();
}

void Ranges::draw(const Range& range, std::int64_t thread_id, std::uint32_t flags) {
  if (gt_recording_active() == 0) return;
  const Label* label = range.label != nullptr ? range.label : range.passing.get();
  if (label == nullptr || !range.domain->is_wanted) return;
  gt_range drawn{};
  drawn.size = sizeof drawn;
  drawn.flags = flags | (range.id != 0 ? std::uint32_t{GT_RANGE_OVERLAPS} : 0);
  drawn.start_ns = range.start_ns;
  drawn.end_ns = (flags & GT_RANGE_MARK) != 0 ? range.start_ns : gt_record_now();
  drawn.thread = thread_id;
  const LabelKey& key = label->key;
  switch (key.payload.type) {
    case nvtx::PayloadType::u64:
      drawn.payload_type = GT_PAYLOAD_UINT64;
      break;
    case nvtx::PayloadType::i64:
      drawn.payload_type = GT_PAYLOAD_INT64;
      break;
    case nvtx::PayloadType::f64:
      drawn.payload_type = GT_PAYLOAD_DOUBLE;
      break;
    default:
      drawn.payload_type = GT_PAYLOAD_NONE;
  }
  drawn.payload.as_uint64 = key.payload.bits;
  drawn.text = label->text.data();
  drawn.text_length = label->text.size();
  drawn.domain = key.domain->name.data();
  drawn.domain_length = key.domain->name.size();
  const std::string number = key.category_name == nullptr && key.category != 0 ? std::to_string(key.category) : std::string{};
  const std::string& category = key.category_name != nullptr ? *key.category_name : number;
  drawn.category = category.data();
  drawn.category_length = category.size();
  (void)gt_record_range(&drawn);  // what is dropped for want of room is counted there
}

// With the thread's lock held.
void Ranges::open_scope(Thread& thread, Range& range) {
  range.scope = {0};
  Label* label = range.label;
  if (label == nullptr || label->json.empty() || gt_active() == 0) return;
  gt_annotation outer{};
  if (gt_scope_current(&outer) != GT_OK) return;
  const auto is_scope = [](const Range& open) { return open.scope.value != 0; };
  if (thread.open.size() >= kScopesMax &&
      static_cast<std::size_t>(std::count_if(thread.open.begin(), thread.open.end(), is_scope)) >= kScopesMax) {
    counts_.nestings_refused.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  // Once more if the handle is of the process from which this one was forked.
  for (int attempt = 0; attempt < 2; ++attempt) {
    gt_annotation annotation{label->annotation.load(std::memory_order_relaxed)};
    if (annotation.value == 0) {
      if (gt_annotation_from_json(label->json.data(), label->json.size(), &annotation) != GT_OK) return;
      label->annotation.store(annotation.value, std::memory_order_relaxed);
    }
    if (!nestings_.has_or_adds(spread(outer.value) ^ annotation.value)) {
      counts_.nestings_refused.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    const gt_status status = gt_scope_open(annotation, &range.scope);
    if (status != GT_ERROR_INVALID_HANDLE) return;
    label->annotation.store(0, std::memory_order_relaxed);
  }
}

// With the thread's lock held, on the thread itself: opens the scopes of a window that is new.
void Ranges::catch_up(Thread& thread) {
  const std::uint32_t window = window_.load(std::memory_order_acquire);
  if (thread.window == window) return;
  thread.window = window;
  // The window was open before it was counted: what began in between has a scope in it.
  for (auto range = thread.open.rbegin(); range != thread.open.rend(); ++range) (void)gt_scope_close(range->scope);
  std::vector<Range> open = std::move(thread.open);
  thread.open.clear();
  thread.open.reserve(open.size() + 1);
  for (Range& range : open) {
    open_scope(thread, range);
    thread.open.push_back(std::move(range));
  }
}

void Ranges::make_range(const Domain& domain, const Attributes& attributes, const Thread& thread, Range& range) {
  range.domain = &domain;
  range.start_ns = gt_record_now();
  if (!domain.is_wanted) return;
  Within within;
  within.other_domain = std::any_of(thread.open.begin(), thread.open.end(),
                                    [](const Range& outer) { return outer.domain->id != 0 && outer.domain->is_wanted; });
  const auto says_category = [](const Range& outer) {
    return outer.label != nullptr && (outer.label->key.category != 0 || outer.label->key.says_no_category);
  };
  const auto outer = std::find_if(thread.open.rbegin(), thread.open.rend(), says_category);
  within.others_category = outer != thread.open.rend() && outer->label->key.category != 0 && outer->domain != &domain;
  range.label = names_->label(domain, attributes, within);
  if (range.label == nullptr) range.passing = names_->passing_label(domain, attributes);
}

int Ranges::push(const Domain& domain, const Attributes& attributes) {
  Thread* thread = this_thread();
  if (thread == nullptr) return nvtx::kNoPushPopTracking;
  counts_.begun.fetch_add(1, std::memory_order_relaxed);
  const std::lock_guard lock(thread->mutex);
  catch_up(*thread);
  Thread::Depth& depth = thread->depth_of(domain);
  if (thread->open.size() >= kOpenRangesMax || depth.counted != 0) {
    counts_.too_many_open.fetch_add(1, std::memory_order_relaxed);
    ++depth.counted;
    return depth.kept + depth.counted - 1;
  }
  Range range;
  make_range(domain, attributes, *thread, range);
  thread->open.reserve(thread->open.size() + 1);  // a scope that was opened is kept
  open_scope(*thread, range);
  thread->open.push_back(std::move(range));
  return depth.kept++;
}

int Ranges::pop(const Domain& domain) {
  Thread* thread = this_thread();
  if (thread == nullptr) return -1;
  const std::lock_guard lock(thread->mutex);
  catch_up(*thread);
  Thread::Depth& depth = thread->depth_of(domain);
  if (depth.counted != 0) {
    --depth.counted;
    return depth.kept + depth.counted;
  }
  const auto found = std::find_if(thread->open.rbegin(), thread->open.rend(),
                                  [&](const Range& range) { return range.id == 0 && range.domain == &domain; });
  if (found == thread->open.rend()) {
    counts_.unmatched.fetch_add(1, std::memory_order_relaxed);
    return -1;
  }
  (void)gt_scope_close(found->scope);
  draw(*found, thread->id, 0);
  thread->open.erase(std::next(found).base());
  return --depth.kept;
}

nvtx::RangeId Ranges::start(const Domain& domain, const Attributes& attributes) {
  const nvtx::RangeId id = last_id_.fetch_add(1, std::memory_order_relaxed) + 1;
  Thread* thread = this_thread();
  if (thread == nullptr) return id;
  counts_.begun.fetch_add(1, std::memory_order_relaxed);
  {
    const std::lock_guard lock(threads_->mutex);
    if (threads_->started.size() >= kStartedRangesMax) {
      counts_.too_many_open.fetch_add(1, std::memory_order_relaxed);
      return id;
    }
    threads_->started[id] = ThreadPlace::place.state;
  }
  const std::lock_guard lock(thread->mutex);
  catch_up(*thread);
  Range range;
  make_range(domain, attributes, *thread, range);
  range.id = id;
  thread->open.reserve(thread->open.size() + 1);
  open_scope(*thread, range);
  thread->open.push_back(std::move(range));
  return id;
}

bool Ranges::end(nvtx::RangeId id) {
  Thread* self = this_thread();
  std::shared_ptr<Thread> thread;
  {
    const std::lock_guard lock(threads_->mutex);
    const auto found = threads_->started.find(id);
    if (found != threads_->started.end()) {
      thread = std::move(found->second);
      threads_->started.erase(found);
    }
  }
  if (thread != nullptr) {
    const std::lock_guard lock(thread->mutex);
    if (thread.get() == self) catch_up(*thread);
    const auto found = std::find_if(thread->open.begin(), thread->open.end(), [&](const Range& range) { return range.id == id; });
    if (found != thread->open.end()) {
      (void)gt_scope_close_anywhere(found->scope);
      draw(*found, thread->id, 0);
      thread->open.erase(found);
      return true;
    }
  }
  counts_.unmatched.fetch_add(1, std::memory_order_relaxed);
  return false;
}

void Ranges::mark(const Domain& domain, const Attributes& attributes) {
  counts_.marks.fetch_add(1, std::memory_order_relaxed);
  if (gt_recording_active() == 0 || !domain.is_wanted) return;
  Range point;
  point.domain = &domain;
  point.start_ns = gt_record_now();
  point.passing = names_->passing_label(domain, attributes);
  draw(point, 0, GT_RANGE_MARK);
}

void Ranges::window_opened() {
  window_.fetch_add(1, std::memory_order_acq_rel);
  Thread* thread = this_thread();
  if (thread == nullptr) return;
  const std::lock_guard lock(thread->mutex);
  catch_up(*thread);
}

void Ranges::draw_unfinished() {
  std::vector<std::shared_ptr<Thread>> threads;
  {
    const std::lock_guard lock(threads_->mutex);
    threads = threads_->all;
    for (const auto& [id, thread] : threads_->started) threads.push_back(thread);  // it may have ended
  }
  std::sort(threads.begin(), threads.end());
  threads.erase(std::unique(threads.begin(), threads.end()), threads.end());
  for (const auto& thread : threads) {
    const std::unique_lock lock(thread->mutex, std::chrono::milliseconds(10));
    if (!lock.owns_lock()) continue;
    for (const Range& range : thread->open) draw(range, thread->id, GT_RANGE_UNFINISHED);
  }
}

void Ranges::lock_for_fork() noexcept {
  threads_->mutex.lock();
  if (!ThreadPlace::is_gone && ThreadPlace::place.owner == threads_) ThreadPlace::place.state->mutex.lock();
}

void Ranges::unlock_after_fork() noexcept {
  if (!ThreadPlace::is_gone && ThreadPlace::place.owner == threads_) ThreadPlace::place.state->mutex.unlock();
  threads_->mutex.unlock();
}

void Ranges::start_anew() noexcept {
  try {
    threads_->all.clear();
    threads_->started.clear();
    const ThreadPlace& place = ThreadPlace::place;
    if (ThreadPlace::is_gone || place.owner != threads_) return;
    Thread& thread = *place.state;
    thread.id = static_cast<std::int64_t>(syscall(SYS_gettid));
    for (Range& range : thread.open) {
      range.scope = {0};
      if (range.id != 0) threads_->started[range.id] = place.state;
    }
    threads_->all.push_back(place.state);
  } catch (const std::bad_alloc&) {
    return;
  }
}

}  // namespace graphtag::inject
