// gt_record: the recording of this process.
#include <errno.h>  // program_invocation_short_name
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <new>
#include <nlohmann/json.hpp>
#include <string>

#include "base/absolute_path.h"
#include "base/reader_gate.h"
#include "base/unix_time.h"
#include "capi/handles.h"
#include "capi/producer.h"
#include "capi/recordings.h"
#include "driver/real_driver.h"
#include "record/recording.h"

using namespace graphtag;        // NOLINT(google-build-using-namespace)
using namespace graphtag::capi;  // NOLINT(google-build-using-namespace)

static_assert(GT_RECORD_ENDED == static_cast<int>(RecordingState::ended));
static_assert(GT_RECORD_OTHER_PROFILER == static_cast<int>(RecordingState::other_profiler));
static_assert(GT_RECORD_FAILED == static_cast<int>(RecordingState::failed));
static_assert(GT_PAYLOAD_UINT64 == static_cast<int>(HostRange::Payload::unsigned_integer));
static_assert(GT_PAYLOAD_INT64 == static_cast<int>(HostRange::Payload::integer));
static_assert(GT_PAYLOAD_DOUBLE == static_cast<int>(HostRange::Payload::real));

extern "C" {
uint32_t gt_active_recordings = 0;
}

namespace {

// A recording, and what was opened for it.
struct Session {
  std::uint64_t id = 0;
  Process* process = nullptr;
  WindowId window = WindowId::none;
  std::unique_ptr<Recording> recording;
  std::string annotations_path;     // empty: not wanted
  std::atomic<bool> ending{false};  // gt_record_end has it
  // With `changing` held:
  bool stopped = false;    // the file is whole and CUPTI is free, whoever saw to it
  bool came_back = false;  // of what stopped it
};

// Tells this image of the process from one before an exec.
const std::int64_t loaded_ns = unix_time_ns();
std::atomic<bool> taken{false};               // there is a session, or one is being made
std::atomic<Session*> current{nullptr};       // until it has ended
std::atomic<Session*> accepting{nullptr};     // the same while it takes ranges and scopes
ReaderGate gate;                              // around each use of these two
std::atomic<Session*> of_parent{nullptr};     // in a child of fork(): leak checkers find it here
std::mutex changing;                          // around the begin of a session and each end of `current`
std::atomic<std::uint32_t> last_serial{0};    // of recordings
thread_local std::int64_t thread_number = 0;  // the operating system's, once asked for

// What this thread's CUDA calls are made under.
struct NamedCalls {
  bool pushed = false;
  std::uint64_t session_id = 0;
  AnnotationId known = AnnotationId::none;
};
thread_local NamedCalls named;

// Pops what a recording has left pushed on this thread, whether or not it goes on: it would be in the records of whoever profiles next.
void unname_calls() noexcept {
  if (!named.pushed) return;
  static_cast<void>(RealDriver::of_process().driver().activity().pop_external_id());
  named = {};
}

// With the gate passed.
void name_calls(const Session& session, AnnotationId now) {
  if (named.session_id == session.id && named.known == now) return;
  named = {session.recording->name_calls(now, named.pushed), session.id, now};
}

std::int64_t this_thread() noexcept {
  if (thread_number == 0) thread_number = syscall(SYS_gettid);
  return thread_number;
}

// In the child no recording goes on. What its parent has is left as it is, as its locks may be held for good.
void forget_in_child() {
  Session* session = current.exchange(nullptr);
  if (session != nullptr) of_parent.store(session);
  accepting.store(nullptr);
  gate.reset();
  new (&changing) std::mutex;  // whoever held it is not there
  __atomic_store_n(&gt_active_recordings, 0, __ATOMIC_RELAXED);
  if (session != nullptr) session->recording->abandon_in_child();
  thread_number = 0;
  named = {};
  taken.store(false);
}

std::string text_or(const char* text, const char* otherwise) {
  return text == nullptr ? otherwise : text;
}

constexpr std::string_view kTraceExtension = ".pftrace";

std::string annotations_beside(std::string path) {
  if (path.ends_with(kTraceExtension)) path.resize(path.size() - kTraceExtension.size());
  return path + ".annotations.json";
}

Json describe_process(const Process& process) {
  const Producer producer = this_producer(process.recorder.counters(), process.registry.counters());
  Json about;
  about["tool"] = producer.tool;
  about["host"] = producer.host;
  about["pid"] = producer.pid.value_or(0);
  if (producer.rank) about["rank"] = *producer.rank;
  about["loaded_ns"] = loaded_ns;
  about["process"] = text_or(program_invocation_short_name, "process");
  about["driver"] = producer.driver_version.value_or(0);
  about["cupti"] = producer.cupti_version.value_or(0);
  about["cupti_path"] = producer.cupti_path;
  return about;
}

gt_status check(const gt_record_options& options) {
  if (options.size != sizeof(gt_record_options)) {
    return fail(GT_ERROR_INVALID_SIZE, "gt_record_options.size must be sizeof(gt_record_options)");
  }
  if ((options.flags & ~std::uint32_t{GT_RECORD_NO_API | GT_RECORD_ANNOTATIONS}) != 0) {
    return fail(GT_ERROR_INVALID_ARGUMENT, "gt_record_options.flags has an unknown flag");
  }
  if (options.buffer_count != 0 && (options.buffer_count < 2 || options.buffer_count > 4096)) {
    return fail(GT_ERROR_INVALID_ARGUMENT, "gt_record_options.buffer_count must be 0, or 2 to 4096");
  }
  if (options.buffer_bytes != 0 &&
      (options.buffer_bytes < 4096 || options.buffer_bytes > (64U << 20) || options.buffer_bytes % 8 != 0)) {
    return fail(GT_ERROR_INVALID_ARGUMENT, "gt_record_options.buffer_bytes must be 0, or 4 KiB to 64 MiB in multiples of 8");
  }
  if (options.flush_ms != 0 && (options.flush_ms < 10 || options.flush_ms > 60'000)) {
    return fail(GT_ERROR_INVALID_ARGUMENT, "gt_record_options.flush_ms must be 0, or 10 to 60000");
  }
  if (options.max_bytes != 0 && options.max_bytes < (1U << 20)) {
    return fail(GT_ERROR_INVALID_ARGUMENT, "gt_record_options.max_bytes must be 0, or at least 1 MiB");
  }
  return GT_OK;
}

gt_status take_options(const gt_record_options& options, const Process& process, RecordingOptions& wanted) {
  std::string_view path, metadata;
  if (!take_text(options.path, options.path_length, path) || path.empty() || path.find('\0') != std::string_view::npos) {
    return fail(GT_ERROR_INVALID_ARGUMENT, "gt_record_options.path must not be null or empty, nor hold a NUL");
  }
  Json about = describe_process(process);
  if (options.metadata != nullptr || options.metadata_length != 0) {
    constexpr std::size_t kMetadataBytes = std::size_t{1} << 20;
    if (!take_text(options.metadata, options.metadata_length, metadata)) {
      return fail(GT_ERROR_INVALID_ARGUMENT, "gt_record_options.metadata is null, its length is not 0");
    }
    JsonLimits limits;
    limits.bytes = kMetadataBytes;
    Result<Json> parsed = parse_json(metadata, "gt_record_options.metadata", limits);
    if (!parsed) return fail(parsed.error());
    if (!parsed->is_object()) return fail(GT_ERROR_MALFORMED, "gt_record_options.metadata must be a JSON object");
    about["metadata"] = std::move(*parsed);
  }
  wanted.path = absolute_path(std::string(path));
  wanted.max_bytes = options.max_bytes;
  if (options.buffer_count != 0) wanted.buffer_count = options.buffer_count;
  if (options.buffer_bytes != 0) wanted.buffer_bytes = options.buffer_bytes;
  if (options.flush_ms != 0) wanted.flush_period = std::chrono::milliseconds(options.flush_ms);
  wanted.api = (options.flags & GT_RECORD_NO_API) == 0;
  wanted.owner.pid = getpid();
  wanted.owner.process = about["process"].get<std::string>();
  wanted.about = std::make_shared<const Json>(std::move(about));
  return GT_OK;
}

void put_counts(const Recording& recording, RecordingState state, gt_record_stats& stats) {
  const RecordCounts& counts = recording.counts();
  stats.state = static_cast<gt_record_state>(state);
  stats.segments_deleted = static_cast<uint32_t>(counts.segments_deleted);
  stats.kernels = counts.kernels;
  stats.memcpys = counts.memcpys;
  stats.memsets = counts.memsets;
  stats.api_calls = counts.api_calls;
  stats.overheads = counts.overheads;
  stats.ranges = counts.ranges;
  stats.graph_operations = counts.graph_operations;
  stats.graph_named = counts.graph_named;
  stats.other_named = counts.other_named;
  stats.bad_times = counts.bad_times;
  stats.dropped_by_cupti = counts.dropped_by_cupti;
  stats.buffers_refused = counts.buffers_refused;
  stats.buffers_kept = counts.buffers_kept;
  stats.ranges_dropped = counts.ranges_dropped;
  stats.records_unknown = counts.records_unknown;
  stats.records_lost = counts.records_lost;
  stats.write_errors = counts.write_errors;
  stats.bytes_written = counts.bytes_written;
  stats.bytes_deleted = counts.bytes_deleted;
}

// Callers know more or fewer fields; `stats->size` bytes are theirs.
gt_status check_size(const gt_record_stats& stats) {
  return stats.size == sizeof(gt_record_stats)
             ? gt_status{GT_OK}
             : fail(GT_ERROR_INVALID_SIZE, "gt_record_stats.size must be sizeof(gt_record_stats)");
}

gt_status no_such_recording() {
  return fail(GT_ERROR_INVALID_HANDLE, "no recording has this handle, or it has ended");
}

gt_status did_not_come_back() {
  return fail(GT_ERROR_INTERNAL, "CUPTI did not come back within a minute; the end of the recording is missing");
}

// Makes its file whole and gives CUPTI back, once. With `changing` held.
void stop_session(Session& session, RecordingState state) {
  if (session.stopped) return;
  accepting.store(nullptr);
  __atomic_store_n(&gt_active_recordings, 0, __ATOMIC_RELAXED);
  gate.wait_until_empty();
  session.came_back = session.recording->end(state);
  static_cast<void>(session.process->recorder.close_window(session.window));
  session.stopped = true;
}

// Ends the session, and frees it if it can be. The caller has set `ending`.
gt_status end_session(Session& session, gt_record_stats* stats) {
  std::unique_lock lock(changing);
  stop_session(session, RecordingState::ended);
  const bool came_back = session.came_back;
  if (stats != nullptr) put_counts(*session.recording, came_back ? session.recording->state() : RecordingState::failed, *stats);
  const bool all_written = session.recording->counts().write_errors == 0;
  const std::string annotations = std::move(session.annotations_path);
  current.store(nullptr);
  gate.wait_until_empty();
  if (came_back) {
    delete &session;
    taken.store(false);
  }
  lock.unlock();
  if (!annotations.empty()) {
    if (const gt_status status = gt_snapshot_file(annotations.data(), annotations.size()); status != GT_OK) return status;
  }
  if (!came_back) return did_not_come_back();
  return all_written ? gt_status{GT_OK}
                     : fail(GT_ERROR_IO, "some of the recording could not be written; the statistics say how much");
}

void end_at_exit() {
  Session* session = nullptr;
  {
    const ReaderGate::Pass pass(gate);
    session = current.load();
    if (session == nullptr || session->ending.exchange(true)) return;
  }
  static_cast<void>(guard([&] { return end_session(*session, nullptr); }));
}

// Of a session that does not come about.
struct Discard {
  void operator()(Session* session) const noexcept {
    if (session->window != WindowId::none) static_cast<void>(session->process->recorder.close_window(session->window));
    delete session;
  }
};

void watch_process() {
  static std::atomic<bool> watching{false};
  if (watching.exchange(true)) return;
  pthread_atfork(nullptr, nullptr, &forget_in_child);
  std::atexit(&end_at_exit);
}

gt_status begin_session(const gt_record_options& options, gt_recording& handle) {
  // Whoever makes way meanwhile waits, and finds a session to stop.
  const std::lock_guard lock(changing);
  Process& process = this_process();
  std::unique_ptr<Session, Discard> session(new Session);
  session->process = &process;
  RecordingOptions wanted;
  if (const gt_status status = take_options(options, process, wanted); status != GT_OK) return status;
  if ((options.flags & GT_RECORD_ANNOTATIONS) != 0) session->annotations_path = annotations_beside(wanted.path);
  WindowOptions window;
  window.observer = ObserverChoice::callbacks;
  if (const gt_status status = from_record_status(process.open_window(window, session->window), "a recording"); status != GT_OK) {
    return status;
  }
  wanted.serial = last_serial.fetch_add(1) + 1;
  session->id = wanted.serial;
  Result<std::unique_ptr<Recording>> begun =
      Recording::begin(RealDriver::of_process().driver(), process.registry, std::move(wanted));
  if (!begun) {
    const gt_status status = begun.error().code == ErrorCode::refused     ? GT_ERROR_UNAVAILABLE
                             : begun.error().code == ErrorCode::too_large ? GT_ERROR_OUT_OF_MEMORY
                                                                          : GT_ERROR_IO;
    return fail(status, begun.error().to_string());
  }
  session->recording = std::move(*begun);
  handle.value = session->id;
  watch_process();
  Session* made = session.release();
  current.store(made);
  accepting.store(made);
  __atomic_store_n(&gt_active_recordings, 1, __ATOMIC_RELAXED);
  note_scopes(process);
  return GT_OK;
}

}  // namespace

namespace graphtag::capi {

void note_scopes(Process& process) noexcept {
  if (!gt_recording_active()) return unname_calls();
  const ReaderGate::Pass pass(gate);
  const Session* session = accepting.load();
  if (session != nullptr && session->process == &process) name_calls(*session, process.recorder.current());
}

}  // namespace graphtag::capi

extern "C" {

gt_status gt_record_begin(const gt_record_options* options, gt_recording* recording) noexcept {
  return guard([&] {
    if (options == nullptr || recording == nullptr) return fail(GT_ERROR_INVALID_ARGUMENT, "a null pointer");
    if (const gt_status status = check(*options); status != GT_OK) return status;
    if (const gt_status status = gt_available(GT_OBSERVER_CALLBACKS); status != GT_OK) return status;
    if (!RealDriver::of_process().facts().can_record) {
      return fail(GT_ERROR_UNAVAILABLE, "this CUPTI has no activity records; gt_doctor_json() says what is missing");
    }
    if (taken.exchange(true)) {
      return fail(GT_ERROR_BUSY, "a recording goes on in this process already: end it first");
    }
    gt_status status = GT_ERROR_INTERNAL;
    try {
      status = begin_session(*options, *recording);
    } catch (...) {
      taken.store(false);
      throw;
    }
    if (status != GT_OK) taken.store(false);
    return status;
  });
}

gt_status gt_record_stats_get(gt_recording recording, gt_record_stats* stats) noexcept {
  return guard([&] {
    if (stats == nullptr) return fail(GT_ERROR_INVALID_ARGUMENT, "a null pointer for the statistics");
    if (const gt_status status = check_size(*stats); status != GT_OK) return status;
    const ReaderGate::Pass pass(gate);
    const Session* session = current.load();
    if (session == nullptr || session->id != recording.value) return no_such_recording();
    put_counts(*session->recording, session->recording->state(), *stats);
    return gt_status{GT_OK};
  });
}

gt_status gt_record_flush(gt_recording recording, uint32_t timeout_ms) noexcept {
  return guard([&] {
    const ReaderGate::Pass pass(gate);
    Session* session = current.load();
    if (session == nullptr || session->id != recording.value) return no_such_recording();
    switch (session->recording->flush(std::chrono::milliseconds(timeout_ms))) {
      case Recording::Flushed::ok:
        break;
      case Recording::Flushed::too_late:
        return fail(GT_ERROR_BUSY, "it took longer; it will be written nonetheless");
      case Recording::Flushed::not_written:
        return fail(GT_ERROR_IO, "some of it could not be written; the statistics say how much");
    }
    return gt_status{GT_OK};
  });
}

gt_status gt_record_end(gt_recording recording, gt_record_stats* stats) noexcept {
  return guard([&] {
    if (stats != nullptr) {
      if (const gt_status status = check_size(*stats); status != GT_OK) return status;
    }
    Session* session = nullptr;
    {
      const ReaderGate::Pass pass(gate);
      session = current.load();
      if (session == nullptr || session->id != recording.value || session->ending.exchange(true)) return no_such_recording();
    }
    unname_calls();
    return end_session(*session, stats);
  });
}

gt_status gt_make_way(void) noexcept {
  return guard([] {
    unname_calls();
    const std::lock_guard lock(changing);
    if (Session* session = current.load()) {
      stop_session(*session, RecordingState::other_profiler);
      if (!session->came_back) return did_not_come_back();
    }
    // With the lock: the subscription would be that of a recording which begins here.
    if (gt_active() != 0) this_process().recorder.make_way();
    return gt_status{GT_OK};
  });
}

int64_t gt_record_now(void) noexcept {
  return unix_time_ns();
}

gt_status gt_record_range(const gt_range* range) noexcept {
  return guard([&] {
    if (range == nullptr) return fail(GT_ERROR_INVALID_ARGUMENT, "a null pointer for the range");
    if (range->size != sizeof(gt_range)) return fail(GT_ERROR_INVALID_SIZE, "gt_range.size must be sizeof(gt_range)");
    constexpr std::uint32_t kFlags = GT_RANGE_MARK | GT_RANGE_OVERLAPS | GT_RANGE_UNFINISHED;
    HostRange taken_range;
    if ((range->flags & ~kFlags) != 0 || range->payload_type > GT_PAYLOAD_DOUBLE) {
      return fail(GT_ERROR_INVALID_ARGUMENT, "gt_range has an unknown flag or type of payload");
    }
    if (!take_text(range->text, range->text_length, taken_range.text) ||
        !take_text(range->domain, range->domain_length, taken_range.domain) ||
        !take_text(range->category, range->category_length, taken_range.category)) {
      return fail(GT_ERROR_INVALID_ARGUMENT, "a text of gt_range is null, its length is not 0");
    }
    taken_range.mark = (range->flags & GT_RANGE_MARK) != 0;
    if (!taken_range.mark && range->end_ns < range->start_ns) {
      return fail(GT_ERROR_INVALID_ARGUMENT, "gt_range.end_ns is before start_ns");
    }
    taken_range.overlaps = (range->flags & GT_RANGE_OVERLAPS) != 0;
    taken_range.unfinished = (range->flags & GT_RANGE_UNFINISHED) != 0;
    taken_range.start_ns = range->start_ns;
    taken_range.end_ns = range->end_ns;
    taken_range.payload_type = static_cast<HostRange::Payload>(range->payload_type);
    taken_range.payload_bits = range->payload.as_uint64;
    taken_range.thread = range->thread != 0 ? range->thread : this_thread();
    const ReaderGate::Pass pass(gate);
    if (Session* session = accepting.load()) session->recording->range(taken_range);
    return gt_status{GT_OK};
  });
}
}
