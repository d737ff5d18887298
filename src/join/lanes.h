// Which GPU operations move to another lane, and what follows from it: their flow ends move too, lanes that no stream had get names, and lanes that
// lost all their work lose the slices that spanned it.
//
//   pid 0, tid 143   kernel at 5 us, asks for stream 62   ->   pid 0, tid 62
//                    flow end at 5 us, id = correlation   ->   pid 0, tid 62
//
// Filled in a first pass over the trace, asked in a second.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/grow_array.h"
#include "join/annotate.h"
#include "trace/event.h"

namespace graphtag {

class LanePlan {
 public:
  // First pass. A GPU operation, with the lane it moves to if it does; `lane_name`: what its annotation calls that lane, or empty.
  void add_operation(const Event& event, std::optional<std::int64_t> lane, std::string_view lane_name);
  // A metadata event: a thread that has a name is no new lane.
  void add_metadata(const Event& event);
  void finish_collecting();

  // Second pass. Where the operation of this flow end went; nothing if it stayed. Each operation has one flow end.
  std::optional<std::int64_t> lane_of_flow_end(const Event& event);
  // Whether this event stands on a lane that had work and has none any more.
  bool lost_all_work(const Event& event);
  // By process, in the order of first sight, then by stream.
  std::vector<NewLane> new_lanes() const;

 private:
  // 24 bytes an operation that moves.
  struct Move {
    std::int64_t start_ns;
    std::uint64_t correlation;
    std::uint32_t track;
    std::uint32_t target;  // index in targets_; with kTaken once its flow end has been seen
  };
  // A lane as the file has it: process and thread.
  struct Track {
    bool had_work = false;
    bool has_work = false;  // once everything has moved
    bool named = false;
    std::int64_t last_lane = 0;  // where its last operation moved to
    std::uint32_t last_target = kNone;
    std::size_t first_move = 0, end_move = 0;  // in moves_, sorted
    std::size_t cursor = 0;                    // where the next flow end is likely to be
  };
  struct Target {
    NewLane lane;
    std::uint32_t track;
    std::uint32_t process;  // in the order of first sight
  };

  static constexpr std::uint32_t kNone = 0xffffffff;
  static constexpr std::uint32_t kTaken = 0x80000000;

  std::uint32_t find_track(std::string_view pid, std::string_view tid);  // kNone: there is none
  std::uint32_t track_of(std::string_view pid, std::string_view tid);
  std::uint32_t target_of(std::string_view pid, std::int64_t lane, std::int64_t first_ns);

  std::vector<Track> tracks_;
  boost::unordered_flat_map<std::string, std::uint32_t> track_ids_;    // pid NUL tid, as written -> index in tracks_
  boost::unordered_flat_map<std::string, std::uint32_t> process_ids_;  // pid as written -> order of first sight
  boost::unordered_flat_map<std::string, std::uint32_t> target_ids_;   // pid NUL stream -> index in targets_
  std::vector<Target> targets_;
  GrowArray<Move> moves_;
  std::string key_;             // of the last track looked up
  std::uint32_t last_ = kNone;  // and its index
};

}  // namespace graphtag
