// The layout of graphtag's own recordings: what record/ writes and trace/perfetto/ reads. docs/recording.md has it in prose.
//
// A recording is a Perfetto trace (.pftrace): TracePackets, appended, never changed. Each write(2) is whole packets. A file that ends anywhere (a kill
// within a write) is a trace up to its last whole packet, the last slice perhaps without its END. Times are Unix time in ns, on the clock BOOTTIME, which a ClockSnapshot sets equal to
// REALTIME. A file has one or more *chapters*; each begins with the packets that all others need, so that a file of a ring (a segment) can be
// read alone, and so that files can be joined by `cat`: also those of several processes, of which a reader takes one.
//
//   chapter   kDescriptorSequence  TrackDescriptors; again in each chapter, with the same uuids. A track comes before its first event
//             kStatusSequence      ClockSnapshot; instant kBeginEvent on the track kStatusTrack: what was recorded, where, by what
//             kEventSequence       everything else. Its first packet of a chapter clears the interned strings
//             kStatusSequence      now and then: counters (kDroppedCounter ...), instants of the category kProblemCategory;
//                                  at the end of the recording instant kEndEvent. Where that lacks, the process was killed, or still runs
//
//   tracks    process 1066 "python3"                      process descriptor
//               GPU 0 NVIDIA H200                         its child; no process of its own: two processes have a GPU 0 each
//                 stream 7                                operations that do not overlap; more tracks of that name where they do
//               thread 1070 "main"                        thread descriptor: ranges, nested as they were
//                 CUDA runtime, CUDA driver               API calls
//                 ranges that overlap
//               CUPTI overhead
//               graphtag                                  status: instants, and counters below it
//
// A slice is a BEGIN packet and, right behind it in the same sequence, its END: to be paired in the order of the file. Slices are not in the
// order of time. Each slice and instant has a name and one category. Args (debug annotations) have the keys that Kineto writes into Chrome
// traces where there are such; integers have their whole 64 bits. Tracks say nothing that args do not say as well, except a thread its
// pid, tid and name.
//
//   kernel        kDevice kContext kStream kCorrelation kGrid kBlock kRegisters kSharedMemory; in graphs kGraphId kGraphNodeId kOrigin
//   gpu_memcpy    kDevice kContext kStream kCorrelation kBytes kBandwidth; a peer copy kSourceDevice; in graphs as a kernel
//   gpu_memset    kDevice kContext kStream kCorrelation kBytes kValue; in graphs as a kernel
//   cuda_runtime, cuda_driver   kCorrelation, kCallbackId; if it failed kReturnValue
//   overhead      kProcess or kThread it stands for, as CUPTI gave them
//   nvtx          kDomain kNvtxCategory kPayload, where it has them; kUnfinished
//
// An annotation's keys are args of the operation as they stand, with kPrefix before one that is in this file's list, but "stream", where it is a
// lane, as kAnnotatedStream. Its path is kPath, unless that is its name alone. An annotation of more than 64 KiB is left out but for its name, and has
// kTooLarge. A record whose times cannot be right has kBadTime, with the times as CUPTI gave them, and stands at the time of writing, or at its
// start if that is fit, with no length.
#pragma once

#include <cstdint>
#include <string_view>

namespace graphtag::recording {

constexpr std::string_view kSchema = "graphtag.recording/1";

// trusted_packet_sequence_id
constexpr std::uint32_t kDescriptorSequence = 1;
constexpr std::uint32_t kStatusSequence = 2;
constexpr std::uint32_t kEventSequence = 3;

// Clocks of ClockSnapshots: Perfetto's numbers, and one of our own beyond its own. kTraceClock carries the times of the trace.
constexpr std::uint32_t kRealtimeClock = 1;
constexpr std::uint32_t kMonotonicClock = 3;
constexpr std::uint32_t kTraceClock = 6;    // BOOTTIME
constexpr std::uint32_t kCuptiClock = 128;  // cuptiGetTimestamp

// --- categories
constexpr std::string_view kKernel = "kernel";
constexpr std::string_view kMemcpy = "gpu_memcpy";
constexpr std::string_view kMemset = "gpu_memset";
constexpr std::string_view kRuntimeCall = "cuda_runtime";
constexpr std::string_view kDriverCall = "cuda_driver";
constexpr std::string_view kOverhead = "overhead";
constexpr std::string_view kRange = "nvtx";  // slices, and instants for marks
constexpr std::string_view kStatusCategory = "graphtag";
constexpr std::string_view kProblemCategory = "graphtag.problem";

// --- args of operations
constexpr std::string_view kDevice = "device";
constexpr std::string_view kContext = "context";
constexpr std::string_view kStream = "stream";
constexpr std::string_view kCorrelation = "correlation";
constexpr std::string_view kGraphId = "graph id";           // of the exec graph; absent or 0 outside graphs
constexpr std::string_view kGraphNodeId = "graph node id";  // the full 64 bits, as CUPTI wrote it
constexpr std::string_view kOrigin =
    "graphtag.origin";  // in graphs: the provenance of the annotation, or the reason why there is none
constexpr std::string_view kPath = "graphtag.path";  // array of strings, outermost scope first
constexpr std::string_view kGrid = "grid";           // array of three
constexpr std::string_view kBlock = "block";         // array of three
constexpr std::string_view kRegisters = "registers per thread";
constexpr std::string_view kSharedMemory = "shared memory";  // bytes, static and dynamic
constexpr std::string_view kBytes = "bytes";
constexpr std::string_view kBandwidth = "memory bandwidth (GB/s)";
constexpr std::string_view kSourceDevice = "fromDevice";
constexpr std::string_view kValue = "value";
constexpr std::string_view kBadTime = "graphtag.bad_time";  // dict {"start": uint, "end": uint}: CUPTI's, on its clock

// --- args of host slices
constexpr std::string_view kCallbackId = "cbid";
constexpr std::string_view kReturnValue = "return value";  // absent: 0
constexpr std::string_view kOverheadProcess = "process", kOverheadThread = "thread";
constexpr std::string_view kDomain = "nvtx_domain";
constexpr std::string_view kNvtxCategory = "nvtx_category";
constexpr std::string_view kPayload = "payload";
constexpr std::string_view kUnfinished = "unfinished";  // true

// Goes before a key of an annotation that stands above: "grid" becomes "annotation.grid".
constexpr std::string_view kPrefix = "annotation.";
constexpr std::string_view kAnnotatedStream = "annotated_stream";
constexpr std::string_view kTooLarge = "graphtag.annotation_bytes";  // how large it would have been

// --- tracks
constexpr std::string_view kStatusTrack = "graphtag";
constexpr std::string_view kRuntimeTrack = "CUDA runtime";
constexpr std::string_view kDriverTrack = "CUDA driver";
constexpr std::string_view kOverlapTrack = "ranges that overlap";
constexpr std::string_view kOverheadTrack = "CUPTI overhead";
// Counters, since the recording began; one value at least at the end of it, and whenever one has changed.
constexpr std::string_view kDroppedCounter = "records dropped by CUPTI";
constexpr std::string_view kRefusedCounter = "buffers refused";
constexpr std::string_view kBadTimesCounter = "records with bad times";
constexpr std::string_view kLostCounter = "records lost on the way to the file";
constexpr std::string_view kRangesDroppedCounter = "ranges dropped";

// --- instants of the status track
// Args of kBeginEvent: "schema", "tool", "host", "pid", "rank" (if any), "loaded_ns" (when graphtag came into the process: an image after an exec has the same pid), "process", "driver", "cupti", "cupti_path", "segment" (from 1), "chapter" (from 1), "begin_ns", "api" (bool), "buffers", "buffer_bytes", "clock" {"unix_ns",
// "cupti_ns"}, and "metadata" as the program gave it.
constexpr std::string_view kBeginEvent = "graphtag.begin";
// Before a device's first operation in a chapter. Args: "device", "name", "uuid" (what CUDA tells of them).
constexpr std::string_view kDeviceEvent = "graphtag.device";
// Args of kEndEvent: "state" ("ended", "other-profiler", "failed"), "end_ns", and each count of gt_record_stats by its name.
constexpr std::string_view kEndEvent = "graphtag.end";
// No recording has it: the instant of kStatusCategory, behind everything else, of a trace that graphtag annotate drew.
constexpr std::string_view kDrawnEvent = "graphtag";
// A problem is an instant of kProblemCategory: its name is a stable word ("dropped", "other-profiler", "write-failed" ...), its args are "count",
// "what" (a sentence) and "do" (what to do about it).
constexpr std::string_view kProblemCount = "count", kProblemWhat = "what", kProblemDo = "do";

}  // namespace graphtag::recording
