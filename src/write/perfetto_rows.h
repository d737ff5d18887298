// The rows of a timeline: which exist in a trace, what they are called, and their Perfetto descriptors.
//
//   process "GPU 0 NVIDIA H200"          process 1066 "python3"
//     stream 7 annotations                 thread 1066 "main"        host slices
//     stream 7      operations               (slices that overlap)
//     stream 7      (overlap)              counter "memory"
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/perfetto_packets.h"
#include "join/annotate.h"

namespace graphtag {

// In the order in which they are written: launches must be known before the operations that they start.
enum class RowKind : std::uint8_t { thread, counter, gpu_annotations, operations };

class TimelineRows {
 public:
  static constexpr std::size_t kMaxRows = 65536;

  // Tokens as in events (strings with quotes). `thread` is the counter's name for a counter. Nothing once there are kMaxRows.
  std::optional<std::uint32_t> row(RowKind kind, std::string_view pid_token, std::string_view thread);
  // An operation on `row`, whose process therefore is a GPU.
  void note_operation(std::uint32_t row, const Event& event);
  // Takes in names, labels and orders. False where the event says something else.
  bool metadata(const Event& event);
  void name_lanes(const std::vector<NewLane>& lanes);

  RowKind kind(std::uint32_t row) const { return rows_[row].kind; }
  // What rows are sorted by.
  std::uint64_t order(std::uint32_t row) const { return std::uint64_t(rows_[row].kind) << 32 | row; }
  static std::uint32_t row_of(std::uint64_t order) { return static_cast<std::uint32_t>(order); }
  // Writes the descriptor of a row's `index`-th track, its process before it if this is the first. Gives the track's uuid.
  std::uint64_t describe(std::string& trace, std::uint32_t row, std::uint32_t index, const TraceInfo& info);
  std::uint64_t new_uuid() { return ++uuids_; }

 private:
  struct Process {
    std::string pid;
    std::optional<std::int64_t> number;  // of pid, if it is one
    std::string name, labels;
    bool gpu = false;
    std::optional<std::int64_t> device;
    std::uint64_t uuid = 0;   // 0: not written yet
    bool is_process = false;  // its descriptor is that of a process
  };
  struct Thread {
    std::string name;
    std::optional<std::int64_t> order;
  };
  struct Row {
    RowKind kind;
    std::uint32_t process = 0;
    std::string thread;
    std::uint64_t first_uuid = 0;  // of its first track
  };

  std::uint32_t process(const std::string& pid);
  Thread* thread(std::uint32_t process, std::string_view tid);
  const Thread* find_thread(std::uint32_t process, const std::string& tid) const;
  void describe_process(std::string& trace, Process& process, const TraceInfo& info);
  std::string row_name(const Row& row) const;
  std::int32_t row_order(const Row& row) const;

  std::vector<Process> processes_;
  boost::unordered_flat_map<std::string, std::uint32_t> process_ids_;  // pid -> index of processes_
  std::vector<Row> rows_;
  boost::unordered_flat_map<std::string, std::uint32_t> row_ids_;  // kind, pid, thread as one text -> index of rows_
  boost::unordered_flat_map<std::string, Thread> threads_;         // "process index:tid" -> what is known of it
  std::string key_;
  std::string pid_storage_, thread_storage_;
  std::uint64_t uuids_ = 0;
};

}  // namespace graphtag
