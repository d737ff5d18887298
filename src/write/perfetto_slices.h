// Writes the sorted events of a timeline as Perfetto packets, row by row.
//
// Every track is a sequence of its own: its BEGINs and ENDs nest and come in the order of time.
//
//   operations row, stream 7      region    |---- model ----------------|  |-- other --|
//                                           |-- model.mlp --||-model.n-|
//                                 kernels    |-a-||--b-----|  |-c------|    |-d-|
//
// A region's slice is a maximal run, on one track in one replay, of consecutive operations that share the path to it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/external_sort.h"
#include "base/perfetto_packets.h"
#include "trace/byte_stream.h"
#include "write/launch_flows.h"
#include "write/overlap_rows.h"
#include "write/perfetto_rows.h"
#include "write/region_paths.h"
#include "write/slice_record.h"

namespace graphtag {

// What did not make it into the file: reason -> events.
using LeftOut = std::map<std::string, std::uint64_t>;

class SliceWriter {
 public:
  // Sequences below are the writer's own.
  static constexpr std::uint32_t kFirstSequence = 3;

  SliceWriter(ByteSink& sink, TimelineRows& rows, InternedStrings& strings, LaunchFlows& flows,
              const AnnotationTable& annotations, const TraceInfo& info, LeftOut& left_out);

  // Records in the order of their keys.
  Result<void> write(const SortKey& key, std::string_view record);
  // After the last record: closes what is open.
  Result<void> finish();

  std::optional<std::uint64_t> first_ns() const { return first_ns_; }

 private:
  // Sequences beyond these in a row remember no strings: each of their packets declares what it uses.
  static constexpr std::size_t kRememberingTracks = 32;
  // Host slices that overlap without nesting: rows and open slices that are followed at once.
  static constexpr std::size_t kMaxNestingTracks = 256;
  static constexpr std::size_t kMaxOpenSlices = std::size_t{1} << 20;

  struct Track {
    std::uint64_t uuid = 0;
    std::uint32_t sequence = 0;
    // Of rows of operations: the last one, whose regions are open.
    std::uint32_t annotation = 0;
    std::uint64_t graph = 0, correlation = 0;
    std::uint64_t last_end_ns = 0;
  };

  void begin_row(std::uint64_t order);
  void end_row();
  void add_track();
  void append(std::size_t track, TrackEvent event);
  void append_end(std::size_t track, std::uint64_t time_ns);
  void write_operation(std::uint64_t start_ns, std::uint64_t end_ns);
  void write_nested(std::uint64_t start_ns, std::uint64_t end_ns);
  void write_point(std::uint64_t time_ns);
  void append_record(std::size_t track, TrackEventType type, std::uint64_t time_ns);
  void change_region(std::size_t track, std::uint64_t start_ns);
  void close_until(std::size_t track, std::uint64_t time_ns);
  Result<void> flush(std::size_t limit_bytes);

  ByteSink& sink_;
  TimelineRows& rows_;
  InternedStrings& strings_;
  LaunchFlows& flows_;
  const AnnotationTable& annotations_;
  const TraceInfo& info_;
  LeftOut& left_out_;
  RegionPaths regions_;
  EventEncoder encoder_;
  std::string out_;
  std::optional<std::uint64_t> first_ns_;

  std::optional<std::uint64_t> order_;  // of the current row
  std::uint32_t row_ = 0;
  RowKind kind_ = RowKind::thread;
  std::vector<Track> tracks_;                     // of the current row
  std::vector<PacketSequence> sequences_;         // of its first tracks
  OverlapRows overlap_;                           // of a row of operations
  std::vector<std::vector<std::uint64_t>> open_;  // of rows that nest: a track's open ends, the newest last
  std::size_t open_slices_ = 0;
  std::uint32_t next_sequence_ = kFirstSequence;

  ReadRecord record_;
  std::vector<std::uint64_t> flow_ids_;
};

}  // namespace graphtag
