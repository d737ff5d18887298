// A recording: CUPTI's activity, and the host's ranges, into a file.
//
//   program's and CUPTI's threads ── BufferPool, RangeQueue ──▶ writer's thread ── RecordEncoder ──▶ TraceFile
//
// The writer's thread is the only one that encodes, writes, and asks CUPTI to flush. It blocks all signals.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "driver/driver.h"
#include "record/buffer_pool.h"
#include "record/counts.h"
#include "record/range_queue.h"
#include "record/record_encoder.h"
#include "record/trace_file.h"
#include "record/wake.h"

namespace graphtag {

enum class RecordingState : std::uint8_t { running, ended, other_profiler, failed };
// As in the file: "other-profiler".
std::string_view to_string(RecordingState state);

struct RecordingOptions {
  std::string path;
  std::uint64_t max_bytes = 0;  // 0: no limit
  // CUPTI fills one a thread that calls CUDA; each that it gives back costs the launching thread about 60 us.
  std::uint32_t buffer_count = 64;
  std::uint32_t buffer_bytes = std::uint32_t{512} << 10;
  std::chrono::milliseconds flush_period{1000};
  std::size_t chapter_bytes = std::size_t{32} << 20;  // after which a chapter whose strings have used up their numbers ends
  bool api = true;
  std::uint32_t serial = 0;           // of the recording in its process, from 1: external ids begin with it
  TrackOwner owner;                   // its seed is made from `about`
  std::shared_ptr<const Json> about;  // goes into the begin event beside what the recording knows itself; an object
};

class Recording {
 public:
  // Errors: io (the file), too_large (no memory for the buffers, no thread to write), refused (CUPTI). The registry lives as long as the recording.
  static Result<std::unique_ptr<Recording>> begin(const Driver& driver, const Registry& registry, RecordingOptions options);
  // end() must have been called.
  ~Recording() = default;

  // Any thread; neither waits nor allocates.
  void range(const HostRange& range) noexcept { ranges_.push(range); }
  // CUDA calls of this thread are made under `annotation` from here on, until the next call of this. Any thread, `pushed` being whether the last
  // call pushed.
  bool name_calls(AnnotationId annotation, bool pushed) const noexcept;

  enum class Flushed : std::uint8_t { ok, too_late, not_written };
  // What CUPTI has, unfinished work too, and all ranges are in the file when this returns ok.
  Flushed flush(std::chrono::milliseconds timeout) noexcept;
  // Once; `state` says why: ended or other_profiler. False: the writer's thread does not come back from CUPTI. Then the recording must be left
  // alone for good.
  bool end(RecordingState state = RecordingState::ended) noexcept;

  RecordingState state() const noexcept { return state_.load(std::memory_order_acquire); }
  const RecordCounts& counts() const noexcept { return counts_; }

  // In a child of fork(): nothing is written here, and the parent's thread is not there. The recording must be left alone for good.
  void abandon_in_child() noexcept;

 private:
  using Clock = std::chrono::steady_clock;

  Recording(const Driver& driver, const Registry& registry, RecordingOptions options);

  // All of these on the writer's thread.
  void run() noexcept;
  void begin_chapter();
  void drain() noexcept;
  void read_buffer(const BufferPool::Full& full) noexcept;
  bool collect(const BufferPool::Full& full, const RawRecord*& record) noexcept;
  void note_external_ids(const BufferPool::Full& full) noexcept;
  void note_external_id(const RawRecord* record) noexcept;
  void record(const RawRecord* raw);
  void drain_ranges() noexcept;
  void write_out() noexcept;
  void write_status(bool last);
  void note_problem(std::string_view name, std::uint64_t count, const std::string& what, const char* what_to_do);
  void poll_activity(bool forced) noexcept;
  void finish() noexcept;
  // Puts packets behind out_, all of them or none: false if there was no memory for them.
  template <typename Work>
  bool append(Work work) noexcept;
  template <typename Work>
  void append_record(Work work) noexcept;

  const Driver driver_;
  const Activity activity_;
  const RecordingOptions options_;
  ActivityKinds wanted_, enabled_;
  RecordCounts counts_;
  std::atomic<RecordingState> state_{RecordingState::running};

  Wake wake_;
  BufferPool pool_{wake_};
  RangeQueue ranges_{wake_};
  TraceFile file_;

  // The writer's.
  std::string out_;                // whole packets that are not in the file yet
  std::uint64_t out_records_ = 0;  // in them
  RecordEncoder encoder_;
  std::uint32_t chapter_ = 0;
  std::size_t chapter_bytes_ = 0;
  bool needs_chapter_ = true;  // before anything else is put behind out_
  std::vector<BufferPool::Full> full_;
  struct Found {
    std::uint64_t start_ns;
    const RawRecord* record;
  };
  static constexpr std::size_t kFound = std::size_t{1} << 16;
  std::vector<Found> found_;  // in one buffer, or as many of them as are sorted at once
  bool saw_external_ids_ = false;
  std::uint32_t thread_number_ = 0;      // the writer's: its own calls are left out
  bool wrote_all_ = true;                // since the last flush that was asked for
  std::array<std::uint64_t, 5> told_{};  // counters, as last written

  std::mutex mutex_;  // of what follows
  std::condition_variable done_;
  std::uint64_t flushes_wanted_ = 0, flushes_done_ = 0;
  bool flush_ok_ = true;
  bool end_wanted_ = false, ended_ = false;
  RecordingState end_state_ = RecordingState::ended;  // written before end_wanted_, read after it
  std::thread thread_;
};

}  // namespace graphtag
