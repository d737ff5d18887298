#include "inject/session.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

#include "base/absolute_path.h"
#include "base/segment_files.h"

namespace graphtag::inject {
namespace {

constexpr std::int64_t kTickNs = 1'000'000'000;
constexpr std::uint32_t kFlushMs = 2000;
constexpr std::chrono::seconds kFinishWait{10};  // for another thread that begins or writes just then
// The annotations are written at most for this share of the time.
constexpr std::int64_t kAnnotationsShare = 50;
constexpr std::int64_t kAnnotationsPauseNs = 5'000'000'000;

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 && name[0] != '\0' ? std::string(name.data()) : "host";
}

// False if there is such a file already, or none can be made.
bool make_file(const std::string& path) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) return false;
  close(fd);
  return true;
}

// Another one when there is something new for the annotation file.
Known known(const gt_counters& counters) {
  return {counters.nodes_seen, counters.boundaries_read, counters.graphs_live, counters.execs_live, counters.graphs_retired};
}

std::string with_tail(const std::string& path, std::string_view tail) {
  return path.substr(0, path.size() - std::string_view(run::kTraceSuffix).size()) + std::string(tail);
}

// The thread takes no signal from the program's own.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    is_blocked_ = pthread_sigmask(SIG_SETMASK, &all, &before_) == 0;
  }
  ~SignalsBlocked() {
    if (is_blocked_) pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
  bool is_blocked_ = false;
};

}  // namespace

void Session::fail(const char* what) noexcept {
  state_ = run::State::failed;
  control_->set_message(what);
  control_->set_state(state_);
}

// A file that nobody has: of the same name may be that of the image that this process was before an exec.
std::string Session::make_path(bool is_ring) const {
  const std::string& out = options_->out;
  const bool is_file = std::string_view(out).ends_with(run::kTraceSuffix);
  // `graphtag run` has removed an earlier run's.
  if (is_file && (control_->is_open() ? control_->take_file() : make_file(out))) return out;
  const std::string name = trace_name(host_name(), rank_of(std::getenv), getpid());
  std::string base;
  if (is_file) {
    base = with_tail(out, "." + name.substr(name.find('.') + 1));
  } else {
    base = out.empty() ? name : out + "/" + name;
  }
  for (int number = 1; number < 1000; ++number) {
    std::string path = number == 1 ? base : with_tail(base, "." + std::to_string(number) + run::kTraceSuffix);
    // A ring has no file of the name itself; its first segment stands for it, until that is deleted.
    if (is_ring && has_segments(path)) continue;
    if (make_file(is_ring ? segment_path(path, 1) : path)) return path;
    if (errno != EEXIST) return path;
  }
  return base;
}

bool Session::open_window() {
  if (gt_window_open(nullptr, &window_) == GT_OK) {
    ranges_->window_opened();
    return true;
  }
  fail(gt_last_error());
  return false;
}

void Session::start() {
  const std::lock_guard lock(mutex_);
  if (state_ != run::State::none) return;
  control_->enter();
  wait_until_ns_ = options_->delay_ms == 0 ? 0 : control_->begun_ns() + options_->delay_ms * 1'000'000;
  if (!options_->start_on.empty() && waits_for_range()) wait_until_ns_ = INT64_MAX;
  state_ = run::State::waiting;
  const bool at_once = wait_until_ns_ <= monotonic_ns();
  if (at_once) {
    begin_recording();
  } else if (open_window()) {
    control_->set_state(state_);
  }
  if (state_ == run::State::failed) return;
  try {
    const SignalsBlocked blocked;
    std::thread([this] { watch(); }).detach();
  } catch (...) {
    // Then nothing is flushed when `graphtag run` asks; recordings write each second by themselves.
    if (state_ == run::State::waiting) fail("the program may not have another thread, which --delay and --start-on need");
  }
}

void Session::begin_recording() {
  const bool is_ring = options_->max_bytes != 0;
  trace_ = absolute_path(make_path(is_ring));
  annotations_ = with_tail(trace_, run::kAnnotationsSuffix);
  gt_record_options wanted{};
  wanted.size = sizeof wanted;
  wanted.flags = GT_RECORD_ANNOTATIONS | (options_->has_api ? 0 : std::uint32_t{GT_RECORD_NO_API});
  wanted.buffer_count = options_->buffer_count;
  wanted.buffer_bytes = options_->buffer_bytes;
  wanted.max_bytes = options_->max_bytes;
  wanted.path = trace_.c_str();
  wanted.path_length = trace_.size();
  control_->set_trace(trace_);
  const bool had_window = window_.value != 0;
  if (gt_record_begin(&wanted, &recording_) != GT_OK) {
    const std::string why = gt_last_error();
    unlink((is_ring ? segment_path(trace_, 1) : trace_).c_str());
    if (had_window) (void)gt_window_close(window_);
    return fail(why.c_str());
  }
  if (had_window) {
    (void)gt_window_close(window_);  // the recording has one of its own
    window_ = {};
  } else {
    ranges_->window_opened();
  }
  // Handlers run in reverse order: before CUPTI's own, and before the one that ends recordings.
  std::atexit(at_exit_);
  state_ = run::State::recording;
  begun_ns_ = monotonic_ns();
  end_at_ns_ = options_->duration_ms ? begun_ns_ + *options_->duration_ms * 1'000'000 : 0;
  control_->set_state(state_);
}

void Session::update_counts(const gt_record_stats& stats) noexcept {
  run::Counts* counts = control_->counts();
  if (counts == nullptr) return;
  counts->kernels.store(stats.kernels);
  counts->memcpys.store(stats.memcpys);
  counts->memsets.store(stats.memsets);
  counts->api_calls.store(stats.api_calls);
  counts->ranges.store(stats.ranges);
  counts->graph_operations.store(stats.graph_operations);
  counts->graph_named.store(stats.graph_named);
  counts->other_named.store(stats.other_named);
  counts->dropped.store(stats.dropped_by_cupti);
  counts->buffers_kept.store(stats.buffers_kept);
  counts->lost.store(stats.records_lost);
  counts->ranges_dropped.store(stats.ranges_dropped);
  counts->bad_times.store(stats.bad_times);
  counts->segments_deleted.store(stats.segments_deleted);
  counts->bytes_written.store(stats.bytes_written);
  const NameCounts& names = names_->counts();
  const RangeCounts& ranges = ranges_->counts();
  counts->names_refused.store(names.labels_refused + ranges.nestings_refused + ranges.too_many_open);
  counts->texts_mended.store(names.texts_mended + names.texts_cut);
  counts->ranges_seen.store(ranges.begun);
}

void Session::end_recording(run::Reason reason) noexcept {
  ranges_->draw_unfinished();
  if (reason == run::Reason::made_way) (void)gt_make_way();
  if (run::Counts* counts = control_->counts())
    counts->recorded_ms.store(static_cast<std::uint64_t>(monotonic_ns() - begun_ns_) / 1'000'000);
  gt_record_stats stats{};
  stats.size = sizeof stats;
  const gt_status status = gt_record_end(recording_, &stats);
  recording_ = {};
  if (status != GT_OK) {
    control_->set_message(gt_last_error());
    reason = run::Reason::file;
  } else if (stats.state == GT_RECORD_OTHER_PROFILER && reason != run::Reason::made_way) {
    reason = run::Reason::other_profiler;
  } else if (stats.state == GT_RECORD_FAILED) {
    reason = run::Reason::cupti_failed;
  }
  update_counts(stats);
  state_ = run::State::ended;
  control_->set_state(state_, reason);
}

void Session::write_annotations() {
  const std::int64_t before_ns = monotonic_ns();
  gt_counters counters{};
  counters.size = sizeof counters;
  if (gt_counters_get(&counters) == GT_OK) annotated_ = known(counters);
  (void)gt_snapshot_file(annotations_.c_str(), annotations_.size());
  const std::int64_t now_ns = monotonic_ns();
  annotate_after_ns_ = now_ns + std::max(kAnnotationsPauseNs, kAnnotationsShare * (now_ns - before_ns));
}

// So that they are there also if the program is killed.
void Session::write_annotations_if_grown() {
  gt_counters counters{};
  counters.size = sizeof counters;
  if (monotonic_ns() < annotate_after_ns_ || gt_counters_get(&counters) != GT_OK) return;
  if (known(counters) != annotated_) write_annotations();
}

void Session::flush(std::uint32_t asked) {
  if (state_ == run::State::recording) {
    (void)gt_record_flush(recording_, kFlushMs);
    gt_record_stats stats{};
    stats.size = sizeof stats;
    if (gt_record_stats_get(recording_, &stats) == GT_OK) update_counts(stats);
    write_annotations();
  }
  control_->set_flushed(asked);
}

void Session::look_after_recording() {
  gt_record_stats stats{};
  stats.size = sizeof stats;
  if (state_ != run::State::recording || gt_record_stats_get(recording_, &stats) != GT_OK) return;
  update_counts(stats);
  if (stats.state != GT_RECORD_RUNNING) return end_recording(run::Reason::exit);
  write_annotations_if_grown();
}

Session::Due Session::what_is_due() const {
  const std::int64_t now_ns = monotonic_ns();
  Due due;
  std::int64_t next_ns = now_ns + kTickNs;
  if (state_ == run::State::waiting) {
    due.begin = wait_until_ns_ <= now_ns;
    next_ns = std::min(next_ns, wait_until_ns_);
  } else if (state_ == run::State::recording && end_at_ns_ != 0) {
    due.end = end_at_ns_ <= now_ns;
    next_ns = std::min(next_ns, end_at_ns_);
  }
  due.wait_ns = std::max<std::int64_t>(next_ns - now_ns, 0);
  return due;
}

void Session::watch() noexcept {
  (void)pthread_setname_np(pthread_self(), "graphtag-run");
  std::uint32_t flushed = control_->flushed();  // what was asked since this process entered is to be done
  while (true) {
    std::int64_t wait_ns = kTickNs;
    try {
      const std::lock_guard lock(mutex_);
      if (const Due due = what_is_due(); due.begin) {
        begin_recording();
      } else if (due.end) {
        end_recording(run::Reason::duration);
      }
      if (const std::uint32_t asked = control_->flush_asked(); asked != flushed) {
        flush(asked);
        flushed = asked;
      }
      look_after_recording();
      if (state_ == run::State::failed) return;
      wait_ns = what_is_due().wait_ns;
    } catch (...) {
      // Out of memory: at the next turn, perhaps.
    }
    (void)control_->wait_for_flush(flushed, wait_ns);
  }
}

void Session::range_began(std::string_view text) {
  if (text != options_->start_on || !waits_for_range_.exchange(false)) return;
  const std::lock_guard lock(mutex_);
  if (state_ != run::State::waiting) return;  // CUDA has not started, or recording has failed
  wait_until_ns_ = options_->delay_ms == 0 ? 0 : monotonic_ns() + options_->delay_ms * 1'000'000;
  if (wait_until_ns_ == 0) begin_recording();
}

void Session::make_way() noexcept {
  const std::unique_lock lock(mutex_, kFinishWait);
  if (!lock.owns_lock()) return;
  if (state_ == run::State::recording) end_recording(run::Reason::made_way);
  // Also after a recording's end: annotations take a while to be written, and a window of the program's own may have been opened in it.
  (void)gt_make_way();
}

void Session::finish() noexcept {
  waits_for_range_ = false;
  const std::unique_lock lock(mutex_, kFinishWait);
  if (!lock.owns_lock()) return;
  if (state_ == run::State::recording) {
    end_recording(run::Reason::exit);
  } else if (state_ == run::State::waiting) {
    (void)gt_window_close(window_);
    state_ = run::State::none;
  }
}

}  // namespace graphtag::inject
