#include "write/perfetto_slices.h"

#include <algorithm>
#include <span>

namespace graphtag {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{256} << 10;

// Unix time of a time on the trace's own clock; nothing if it is out of range.
std::optional<std::uint64_t> absolute(std::int64_t time_ns, const TraceInfo& info) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(time_ns, info.base_time_ns.value_or(0), &sum) || sum < 0) return {};
  return static_cast<std::uint64_t>(sum);
}

}  // namespace

SliceWriter::SliceWriter(ByteSink& sink, TimelineRows& rows, InternedStrings& strings, LaunchFlows& flows,
                         const AnnotationTable& annotations, const TraceInfo& info, LeftOut& left_out)
    : sink_(sink),
      rows_(rows),
      strings_(strings),
      flows_(flows),
      annotations_(annotations),
      info_(info),
      left_out_(left_out),
      encoder_(strings) {}

Result<void> SliceWriter::write(const SortKey& key, std::string_view bytes) {
  if (order_ != key[0]) begin_row(key[0]);
  const bool nests = kind_ != RowKind::operations;
  const auto start_ns = absolute(start_of(key), info_), end_ns = absolute(end_of(key, nests), info_);
  if (!start_ns || !end_ns) {
    ++left_out_["before 1970 or beyond 2262"];
    return {};
  }
  first_ns_ = std::min(first_ns_.value_or(*start_ns), *start_ns);
  record_.read(bytes);
  if (kind_ == RowKind::operations) {
    write_operation(*start_ns, *end_ns);
  } else if (record_.head.kind == RecordKind::slice || record_.head.kind == RecordKind::launch) {
    write_nested(*start_ns, *end_ns);
  } else {
    write_point(*start_ns);
  }
  return flush(kChunkBytes);
}

Result<void> SliceWriter::finish() {
  end_row();
  return flush(0);
}

Result<void> SliceWriter::flush(std::size_t limit_bytes) {
  if (out_.size() <= limit_bytes) return {};
  auto written = sink_.write(out_);
  out_.clear();
  return written;
}

void SliceWriter::begin_row(std::uint64_t order) {
  end_row();
  order_ = order;
  row_ = TimelineRows::row_of(order);
  kind_ = rows_.kind(row_);
}

void SliceWriter::end_row() {
  for (std::size_t i = 0; i < tracks_.size(); ++i) {
    if (kind_ == RowKind::operations) {
      record_.head = {};
      change_region(i, tracks_[i].last_end_ns);
    } else {
      close_until(i, ~std::uint64_t{0});
    }
  }
  tracks_.clear();
  sequences_.clear();
  overlap_ = {};
  open_.clear();
  open_slices_ = 0;
}

void SliceWriter::add_track() {
  Track track;
  track.uuid = rows_.describe(out_, row_, static_cast<std::uint32_t>(tracks_.size()), info_);
  track.sequence = next_sequence_++;
  if (tracks_.size() < kRememberingTracks) sequences_.emplace_back(track.sequence, strings_);
  tracks_.push_back(track);
  if (kind_ != RowKind::operations) open_.emplace_back();
}

void SliceWriter::append(std::size_t track, TrackEvent event) {
  event.track = tracks_[track].uuid;
  if (track < sequences_.size()) {
    sequences_[track].append(out_, event);
  } else {
    PacketSequence::append_self_contained(out_, tracks_[track].sequence, strings_, event);
  }
}

void SliceWriter::append_end(std::size_t track, std::uint64_t time_ns) {
  TrackEvent event;
  event.type = TrackEventType::slice_end;
  event.timestamp_ns = time_ns;
  append(track, event);
}

void SliceWriter::append_record(std::size_t track, TrackEventType type, std::uint64_t time_ns) {
  TrackEvent event;
  event.type = type;
  event.timestamp_ns = time_ns;
  event.body = record_.body;
  event.used = record_.used;
  flow_ids_.clear();
  const auto& head = record_.head;
  if (head.kind == RecordKind::launch) {
    if (!flows_.claim(head.correlation, flow_ids_)) ++left_out_["arrows of a second launch with the same correlation id"];
    event.flows = flow_ids_;
  } else if (head.flow != 0 && flows_.claimed(head.correlation, head.flow)) {
    event.ending_flows = std::span{&head.flow, 1};
  }
  append(track, event);
}

void SliceWriter::write_operation(std::uint64_t start_ns, std::uint64_t end_ns) {
  const std::size_t track = overlap_.assign(static_cast<std::int64_t>(start_ns), static_cast<std::int64_t>(end_ns));
  if (track == tracks_.size()) add_track();
  change_region(track, start_ns);
  append_record(track, TrackEventType::slice_begin, start_ns);
  append_end(track, end_ns);
  tracks_[track].last_end_ns = end_ns;
}

// Closes the regions that the current record does not share with the track's last one, and opens those that it adds.
void SliceWriter::change_region(std::size_t index, std::uint64_t start_ns) {
  Track& track = tracks_[index];
  const auto& head = record_.head;
  // Outside graphs every operation has a launch of its own.
  const bool same_replay = track.graph == head.graph && (head.graph == 0 || track.correlation == head.correlation);
  if (same_replay && track.annotation == head.annotation) return;
  // Copies are cheap, and the table that holds them grows.
  const std::vector<std::uint32_t> before = regions_.of(AnnotationId{track.annotation}, annotations_);
  const std::vector<std::uint32_t>& now = regions_.of(AnnotationId{head.annotation}, annotations_);
  std::size_t shared = 0;
  while (same_replay && shared < before.size() && shared < now.size() && before[shared] == now[shared]) ++shared;
  for (std::size_t level = before.size(); level > shared; --level) append_end(index, track.last_end_ns);
  for (std::size_t level = shared; level < now.size(); ++level) {
    encoder_.clear();
    encoder_.category("region");
    encoder_.name(regions_.name(now[level]));
    {
      auto args = encoder_.args();
      args.unsigned_integer("graph id", head.graph);
      args.unsigned_integer("correlation", head.correlation);
    }
    TrackEvent event;
    event.type = TrackEventType::slice_begin;
    event.timestamp_ns = start_ns;
    event.body = encoder_.body();
    event.used = encoder_.used();
    append(index, event);
  }
  track.annotation = head.annotation;
  track.graph = head.graph;
  track.correlation = head.correlation;
}

void SliceWriter::close_until(std::size_t track, std::uint64_t time_ns) {
  auto& ends = open_[track];
  while (!ends.empty() && ends.back() <= time_ns) {
    append_end(track, ends.back());
    ends.pop_back();
    --open_slices_;
  }
}

void SliceWriter::write_nested(std::uint64_t start_ns, std::uint64_t end_ns) {
  if (open_slices_ >= kMaxOpenSlices) {
    ++left_out_["slices nested too deeply"];
    return;
  }
  for (std::size_t track = 0; track < kMaxNestingTracks; ++track) {
    if (track == tracks_.size()) add_track();
    close_until(track, start_ns);
    auto& ends = open_[track];
    if (!ends.empty() && ends.back() < end_ns) continue;
    append_record(track, TrackEventType::slice_begin, start_ns);
    ends.push_back(end_ns);
    ++open_slices_;
    return;
  }
  ++left_out_["slices that overlap too many others"];
}

void SliceWriter::write_point(std::uint64_t time_ns) {
  if (tracks_.empty()) add_track();
  close_until(0, time_ns);
  append_record(0, record_.head.kind == RecordKind::counter ? TrackEventType::counter : TrackEventType::instant, time_ns);
}

}  // namespace graphtag
