#include "join/lanes.h"

#include <algorithm>
#include <tuple>

#include "join/tokens.h"

namespace graphtag {
namespace {

void make_key(std::string& key, std::string_view pid, std::string_view tid) {
  key.assign(pid);
  key += '\0';
  key += tid;
}

bool is_key(std::string_view key, std::string_view pid, std::string_view tid) {
  return key.size() == pid.size() + 1 + tid.size() && key.starts_with(pid) && key[pid.size()] == '\0' && key.ends_with(tid);
}

}  // namespace

std::uint32_t LanePlan::find_track(std::string_view pid, std::string_view tid) {
  if (is_key(key_, pid, tid)) return last_;
  make_key(key_, pid, tid);
  const auto found = track_ids_.find(key_);
  last_ = found == track_ids_.end() ? kNone : found->second;
  return last_;
}

std::uint32_t LanePlan::track_of(std::string_view pid, std::string_view tid) {
  if (find_track(pid, tid) != kNone) return last_;
  last_ = static_cast<std::uint32_t>(tracks_.size());
  tracks_.emplace_back();
  track_ids_.emplace(key_, last_);
  return last_;
}

std::uint32_t LanePlan::target_of(std::string_view pid, std::int64_t lane, std::int64_t first_ns) {
  const std::string tid = std::to_string(lane);
  std::string key;
  make_key(key, pid, tid);
  if (const auto found = target_ids_.find(key); found != target_ids_.end()) return found->second;
  const auto target = static_cast<std::uint32_t>(targets_.size());
  target_ids_.emplace(std::move(key), target);
  const auto process = process_ids_.emplace(pid, static_cast<std::uint32_t>(process_ids_.size())).first->second;
  targets_.push_back({{std::string(pid), lane, {}, first_ns}, track_of(pid, tid), process});
  return target;
}

void LanePlan::add_operation(const Event& event, std::optional<std::int64_t> lane, std::string_view lane_name) {
  const std::string_view pid = event.text(event.pid);
  const std::uint32_t track = track_of(pid, event.text(event.tid));
  tracks_[track].had_work = true;
  if (!lane) {
    tracks_[track].has_work = true;
    return;
  }
  const std::int64_t start_ns = event.start_ns.value_or(0);
  if (tracks_[track].last_target == kNone || tracks_[track].last_lane != *lane) {
    const std::uint32_t target = target_of(pid, *lane, start_ns);
    tracks_[track].last_lane = *lane;
    tracks_[track].last_target = target;
    tracks_[targets_[target].track].has_work = true;
  }
  Target& target = targets_[tracks_[track].last_target];
  target.lane.first_ns = std::min(target.lane.first_ns, start_ns);
  if (target.lane.name.empty()) target.lane.name = lane_name;
  moves_.push_back({start_ns, event.correlation.value_or(0), track, tracks_[track].last_target});
}

void LanePlan::add_metadata(const Event& event) {
  std::string storage;
  if (unescape(event.text(event.name), storage) != "thread_name") return;
  tracks_[track_of(event.text(event.pid), event.text(event.tid))].named = true;
}

void LanePlan::finish_collecting() {
  const auto order = [](const Move& move) { return std::tie(move.track, move.start_ns, move.correlation); };
  const auto before = [order](const Move& a, const Move& b) { return order(a) < order(b); };
  if (!std::is_sorted(moves_.begin(), moves_.end(), before)) std::sort(moves_.begin(), moves_.end(), before);
  for (std::size_t i = 0; i < moves_.size(); ++i) {
    Track& track = tracks_[moves_[i].track];
    if (i == 0 || moves_[i - 1].track != moves_[i].track) track.first_move = track.cursor = i;
    track.end_move = i + 1;
  }
}

std::optional<std::int64_t> LanePlan::lane_of_flow_end(const Event& event) {
  std::string storage;
  if (!event.start_ns || unescape(event.text(event.category), storage) != "ac2g") return std::nullopt;
  const auto correlation = integer_of<std::uint64_t>(event.text(event.id));
  const std::uint32_t track_index = find_track(event.text(event.pid), event.text(event.tid));
  if (!correlation || track_index == kNone) return std::nullopt;
  Track& track = tracks_[track_index];
  const auto matches = [&](std::size_t i) {
    return i < track.end_move && moves_[i].start_ns == *event.start_ns && moves_[i].correlation == *correlation;
  };
  // Flow ends mostly come in the order of their operations.
  std::size_t i = track.cursor;
  if (!matches(i) || (moves_[i].target & kTaken) != 0) {
    const Move wanted{*event.start_ns, *correlation, track_index, 0};
    const auto before = [](const Move& a, const Move& b) {
      return std::tie(a.start_ns, a.correlation) < std::tie(b.start_ns, b.correlation);
    };
    // Operations without a length may share track, start and launch. Each has its own flow end; they are taken from the first on.
    const auto [first, end] =
        std::equal_range(moves_.begin() + track.first_move, moves_.begin() + track.end_move, wanted, before);
    const Move* move = std::partition_point(first, end, [](const Move& m) { return (m.target & kTaken) != 0; });
    if (move == end) return std::nullopt;
    i = static_cast<std::size_t>(move - moves_.begin());
  }
  const std::int64_t lane = targets_[moves_[i].target].lane.stream;
  moves_[i].target |= kTaken;
  track.cursor = i + 1;
  return lane;
}

bool LanePlan::lost_all_work(const Event& event) {
  const std::uint32_t track = find_track(event.text(event.pid), event.text(event.tid));
  return track != kNone && tracks_[track].had_work && !tracks_[track].has_work;
}

std::vector<NewLane> LanePlan::new_lanes() const {
  std::vector<const Target*> added;
  for (const Target& target : targets_) {
    const Track& track = tracks_[target.track];
    if (!track.had_work && !track.named) added.push_back(&target);
  }
  std::sort(added.begin(), added.end(), [](const Target* a, const Target* b) {
    return std::tie(a->process, a->lane.stream) < std::tie(b->process, b->lane.stream);
  });
  std::vector<NewLane> lanes;
  for (const Target* target : added) {
    lanes.push_back(target->lane);
    if (lanes.back().name.empty()) lanes.back().name = "stream " + std::to_string(target->lane.stream);
  }
  return lanes;
}

}  // namespace graphtag
