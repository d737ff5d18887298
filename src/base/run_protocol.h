// What `graphtag run` and the libgraphtag_inject.so in each process of the run agree on: environment variables that say what to do,
// and a file that both map, through which a process says what it does, and is asked to write out what it has.
//
//   control file   | Header | Process 0 | Process 1 | ...    zero-filled at first; a process takes a place when CUDA starts in it
//
// Both sides must be of one version: the library goes without the file if the header's numbers are not its own.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace graphtag::run {

// --- environment variables
constexpr const char* kCudaInjection = "CUDA_INJECTION64_PATH";  // CUDA's own
constexpr const char* kNvtxInjection = "NVTX_INJECTION64_PATH";  // NVTX's own
constexpr const char* kControl = "GRAPHTAG_RUN_CONTROL";         // path of the control file
constexpr const char* kOut = "GRAPHTAG_RUN_OUT";  // an absolute path; a file if it ends with .pftrace, else a folder
constexpr const char* kDelay = "GRAPHTAG_RUN_DELAY_MS";
constexpr const char* kDuration = "GRAPHTAG_RUN_DURATION_MS";
constexpr const char* kStartOn = "GRAPHTAG_RUN_START_ON";  // nvtx:NAME
constexpr const char* kNoApi = "GRAPHTAG_RUN_NO_API";      // 1
constexpr const char* kMaxBytes = "GRAPHTAG_RUN_MAX_BYTES";
constexpr const char* kBufferCount = "GRAPHTAG_RUN_BUFFER_COUNT";
constexpr const char* kBufferBytes = "GRAPHTAG_RUN_BUFFER_BYTES";
constexpr const char* kDomains = "GRAPHTAG_RUN_NVTX_DOMAINS";  // A,B
// What kCudaInjection and kNvtxInjection were before.
constexpr const char* kNextCuda = "GRAPHTAG_RUN_NEXT_CUDA_INJECTION";
constexpr const char* kNextNvtx = "GRAPHTAG_RUN_NEXT_NVTX_INJECTION";

constexpr const char* kTraceSuffix = ".pftrace";
constexpr const char* kAnnotationsSuffix = ".annotations.json";  // in its place, of the file beside the trace

// --- the control file
constexpr std::uint32_t kMagic = 0x74726767;
constexpr std::uint32_t kVersion = 3;
constexpr std::size_t kProcesses = 1024;
constexpr std::size_t kPathBytes = 1024;
constexpr std::size_t kMessageBytes = 512;

enum class State : std::uint32_t {
  none = 0,
  waiting = 1,  // for the delay or the range with which recording starts
  recording = 2,
  ended = 3,   // the files are whole
  failed = 4,  // `message` says why nothing is recorded
};

enum class Reason : std::uint32_t {  // why recording ended
  none = 0,
  exit = 1,
  duration = 2,
  other_profiler = 3,  // took CUPTI's records over
  cupti_failed = 4,
  file = 5,      // something could not be written
  made_way = 6,  // for a profiler of the program's own
};

// Numbers of gt_record_stats, and of the injected library.
struct Counts {
  std::atomic<std::uint64_t> kernels, memcpys, memsets, api_calls, ranges;
  std::atomic<std::uint64_t> graph_operations, graph_named, other_named;
  std::atomic<std::uint64_t> dropped;         // by CUPTI
  std::atomic<std::uint64_t> buffers_kept;    // by CUPTI, with what was in them
  std::atomic<std::uint64_t> lost;            // on the way to the file
  std::atomic<std::uint64_t> ranges_dropped;  // not drawn
  std::atomic<std::uint64_t> bad_times;
  std::atomic<std::uint64_t> segments_deleted;
  std::atomic<std::uint64_t> bytes_written;
  std::atomic<std::uint64_t> names_refused;  // ranges without a scope, as there are too many distinct ones
  std::atomic<std::uint64_t> texts_mended;   // distinct texts that were not UTF-8, or too long
  std::atomic<std::uint64_t> ranges_seen;    // by NVTX
  std::atomic<std::uint64_t> recorded_ms;    // how long, once it has ended
};

struct Process {
  std::atomic<std::uint32_t> state;    // State
  std::atomic<std::uint32_t> reason;   // Reason
  std::atomic<std::uint32_t> pid;      // as the process itself sees it
  std::atomic<std::uint32_t> flushed;  // the number of the last flush that it did
  std::atomic<std::uint64_t> stack;    // of its image (base/process_image.h): after an exec the id is another's
  Counts counts;
  char trace[kPathBytes];  // written before `state` leaves none
  char message[kMessageBytes];
};

struct Header {
  std::atomic<std::uint32_t> magic, version;
  // A number that counts up with each flush that is asked for: processes wait for it to change (futex).
  std::atomic<std::uint32_t> flush_asked;
  // Counts up with each thing that a process has done: `graphtag run` waits for that.
  std::atomic<std::uint32_t> news;
  std::atomic<std::uint32_t> processes;       // places taken; more than kProcesses: the rest went without
  std::atomic<std::uint32_t> file_taken;      // by the process that writes kOut itself, where it is a file
  std::atomic<std::uint32_t> nvtx_processes;  // in which NVTX started
  std::atomic<std::uint32_t> next_failed;     // processes that could not load kNextCuda or kNextNvtx
  std::atomic<std::int64_t> begun_ns;         // of the run, CLOCK_MONOTONIC
};

struct ControlFile {
  Header header;
  Process processes[kProcesses];
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<std::uint32_t>::is_always_lock_free);

}  // namespace graphtag::run
