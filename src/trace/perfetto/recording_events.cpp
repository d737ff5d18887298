#include "trace/perfetto/recording_events.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json.h"
#include "base/object_filler.h"
#include "base/recording_layout.h"
#include "trace/launch_calls.h"

namespace graphtag::perfetto {
namespace {

namespace layout = recording;

constexpr std::size_t kSequencesMax = 64;
constexpr std::size_t kTrackBytes = 160;  // of one, but its name
constexpr std::size_t kTracksBytes = std::size_t{64} << 20;
constexpr std::size_t kCountersMax = std::size_t{1} << 16;
constexpr std::size_t kInternedBytes = std::size_t{16} << 20;

// The args that operations have besides an annotation's.
constexpr std::array kRecordKeys = {layout::kDevice,    layout::kContext,      layout::kStream,       layout::kCorrelation,
                                    layout::kGraphId,   layout::kGraphNodeId,  layout::kOrigin,       layout::kGrid,
                                    layout::kBlock,     layout::kRegisters,    layout::kSharedMemory, layout::kBytes,
                                    layout::kBandwidth, layout::kSourceDevice, layout::kValue,        layout::kBadTime};
// Those that an annotation writes under other names than its own: they are not taken for keys without the prefix.
constexpr std::array kPrefixed = {layout::kPath, layout::kAnnotatedStream, layout::kTooLarge};

bool is_operation(std::string_view category) {
  return category == layout::kKernel || category == layout::kMemcpy || category == layout::kMemset;
}

EventKind kind_of(std::string_view category_token) {
  if (category_token == "\"kernel\"") return EventKind::kernel;
  return category_token == "\"gpu_memcpy\"" ? EventKind::memcpy : EventKind::memset;
}

std::optional<std::uint64_t> unsigned_of(std::string_view json) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(json.data(), json.data() + json.size(), value);
  if (error != std::errc{} || end != json.data() + json.size()) return std::nullopt;
  return value;
}

}  // namespace

bool RecordingEvents::is_record_key(std::string_view key) {
  return std::find(kRecordKeys.begin(), kRecordKeys.end(), key) != kRecordKeys.end();
}

RecordingEvents::RecordingEvents(EventVisitor& visitor, ReadResult& result, std::optional<std::int64_t> wanted_pid)
    : visitor_(visitor), result_(result), wanted_pid_(wanted_pid) {}

void RecordedArgs::add(std::string_view key, std::string_view value) {
  Span span;
  append_json_string(text, key);
  span.value = text.size();
  text += value;
  span.end = text.size();
  span.key = spans.empty() ? 0 : spans.back().end;
  spans.push_back(span);
}

void RecordedArgs::write(EventBuilder& builder) const {
  const std::string_view all = text;
  for (const Span& span : spans) {
    builder.argument_json(all.substr(span.key + 1, span.value - span.key - 2), all.substr(span.value, span.end - span.value));
  }
}

Result<void> RecordingEvents::give(const Event& event) {
  ++result_.events;
  return visitor_.on_event(event);
}

std::optional<std::int64_t> RecordingEvents::relative(std::uint64_t time_ns) const {
  std::int64_t time = 0;
  if (time_ns > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) ||
      __builtin_sub_overflow(static_cast<std::int64_t>(time_ns), base_ns_, &time)) {
    return std::nullopt;
  }
  return time;
}

Result<void> RecordingEvents::add(const Packet& packet, std::uint64_t offset) {
  if (!sequences_.contains(packet.sequence) && sequences_.size() >= kSequencesMax) {
    result_.problems.add(ProblemKind::unparsable_event, offset, "a packet of one sequence too many");
    return {};
  }
  Sequence& sequence = sequences_[packet.sequence];
  if (packet.clears_state) {
    sequence.strings.clear();
    ++sequence.generation;
  }
  for (const InternedString& string : packet.strings) {
    if (!sequence.strings.add(string)) result_.problems.add(ProblemKind::missing_string, offset, "more texts than are kept");
  }
  if (packet.track) describe_track(*packet.track, offset);
  if (!packet.event) return {};
  const PacketEvent& event = *packet.event;
  if (is_others_ && event.type != EventType::instant) return {};  // an instant may begin a chapter
  if (event.type == EventType::end) return end_slice(packet, offset);
  if (event.type == EventType::counter) {
    if (!event.counter) return {};
    if (counters_.size() < kCountersMax || counters_.contains(event.track)) {
      counters_[event.track] = *event.counter;
    } else {
      result_.problems.add(ProblemKind::unparsable_event, offset, "more counters than are kept");
    }
    return {};
  }
  const auto category = sequence.strings.find(StringKind::category, event.category);
  const auto name = sequence.strings.find(StringKind::event_name, event.name);
  if (!category || !name || (event.type != EventType::begin && event.type != EventType::instant)) {
    result_.problems.add(ProblemKind::unparsable_event, offset, "an event that names no text that is there");
    return {};
  }
  if (*category == layout::kStatusCategory) return status(packet, sequence, *name, offset);
  if (!chapters_) return no_recording();
  if (is_others_) return {};
  if (event.type == EventType::instant) return give_instant(packet, sequence, *category, *name, offset);
  return begin_slice(packet, sequence, *category, *name, offset);
}

void RecordingEvents::describe_track(const PacketTrack& described, std::uint64_t offset) {
  const auto known = tracks_.find(described.uuid);
  const std::size_t had = known == tracks_.end() ? 0 : kTrackBytes + known->second.name.size();
  const std::size_t bytes = track_bytes_ - had + kTrackBytes + described.name.size();
  if (bytes > kTracksBytes) {
    result_.problems.add(ProblemKind::unparsable_event, offset, "more tracks than are kept");
    return;
  }
  track_bytes_ = bytes;
  Track& track = tracks_[described.uuid];
  track = {described.parent, described.name, described.pid, described.tid, described.is_thread, track.named};
}

RecordingEvents::Place RecordingEvents::place_of(std::uint64_t uuid) {
  Place place{result_.info.pid.value_or(0), 0};
  // A thread's tracks lie below it.
  for (int depth = 0; depth < 4; ++depth) {
    const auto found = tracks_.find(uuid);
    if (found == tracks_.end()) break;
    if (found->second.is_thread) return {found->second.pid.value_or(place.pid), found->second.tid.value_or(0)};
    uuid = found->second.parent;
  }
  return place;
}

Result<void> RecordingEvents::name_thread(std::uint64_t uuid) {
  for (int depth = 0; depth < 4; ++depth) {
    const auto found = tracks_.find(uuid);
    if (found == tracks_.end() || found->second.named) return {};
    Track& track = found->second;
    track.named = true;
    if (track.is_thread && !track.name.empty()) {
      builder_.begin(EventKind::metadata, 'M', {}, "\"thread_name\"");
      builder_.place(track.pid.value_or(0), track.tid.value_or(0));
      builder_.time(0);
      value_.clear();
      append_json_string(value_, track.name);
      builder_.argument_json("name", value_);
      return give(builder_.finish(0));
    }
    uuid = track.parent;
  }
  return {};
}

// Into open_: those that records have themselves as members of args, an annotation's apart.
bool RecordingEvents::decode_args(const PacketEvent& event, const Sequence& sequence, bool operation) {
  annotation_args_.clear();
  BegunSlice& begun = *open_;
  bool has_origin = false;
  for (const std::string_view arg : event.args) {
    std::string_view key;
    if (!arg_key(arg, sequence.strings, key)) return false;
    if (operation && !is_record_key(key)) {
      const std::size_t size = arg.size();
      annotation_args_.append(reinterpret_cast<const char*>(&size), sizeof(size)).append(arg);
      continue;
    }
    value_.clear();
    if (!append_arg_value(arg, sequence.strings, value_)) return false;
    if (key == layout::kBadTime) begun.bad_time = true;
    if (key == layout::kOrigin && operation) {
      const auto origin = origin_from_string(unescape(value_, storage_));
      has_origin = origin.has_value();
      begun.origin = origin.value_or(Origin::unknown_graph);
      continue;
    }
    if (key == layout::kCorrelation) begun.correlation = unsigned_of(value_);
    if (operation) {
      if (key == layout::kDevice) begun.device = unsigned_of(value_);
      if (key == layout::kStream) begun.stream = unsigned_of(value_);
      if (key == layout::kGraphId) begun.graph = unsigned_of(value_);
      if (key == layout::kGraphNodeId) begun.node = unsigned_of(value_);
      if (key == layout::kBytes) begun.bytes = unsigned_of(value_);
    }
    begun.args.add(key, value_);
  }
  if (!operation) return true;
  if (!annotation_args_.empty()) {
    const auto annotation = annotation_of(sequence);
    if (!annotation) return false;
    begun.annotation = *annotation;
  }
  if (begun.annotation != AnnotationId::none && (!has_origin || !is_provenance(begun.origin))) begun.origin = Origin::callback;
  if (begun.annotation == AnnotationId::none && is_provenance(begun.origin)) begun.origin = Origin::outside_scope;
  return true;
}

// The annotation that annotation_args_ hold; nothing if they cannot be read.
std::optional<AnnotationId> RecordingEvents::annotation_of(const Sequence& sequence) {
  if (interned_generation_ != sequence.generation || interned_bytes_ > kInternedBytes) {
    interned_.clear();
    interned_bytes_ = 0;
    interned_generation_ = sequence.generation;
  }
  if (const auto known = interned_.find(annotation_args_); known != interned_.end()) return known->second;
  Json object = Json::object();
  ObjectFiller filler(object);
  std::vector<std::string> path;
  for (std::size_t at = 0; at < annotation_args_.size();) {
    std::size_t size = 0;
    std::memcpy(&size, &annotation_args_[at], sizeof(size));
    const std::string_view arg = std::string_view(annotation_args_).substr(at + sizeof(size), size);
    at += sizeof(size) + size;
    std::string_view key;
    value_.clear();
    if (!arg_key(arg, sequence.strings, key) || !append_arg_value(arg, sequence.strings, value_)) return std::nullopt;
    Result<Json> value = parse_json(value_);
    if (!value) return std::nullopt;
    if (key == layout::kPath && value->is_array()) {
      for (const Json& part : *value) {
        if (part.is_string()) path.push_back(part.get<std::string>());
      }
      continue;
    }
    std::string own(key == layout::kAnnotatedStream ? layout::kStream : key);
    if (key.starts_with(layout::kPrefix)) {
      const std::string_view rest = key.substr(layout::kPrefix.size());
      if (is_record_key(rest) || std::find(kPrefixed.begin(), kPrefixed.end(), rest) != kPrefixed.end()) own = rest;
    }
    filler.set(own, *std::move(value));
  }
  const Result<AnnotationId> id =
      path.empty() ? annotations_->intern(std::move(object)) : annotations_->intern(std::move(object), std::move(path));
  if (!id) return std::nullopt;
  interned_bytes_ += annotation_args_.size() + 96;
  interned_.emplace(annotation_args_, *id);
  return *id;
}

Result<void> RecordingEvents::begin_slice(const Packet& packet, Sequence& sequence, std::string_view category,
                                          std::string_view name, std::uint64_t offset) {
  if (open_) result_.problems.add(ProblemKind::unparsable_event, open_->offset, "a slice without an END");
  BegunSlice& begun = open_.emplace();
  begun.track = packet.event->track;
  begun.time_ns = packet.time_ns;
  begun.offset = offset;
  append_json_string(begun.category, category);
  append_json_string(begun.name, name);
  if (decode_args(*packet.event, sequence, is_operation(category))) return {};
  result_.problems.add(ProblemKind::unparsable_event, offset, "an event whose args cannot be read");
  open_.reset();
  return {};
}

Result<void> RecordingEvents::end_slice(const Packet& packet, std::uint64_t offset) {
  if (!open_ || open_->track != packet.event->track) {
    if (begun_) result_.problems.add(ProblemKind::unparsable_event, offset, "an END without a BEGIN before it");
    return {};
  }
  const bool operation =
      open_->category == "\"kernel\"" || open_->category == "\"gpu_memcpy\"" || open_->category == "\"gpu_memset\"";
  Result<void> given = operation ? give_operation(packet.time_ns) : give_host_slice(packet.time_ns);
  open_.reset();
  return given;
}

void RecordingEvents::set_time(std::uint64_t start_ns, std::uint64_t end_ns) {
  const auto start = relative(start_ns);
  const auto end = relative(end_ns);
  if (!open_->bad_time && start && end && *end >= *start) {
    builder_.time(start, *end - *start);
    return;
  }
  result_.problems.add(ProblemKind::bad_time, open_->offset,
                       "a record from " + std::to_string(start_ns) + " to " + std::to_string(end_ns));
  builder_.time(std::nullopt);
}

Result<void> RecordingEvents::give_operation(std::uint64_t end_ns) {
  const BegunSlice& begun = *open_;
  const auto device = static_cast<std::int64_t>(begun.device.value_or(0));
  const auto stream = static_cast<std::int64_t>(begun.stream.value_or(0));
  builder_.begin(kind_of(begun.category), 'X', begun.category, begun.name);
  builder_.place(device, stream);
  set_time(begun.time_ns, end_ns);
  begun.args.write(builder_);
  Event& event = builder_.event();
  const auto start_ns = event.start_ns;
  if (begun.device) event.device = device;
  if (begun.stream) event.stream = stream;
  event.correlation = begun.correlation;
  event.bytes = event.kind == EventKind::kernel ? 0 : begun.bytes.value_or(0);
  const std::uint64_t node = begun.node.value_or(0);
  const std::uint64_t graph = begun.graph.value_or(0) != 0 ? *begun.graph : node >> 32;
  if (graph != 0 && graph <= std::numeric_limits<std::uint32_t>::max()) {
    event.graph_id = graph;
    // A node of another graph is a stale one.
    event.has_node_id = begun.node && node >> 32 == graph;
    if (event.has_node_id) event.node_id = node;
  }
  event.annotation = begun.annotation;
  event.origin = begun.origin;
  if (auto given = give(builder_.finish(begun.offset)); !given) return given;
  if (!start_ns || begun.correlation.value_or(0) == 0) return {};
  builder_.begin(EventKind::flow_end, 'f', "\"ac2g\"", "\"ac2g\"");
  builder_.id(*begun.correlation);
  builder_.place(device, stream);
  builder_.time(start_ns);
  builder_.bind_to_enclosing();
  return give(builder_.finish(begun.offset));
}

Result<void> RecordingEvents::give_host_slice(std::uint64_t end_ns) {
  const BegunSlice& begun = *open_;
  if (auto named = name_thread(begun.track); !named) return named;
  const Place place = place_of(begun.track);
  builder_.begin(EventKind::host_slice, 'X', begun.category, begun.name);
  builder_.place(place.pid, place.tid);
  set_time(begun.time_ns, end_ns);
  begun.args.write(builder_);
  builder_.event().correlation = begun.correlation;
  const auto start_ns = builder_.event().start_ns;
  if (auto given = give(builder_.finish(begun.offset)); !given) return given;
  const bool call = begun.category == "\"cuda_runtime\"" || begun.category == "\"cuda_driver\"";
  if (!call || !start_ns || begun.correlation.value_or(0) == 0 || !gives_gpu_work(begun.name)) return {};
  builder_.begin(EventKind::flow_start, 's', "\"ac2g\"", "\"ac2g\"");
  builder_.id(*begun.correlation);
  builder_.place(place.pid, place.tid);
  builder_.time(start_ns);
  return give(builder_.finish(begun.offset));
}

Result<void> RecordingEvents::give_instant(const Packet& packet, const Sequence& sequence, std::string_view category,
                                           std::string_view name, std::uint64_t offset) {
  // Decoded as a slice is, beside one that may be open.
  std::optional<BegunSlice> slice = std::exchange(open_, BegunSlice{});
  append_json_string(open_->category, category);
  append_json_string(open_->name, name);
  const bool decoded = decode_args(*packet.event, sequence, false);
  const BegunSlice instant = *std::exchange(open_, std::move(slice));
  if (!decoded) {
    result_.problems.add(ProblemKind::unparsable_event, offset, "an event whose args cannot be read");
    return {};
  }
  if (auto named = name_thread(packet.event->track); !named) return named;
  const Place place = place_of(packet.event->track);
  builder_.begin(EventKind::other, 'i', instant.category, instant.name);
  builder_.place(place.pid, place.tid);
  builder_.time(relative(packet.time_ns));
  instant.args.write(builder_);
  return give(builder_.finish(offset));
}

Result<void> RecordingEvents::finish() {
  if (!begun_ && chapters_) {
    needs_choice_ = true;
    return Error{ErrorCode::invalid_argument, "it has no recording of this process", {}, {}};
  }
  if (!begun_) {
    return Error{ErrorCode::malformed,
                 "it ends before a recording begins in it; if the program still runs, wait for its first flush",
                 {},
                 {}};
  }
  if (open_) result_.problems.add(ProblemKind::truncated, open_->offset, "the file ends within a slice: the program was killed");
  std::uint64_t lost = 0;
  for (const auto& [uuid, value] : counters_) {
    const auto track = tracks_.find(uuid);
    if (track == tracks_.end() || value <= 0) continue;
    const std::string& name = track->second.name;
    if (name == layout::kDroppedCounter || name == layout::kLostCounter || name == layout::kRangesDroppedCounter)
      lost += static_cast<std::uint64_t>(value);
  }
  if (lost != 0) {
    result_.problems.add(ProblemKind::lost_by_recorder, 0, "what the recorder says that it dropped or lost", lost);
  }
  const bool ended = std::all_of(ended_.begin(), ended_.end(), [](const auto& recording) { return recording.second; });
  if (!ended && !open_) {
    result_.problems.add(ProblemKind::truncated, result_.content_bytes,
                         "the recording has no end: the program was killed, or still runs");
  }
  std::string devices;
  const auto& names = result_.info.device_names;
  for (std::size_t i = 0; i < names.size(); ++i) {
    devices += (devices.empty() ? "{\"id\":" : ",{\"id\":") + std::to_string(i) + ",\"name\":";
    append_json_string(devices, names[i]);
    devices += '}';
  }
  return devices.empty() ? Result<void>() : visitor_.on_member("deviceProperties", "[" + devices + "]", true);
}

}  // namespace graphtag::perfetto
