// The ranges that are open on the program's threads. While graphtag observes graphs each is a scope as well, and when it ends while a
// recording goes on it is drawn on its thread's track.
//
//   thread 7   push "step"   start "load" -> 12   push "mlp"   end 12 (here or on another thread)   pop   pop
//   scopes     step          step.load            step.load.mlp   step.mlp                            step   -
//
// Pushes and pops count for each domain apart, as NVTX wants: a pop ends its own domain's innermost range, wherever it stands. Ranges
// that are open when a window opens become scopes then: those of the thread that opens it at once, others at their thread's next call.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "graphtag/graphtag.h"
#include "inject/bounded_set.h"
#include "inject/names.h"

namespace graphtag::inject {

constexpr std::size_t kOpenRangesMax = 4096;        // a thread's; deeper ones are only counted
constexpr std::size_t kScopesMax = 64;              // of them scopes: a program that forgets to pop would make paths without end
constexpr std::size_t kStartedRangesMax = 262'144;  // of the process
constexpr std::size_t kNestingsMax = 65'536;        // distinct pairs of what is open and what is opened within

struct RangeCounts {  // since the process began
  std::atomic<std::uint64_t> begun{0};
  std::atomic<std::uint64_t> marks{0};
  std::atomic<std::uint64_t> unmatched{0};         // pops and ends of nothing
  std::atomic<std::uint64_t> nestings_refused{0};  // no scope, as their nesting was new when there was no room, or too deep
  std::atomic<std::uint64_t> too_many_open{0};     // neither scopes nor drawn
};

class Ranges {
 public:
  explicit Ranges(Names& names);
  Ranges(const Ranges&) = delete;
  Ranges& operator=(const Ranges&) = delete;

  // How deep the range is among its domain's on this thread, from 0.
  int push(const Domain& domain, const Attributes& attributes);
  // How deep the range was that ended; -1: none was open.
  int pop(const Domain& domain);
  nvtx::RangeId start(const Domain& domain, const Attributes& attributes);
  // False: there is no such range.
  bool end(nvtx::RangeId id);
  void mark(const Domain& domain, const Attributes& attributes);

  // A window was opened on this thread, and none was open before.
  void window_opened();
  // Draws what is still open, as unfinished. Threads that are inside a call at that moment are passed over after a short wait.
  void draw_unfinished();
  // Around a fork(), and then in the child: the other threads are gone, and so are all scopes.
  void lock_for_fork() noexcept;
  void unlock_after_fork() noexcept;
  void start_anew() noexcept;

  const RangeCounts& counts() const noexcept { return counts_; }

 private:
  struct Range;
  struct Thread;
  struct Threads;
  struct ThreadPlace;

  Thread* this_thread();
  void make_range(const Domain& domain, const Attributes& attributes, const Thread& thread, Range& range);
  void open_scope(Thread& thread, Range& range);
  void catch_up(Thread& thread);
  static void draw(const Range& range, std::int64_t thread_id, std::uint32_t flags);

  Names* const names_;
  RangeCounts counts_;
  BoundedSet<kNestingsMax> nestings_;
  std::atomic<std::uint32_t> window_{0};  // counts up with each window that was opened while none was
  std::atomic<nvtx::RangeId> last_id_{0};

  const std::shared_ptr<Threads> threads_;  // shared with the threads, which leave it when they end
};

}  // namespace graphtag::inject
