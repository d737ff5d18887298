#include "record/recording.h"

#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/recording_layout.h"
#include "base/unix_time.h"

namespace graphtag {
namespace {

namespace layout = recording;
using namespace std::chrono_literals;

// How often CUPTI is asked for buffers whose records are finished, for each time that the file is written.
constexpr int kPollsPerFlush = 4;
constexpr auto kStarvedPeriod = 5ms;  // and how often where it has no buffer left
constexpr auto kEndTimeout = 60s;
constexpr std::size_t kOutBytes = std::size_t{1} << 20;  // capacity, beside the chunk that is written at once

std::uint64_t seed_of(const Json& about) {
  std::uint64_t seed = static_cast<std::uint64_t>(unix_time_ns());
  for (const char c : dump_json(about)) seed = mix_bits(seed ^ static_cast<unsigned char>(c));
  return seed;
}

TrackOwner with_seed(const RecordingOptions& options) {
  TrackOwner owner = options.owner;
  owner.seed = seed_of(*options.about);
  return owner;
}

std::uint64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

// While it lives, threads that are made block all signals: none of the program's handlers runs on them.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace

std::string_view to_string(RecordingState state) {
  switch (state) {
    case RecordingState::running:
      return "running";
    case RecordingState::ended:
      return "ended";
    case RecordingState::other_profiler:
      return "other-profiler";
    case RecordingState::failed:
      return "failed";
  }
  return "failed";
}

Recording::Recording(const Driver& driver, const Registry& registry, RecordingOptions options)
    : driver_(driver),
      activity_(driver.activity()),
      options_(std::move(options)),
      encoder_(out_, with_seed(options_), registry, driver_, counts_) {
  wanted_ = {ActivityKind::kernel, ActivityKind::memcpy, ActivityKind::peer_memcpy, ActivityKind::memset, ActivityKind::overhead};
  if (options_.api) {
    for (const ActivityKind kind : {ActivityKind::driver_call, ActivityKind::runtime_call, ActivityKind::external_id}) {
      wanted_.add(kind);
    }
  }
}

Result<std::unique_ptr<Recording>> Recording::begin(const Driver& driver, const Registry& registry, RecordingOptions options) {
  std::unique_ptr<Recording> made(new Recording(driver, registry, std::move(options)));
  Recording& self = *made;
  const RecordingOptions& wanted = self.options_;
  ClockPair clocks;
  if (!read_clocks(driver, clocks)) return Error{ErrorCode::refused, "CUPTI does not tell the time", {}, {}};
  self.encoder_.clock().begin(clocks);
  if (Result<void> opened = self.file_.open(wanted.path, wanted.max_bytes); !opened) return std::move(opened).error();
  if (!self.pool_.reserve(wanted.buffer_count, wanted.buffer_bytes)) {
    return Error{ErrorCode::too_large,
                 "no memory for " + std::to_string(wanted.buffer_count) + " buffers of " + std::to_string(wanted.buffer_bytes) +
                     " bytes; take fewer",
                 {},
                 {}};
  }
  self.ranges_.reserve();
  self.full_.reserve(wanted.buffer_count);
  constexpr std::size_t kSmallestRecord = 24;
  self.found_.reserve(std::min(kFound, wanted.buffer_bytes / kSmallestRecord));
  self.out_.reserve(self.file_.chunk_bytes() + kOutBytes);
  const DriverResult started = self.activity_.start(self.pool_, self.wanted_, self.enabled_);
  if (!started.ok()) {
    return Error{ErrorCode::refused, "CUPTI refuses to record activity (error " + std::to_string(started.code) + ")", {}, {}};
  }
  try {
    const SignalsBlocked blocked;
    self.thread_ = std::thread([&self] { self.run(); });
  } catch (const std::exception& error) {
    // CUPTI has buffers that go with `made`.
    static_cast<void>(self.activity_.stop());
    static_cast<void>(self.activity_.flush(true));
    self.activity_.detach();
    return Error{ErrorCode::too_large,
                 std::string("the process may not have another thread, which writes the recording (") + error.what() +
                     "); raise its limits of threads and memory",
                 {},
                 {}};
  }
  return made;
}

Recording::Flushed Recording::flush(std::chrono::milliseconds timeout) noexcept {
  std::unique_lock lock(mutex_);
  if (ended_ || end_wanted_) return Flushed::ok;
  const std::uint64_t mine = ++flushes_wanted_;
  wake_.signal();
  const bool done = done_.wait_for(lock, timeout, [&] { return flushes_done_ >= mine || ended_; });
  if (!done) return Flushed::too_late;
  return flush_ok_ ? Flushed::ok : Flushed::not_written;
}

bool Recording::name_calls(AnnotationId annotation, bool pushed) const noexcept {
  if (pushed) static_cast<void>(activity_.pop_external_id());
  if (annotation == AnnotationId::none || !options_.api) return false;
  return activity_.push_external_id(std::uint64_t{options_.serial} << 32 | static_cast<std::uint32_t>(annotation)).ok();
}

bool Recording::end(RecordingState state) noexcept {
  {
    std::unique_lock lock(mutex_);
    end_state_ = state;
    end_wanted_ = true;
    wake_.signal();
    if (!done_.wait_for(lock, kEndTimeout, [&] { return ended_; })) {
      thread_.detach();
      return false;
    }
  }
  thread_.join();
  return true;
}

void Recording::abandon_in_child() noexcept {
  activity_.detach_in_child();
  file_.abandon();
}

template <typename Work>
bool Recording::append(Work work) noexcept {
  const std::size_t size = out_.size();
  try {
    if (needs_chapter_) {
      needs_chapter_ = false;
      begin_chapter();
    }
    work();
    return true;
  } catch (...) {
    // Half a packet, or strings that were to be declared in it.
    out_.resize(std::min(size, out_.size()));
    needs_chapter_ = true;
    return false;
  }
}

// What there is no memory for is lost, and counted.
template <typename Work>
void Recording::append_record(Work work) noexcept {
  if (append(work)) {
    ++out_records_;
  } else {
    counts_.records_lost.add();
  }
  if (out_.size() >= file_.chunk_bytes()) write_out();
}

void Recording::run() noexcept {
  pthread_setname_np(pthread_self(), "graphtag");
  thread_number_ = static_cast<std::uint32_t>(syscall(SYS_gettid));
  append([] {});  // so that there is a trace from the beginning on
  write_out();
  const auto poll_period = options_.flush_period / kPollsPerFlush;
  auto last_poll = Clock::now(), next_poll = last_poll + poll_period, next_flush = Clock::now() + options_.flush_period;
  while (true) {
    wake_.wait_until(std::min(next_poll, next_flush));
    std::uint64_t wanted = 0;
    bool asked = false, end = false;
    {
      const std::lock_guard lock(mutex_);
      wanted = flushes_wanted_;
      asked = wanted != flushes_done_;
      end = end_wanted_;
    }
    drain();
    drain_ranges();  // each time: they wake this thread when their queue is half full
    if (end) break;
    const auto now = Clock::now();
    // CUPTI may sit on full buffers while it asks for more.
    if (pool_.was_starved()) next_poll = std::min(next_poll, last_poll + kStarvedPeriod);
    if (asked || now >= next_poll) {
      poll_activity(asked);
      last_poll = now;
      next_poll = now + poll_period;
    }
    if (asked || now >= next_flush) {
      append([&] { write_status(false); });
      write_out();
      next_flush = now + options_.flush_period;
    }
    if (asked) {
      const std::lock_guard lock(mutex_);
      flushes_done_ = wanted;
      flush_ok_ = std::exchange(wrote_all_, true);
      done_.notify_all();
    }
  }
  finish();
  const std::lock_guard lock(mutex_);
  ended_ = true;
  done_.notify_all();
}

void Recording::poll_activity(bool forced) noexcept {
  // A buffer that comes of it is taken on this thread.
  static_cast<void>(activity_.flush(forced));
  drain();
  std::uint64_t dropped = 0;
  if (activity_.dropped(dropped).ok()) counts_.dropped_by_cupti.set(dropped);
}

void Recording::finish() noexcept {
  static_cast<void>(activity_.stop());
  poll_activity(false);
  poll_activity(true);
  drain_ranges();
  counts_.buffers_kept.set(pool_.given());
  activity_.detach();
  state_.store(counts_.buffers_kept == 0 ? end_state_ : RecordingState::other_profiler, std::memory_order_release);
  append([&] { write_status(true); });
  write_out();
  file_.close();
}

void Recording::begin_chapter() {
  ++chapter_;
  chapter_bytes_ = 0;
  encoder_.begin_chapter();
  ClockPair now;
  if (!read_clocks(driver_, now)) now = encoder_.clock().beginning();
  const auto unix_now = static_cast<std::uint64_t>(now.unix_ns);
  const std::pair<std::uint32_t, std::uint64_t> clocks[] = {{layout::kTraceClock, unix_now},
                                                            {layout::kRealtimeClock, unix_now},
                                                            {layout::kMonotonicClock, monotonic_ns()},
                                                            {layout::kCuptiClock, now.cupti_ns}};
  append_clocks(out_, layout::kStatusSequence, clocks);

  InternedStrings strings;
  EventEncoder begin{strings};
  begin.category(layout::kStatusCategory);
  begin.name(layout::kBeginEvent);
  {
    ArgWriter args = begin.args();
    args.string("schema", layout::kSchema);
    for (const auto& member : options_.about->items()) write_json_arg(args, member.key(), member.value());
    args.unsigned_integer("segment", file_.segment());
    args.unsigned_integer("chapter", chapter_);
    args.integer("begin_ns", encoder_.clock().beginning().unix_ns);
    args.boolean("api", options_.api);
    args.unsigned_integer("buffers", options_.buffer_count);
    args.unsigned_integer("buffer_bytes", options_.buffer_bytes);
    ArgWriter clock = args.dict("clock");
    clock.integer("unix_ns", now.unix_ns);
    clock.unsigned_integer("cupti_ns", now.cupti_ns);
  }
  TrackEvent event;
  event.timestamp_ns = unix_now;
  event.track = encoder_.tracks().status();
  event.body = begin.body();
  event.used = begin.used();
  PacketSequence::append_self_contained(out_, layout::kStatusSequence, strings, event);
  told_ = {};
  if (enabled_ != wanted_) {
    note_problem("kinds-refused", 1, "CUPTI does not record some kinds of activity here",
                 "take the CUPTI of the driver's release, if calls or scopes outside graphs are missing");
  }
}

void Recording::drain() noexcept {
  pool_.take_full(full_);
  if (!full_.empty()) {
    std::uint64_t now = 0;
    if (driver_.timestamp_ns(now).ok()) encoder_.clock().advance(now);
    if (options_.api && (saw_external_ids_ || full_.size() > 1)) {
      // What was open at a launch may stand in a later buffer than the work.
      for (const BufferPool::Full& full : full_) note_external_ids(full);
    }
    for (const BufferPool::Full& full : full_) {
      read_buffer(full);
      pool_.release(full);
    }
  }
  counts_.buffers_refused.set(pool_.refused());
  counts_.ranges_dropped.set(ranges_.dropped());
}

void Recording::note_external_id(const RawRecord* record) noexcept {
  ExternalId id = decode_external_id(record);
  if (id.id >> 32 != options_.serial) return;
  saw_external_ids_ = true;
  id.id &= 0xffffffff;
  encoder_.external_id(id);
}

void Recording::note_external_ids(const BufferPool::Full& full) noexcept {
  const RawRecord* record = nullptr;
  while (activity_.next_record(full.bytes, full.valid_bytes, record).ok() && record != nullptr) {
    if (kind_of(record) == ActivityKind::external_id) note_external_id(record);
  }
}

// The records behind `record`, into found_, until that is full; ids of scopes straight to the encoder. False: these are the last.
bool Recording::collect(const BufferPool::Full& full, const RawRecord*& record) noexcept {
  found_.clear();
  while (found_.size() < found_.capacity()) {
    if (!activity_.next_record(full.bytes, full.valid_bytes, record).ok() || record == nullptr) return false;
    if (kind_of(record) == ActivityKind::external_id) {
      note_external_id(record);
    } else {
      found_.push_back({start_of(record), record});
    }
  }
  return true;
}

void Recording::read_buffer(const BufferPool::Full& full) noexcept {
  const RawRecord* last = nullptr;
  for (bool more = true; more;) {
    more = collect(full, last);
    // CUPTI writes them as they end: a call before the call around it.
    std::sort(found_.begin(), found_.end(), [](const Found& a, const Found& b) {
      return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.record > b.record;
    });
    for (const Found& found : found_) append_record([&] { record(found.record); });
  }
}

void Recording::record(const RawRecord* raw) {
  switch (kind_of(raw)) {
    case ActivityKind::kernel:
    case ActivityKind::memcpy:
    case ActivityKind::peer_memcpy:
    case ActivityKind::memset:
      encoder_.operation(decode_gpu_activity(raw));
      break;
    case ActivityKind::driver_call:
    case ActivityKind::runtime_call:
      if (const ApiCall call = decode_call(raw); call.thread != thread_number_) encoder_.call(call);
      break;
    case ActivityKind::overhead:
      encoder_.overhead(decode_overhead(raw));
      break;
    case ActivityKind::external_id:
    case ActivityKind::other:
      counts_.records_unknown.add();
      break;
  }
}

void Recording::drain_ranges() noexcept {
  ranges_.drain([&](const HostRange& range) { append_record([&] { encoder_.range(range); }); });
}

void Recording::write_out() noexcept {
  if (out_.empty()) return;
  const bool written = file_.write(out_);
  chapter_bytes_ += out_.size();
  out_.clear();
  const std::uint64_t records = std::exchange(out_records_, 0);
  counts_.bytes_written.set(file_.bytes_written());
  counts_.bytes_deleted.set(file_.bytes_deleted());
  counts_.segments_deleted.set(file_.segments_deleted());
  if (!written) {
    // What later packets rely on is lost too, so they begin anew.
    counts_.write_errors.add();
    counts_.records_lost.add(records);
    wrote_all_ = false;
    needs_chapter_ = true;
    append([&] {
      note_problem("write-failed", counts_.write_errors,
                   std::string("packets could not be written: ") + std::strerror(file_.last_error()),
                   "make room on the disk, or limit the recording's size");
    });
  } else if (file_.is_segment_full()) {
    file_.next_segment();
    needs_chapter_ = true;
  } else if (encoder_.overflowed() && chapter_bytes_ >= options_.chapter_bytes) {
    // Whatever is in use now gets numbers again.
    needs_chapter_ = true;
  }
}

void Recording::write_status(bool last) {
  const auto now = static_cast<std::uint64_t>(unix_time_ns());
  const std::pair<std::string_view, std::uint64_t> counters[] = {{layout::kDroppedCounter, counts_.dropped_by_cupti},
                                                                 {layout::kRefusedCounter, counts_.buffers_refused},
                                                                 {layout::kBadTimesCounter, counts_.bad_times},
                                                                 {layout::kLostCounter, counts_.records_lost},
                                                                 {layout::kRangesDroppedCounter, counts_.ranges_dropped}};
  InternedStrings strings;
  EventEncoder event{strings};
  const auto append = [&](TrackEventType type, std::uint64_t track) {
    TrackEvent packet;
    packet.type = type;
    packet.timestamp_ns = now;
    packet.track = track;
    packet.body = event.body();
    packet.used = event.used();
    PacketSequence::append_self_contained(out_, layout::kStatusSequence, strings, packet);
  };
  for (std::size_t i = 0; i < told_.size(); ++i) {
    if (!last && counters[i].second == told_[i]) continue;
    told_[i] = counters[i].second;
    event.clear();
    event.counter(static_cast<std::int64_t>(counters[i].second));
    append(TrackEventType::counter, encoder_.tracks().counter(counters[i].first));
  }
  if (!last) return;
  if (end_state_ == RecordingState::other_profiler) {
    note_problem("other-profiler", 1, "the program started a profiler of its own: the recording ended there, as CUPTI serves one",
                 "leave that profiler out where the whole program is to be recorded");
  } else if (counts_.buffers_kept != 0) {
    note_problem("other-profiler", counts_.buffers_kept,
                 "CUPTI did not give all buffers back: another tool of the process has taken its records over, and what was in "
                 "them is lost",
                 "do not run a profiler of the program's own while graphtag records");
  }
  if (counts_.dropped_by_cupti != 0) {
    note_problem("dropped", counts_.dropped_by_cupti, "CUPTI dropped records: no buffer was free",
                 "take more or larger buffers (gt_record_options.buffer_count, buffer_bytes)");
  }
  if (counts_.ranges_dropped != 0) {
    note_problem("ranges-dropped", counts_.ranges_dropped, "ranges of the host were dropped: more came than could be written",
                 "record fewer domains");
  }
  event.clear();
  event.category(layout::kStatusCategory);
  event.name(layout::kEndEvent);
  {
    ArgWriter args = event.args();
    args.string("state", to_string(state()));
    args.integer("end_ns", static_cast<std::int64_t>(now));
    for_each_count(counts_, [&](std::string_view name, const RecordCount& count) { args.unsigned_integer(name, count); });
  }
  append(TrackEventType::instant, encoder_.tracks().status());
}

void Recording::note_problem(std::string_view name, std::uint64_t count, const std::string& what, const char* what_to_do) {
  InternedStrings strings;
  EventEncoder event{strings};
  event.category(layout::kProblemCategory);
  event.name(name);
  {
    ArgWriter args = event.args();
    args.unsigned_integer(layout::kProblemCount, count);
    args.string(layout::kProblemWhat, what);
    args.string(layout::kProblemDo, what_to_do);
  }
  TrackEvent packet;
  packet.timestamp_ns = static_cast<std::uint64_t>(unix_time_ns());
  packet.track = encoder_.tracks().status();
  packet.body = event.body();
  packet.used = event.used();
  PacketSequence::append_self_contained(out_, layout::kStatusSequence, strings, packet);
}

}  // namespace graphtag
