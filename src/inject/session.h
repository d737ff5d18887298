// The recording of one process, from the moment when CUDA starts in it.
//
//   CUDA starts ──▶ waiting (a window is open, so that graphs get their names) ──delay, range──▶ recording ──duration, exit──▶ ended
//              └──▶ recording at once, if there is nothing to wait for
//
// A thread of its own watches the clock and the control file. No signal handler is installed and nothing is printed.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "graphtag/graphtag.h"
#include "inject/control.h"
#include "inject/options.h"
#include "inject/ranges.h"

namespace graphtag::inject {

// Counts of what graphtag knows of graphs.
using Known = std::array<std::uint64_t, 5>;

class Session {
 public:
  // `at_exit` is to call finish() of the process's session.
  Session(const Options& options, Control& control, const Names& names, Ranges& ranges, void (*at_exit)())
      : options_(&options),
        control_(&control),
        names_(&names),
        ranges_(&ranges),
        at_exit_(at_exit),
        waits_for_range_(!options.start_on.empty()) {}
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // CUDA starts, on this thread. Once a process.
  void start();
  // One load, for each range that begins.
  bool waits_for_range() const noexcept { return waits_for_range_.load(std::memory_order_relaxed); }
  void range_began(std::string_view text);
  // The program starts a profiler of its own, on this thread: a recording ends, and CUPTI is free.
  void make_way() noexcept;
  // Writes everything, at the exit of the process.
  void finish() noexcept;

 private:
  struct Due {
    bool begin = false;
    bool end = false;
    std::int64_t wait_ns = 0;
  };

  void watch() noexcept;
  Due what_is_due() const;
  // All with the lock held.
  bool open_window();
  void begin_recording();
  void end_recording(run::Reason reason) noexcept;
  void flush(std::uint32_t asked);
  void update_counts(const gt_record_stats& stats) noexcept;
  void look_after_recording();
  std::string make_path(bool is_ring) const;
  void write_annotations();
  void write_annotations_if_grown();
  void fail(const char* what) noexcept;

  const Options* const options_;
  Control* const control_;
  const Names* const names_;
  Ranges* const ranges_;
  void (*const at_exit_)();
  std::atomic<bool> waits_for_range_;

  std::timed_mutex mutex_;  // of what follows
  run::State state_ = run::State::none;
  std::int64_t wait_until_ns_ = 0;  // CLOCK_MONOTONIC; when recording may begin
  std::int64_t begun_ns_ = 0;       // of the recording
  std::int64_t end_at_ns_ = 0;      // 0: at the exit
  gt_window window_{};              // while waiting
  gt_recording recording_{};
  std::string trace_;  // path
  std::string annotations_;
  Known annotated_{};  // when the annotations were last written
  std::int64_t annotate_after_ns_ = 0;
};

}  // namespace graphtag::inject
