#include "base/perfetto_packets.h"

namespace graphtag {
namespace {

// Field numbers of Perfetto's schema (protos/perfetto/trace).
namespace trace_field {
constexpr std::uint32_t packet = 1;
}
namespace packet_field {
constexpr std::uint32_t clock_snapshot = 6, timestamp = 8, sequence_id = 10, track_event = 11, interned_data = 12,
                        sequence_flags = 13, track_descriptor = 60;
}
namespace event_field {
constexpr std::uint32_t category_iids = 3, debug_annotations = 4, type = 9, name_iid = 10, track_uuid = 11, categories = 22,
                        name = 23, counter_value = 30, double_counter_value = 44, flow_ids = 47, terminating_flow_ids = 48;
}
namespace annotation_field {
constexpr std::uint32_t name_iid = 1, bool_value = 2, uint_value = 3, int_value = 4, double_value = 5, string_value = 6,
                        legacy_json_value = 9, name = 10, dict_entries = 11, array_values = 12, string_value_iid = 17;
}
namespace interned_field {
constexpr std::uint32_t event_categories = 1, event_names = 2, debug_annotation_names = 3, debug_annotation_string_values = 29;
constexpr std::uint32_t iid = 1, text = 2;  // of each entry
}  // namespace interned_field
namespace track_field {
constexpr std::uint32_t uuid = 1, name = 2, process = 3, thread = 4, parent_uuid = 5, counter = 8, child_ordering = 11,
                        sibling_order_rank = 12, sibling_merge_behavior = 15, sibling_merge_key = 16;
constexpr std::int32_t ordering_explicit = 3;
constexpr std::int32_t merge_none = 2, merge_by_key = 3;
constexpr std::uint32_t process_pid = 1, process_name = 6, process_labels = 8;
constexpr std::uint32_t thread_pid = 1, thread_tid = 2, thread_name = 5;
}  // namespace track_field
namespace clock_field {
constexpr std::uint32_t clocks = 1, primary_trace_clock = 2;
constexpr std::uint32_t clock_id = 1, timestamp = 2;  // of each clock
constexpr std::uint32_t realtime = 1, boottime = 6;
}  // namespace clock_field
constexpr std::uint32_t kStateCleared = 1, kNeedsState = 2;

// Bookkeeping of an interned string beside its text, so that many short strings are bounded as well.
constexpr std::size_t kEntryBytes = 96;

std::uint32_t field_of(InternedKind kind) {
  switch (kind) {
    case InternedKind::category:
      return interned_field::event_categories;
    case InternedKind::event_name:
      return interned_field::event_names;
    case InternedKind::arg_name:
      return interned_field::debug_annotation_names;
    case InternedKind::arg_string:
      return interned_field::debug_annotation_string_values;
  }
  return interned_field::event_names;
}

void declare(protozero::pbf_writer& interned, const InternedStrings& strings, std::uint32_t id) {
  protozero::pbf_writer entry{interned, field_of(strings.kind_of(id))};
  entry.add_uint64(interned_field::iid, id);
  const auto text = strings.text_of(id);
  entry.add_bytes(interned_field::text, text.data(), text.size());
}

void write_event(protozero::pbf_writer& packet, std::uint32_t sequence, std::uint32_t flags, const TrackEvent& event) {
  packet.add_uint64(packet_field::timestamp, event.timestamp_ns);
  packet.add_uint32(packet_field::sequence_id, sequence);
  packet.add_uint32(packet_field::sequence_flags, flags);
  std::string message{event.body};
  protozero::pbf_writer track_event{message};
  track_event.add_enum(event_field::type, static_cast<std::int32_t>(event.type));
  track_event.add_uint64(event_field::track_uuid, event.track);
  for (const auto id : event.flows) track_event.add_fixed64(event_field::flow_ids, id);
  for (const auto id : event.ending_flows) track_event.add_fixed64(event_field::terminating_flow_ids, id);
  packet.add_message(packet_field::track_event, message);
}

// A string field, by its number where it gets one.
struct TextField {
  InternedKind kind;
  std::uint32_t id, text;  // field numbers
};
void add_text(protozero::pbf_writer& message, const TextField& field, std::string_view text, InternedStrings& strings,
              UsedStrings& used) {
  if (const auto id = strings.intern(field.kind, text)) {
    used.add(id);
    message.add_uint64(field.id, id);
  } else {
    message.add_string(field.text, text.data(), text.size());
  }
}

}  // namespace

std::uint32_t InternedStrings::intern(InternedKind kind, std::string_view text) {
  auto& table = kinds_[static_cast<std::size_t>(kind)];
  const auto found = table.ids.find(text);
  if (found != table.ids.end()) return found->second;
  const std::size_t bytes = text.size() + kEntryBytes;
  if (table.bytes + bytes > bytes_per_kind_) {
    overflowed_ = true;
    return 0;
  }
  table.bytes += bytes;
  const auto& entry = entries_.emplace_back(Entry{std::string{text}, kind});
  const auto id = static_cast<std::uint32_t>(entries_.size());
  table.ids.emplace(std::string_view{entry.text}, id);
  return id;
}

void UsedStrings::clear() {
  ids_.clear();
  ++event_;
}

void UsedStrings::add(std::uint32_t id) {
  if (id >= seen_in_.size()) seen_in_.resize(id + std::size_t{64}, 0);
  if (seen_in_[id] == event_) return;
  seen_in_[id] = event_;
  ids_.push_back(id);
}

ArgWriter::ArgWriter(std::string& body, InternedStrings& strings, UsedStrings& used)
    : message_(body), child_tag_(event_field::debug_annotations), strings_(strings), used_(used) {}

ArgWriter::ArgWriter(ArgWriter& parent, std::string_view key, std::uint32_t child_tag)
    : message_(parent.message_, parent.child_tag_), child_tag_(child_tag), strings_(parent.strings_), used_(parent.used_) {
  parent.write_key(message_, key);
}

void ArgWriter::write_key(protozero::pbf_writer& annotation, std::string_view key) {
  if (child_tag_ == annotation_field::array_values) return;
  add_text(annotation, {InternedKind::arg_name, annotation_field::name_iid, annotation_field::name}, key, strings_, used_);
}

template <typename AddValue>
void ArgWriter::write(std::string_view key, AddValue add_value) {
  protozero::pbf_writer annotation{message_, child_tag_};
  write_key(annotation, key);
  add_value(annotation);
}

void ArgWriter::boolean(std::string_view key, bool value) {
  write(key, [&](protozero::pbf_writer& annotation) { annotation.add_bool(annotation_field::bool_value, value); });
}

void ArgWriter::integer(std::string_view key, std::int64_t value) {
  write(key, [&](protozero::pbf_writer& annotation) { annotation.add_int64(annotation_field::int_value, value); });
}

void ArgWriter::unsigned_integer(std::string_view key, std::uint64_t value) {
  write(key, [&](protozero::pbf_writer& annotation) { annotation.add_uint64(annotation_field::uint_value, value); });
}

void ArgWriter::real(std::string_view key, double value) {
  write(key, [&](protozero::pbf_writer& annotation) { annotation.add_double(annotation_field::double_value, value); });
}

void ArgWriter::string(std::string_view key, std::string_view value) {
  write(key, [&](protozero::pbf_writer& annotation) {
    add_text(annotation, {InternedKind::arg_string, annotation_field::string_value_iid, annotation_field::string_value}, value,
             strings_, used_);
  });
}

void ArgWriter::json(std::string_view key, std::string_view text) {
  write(key, [&](protozero::pbf_writer& annotation) {
    annotation.add_string(annotation_field::legacy_json_value, text.data(), text.size());
  });
}

ArgWriter ArgWriter::dict(std::string_view key) {
  return {*this, key, annotation_field::dict_entries};
}

ArgWriter ArgWriter::array(std::string_view key) {
  return {*this, key, annotation_field::array_values};
}

void EventEncoder::clear() {
  body_.clear();
  used_.clear();
}

void EventEncoder::category(std::string_view text) {
  protozero::pbf_writer event{body_};
  add_text(event, {InternedKind::category, event_field::category_iids, event_field::categories}, text, strings_, used_);
}

void EventEncoder::name(std::string_view text) {
  protozero::pbf_writer event{body_};
  add_text(event, {InternedKind::event_name, event_field::name_iid, event_field::name}, text, strings_, used_);
}

void EventEncoder::counter(std::int64_t value) {
  protozero::pbf_writer{body_}.add_int64(event_field::counter_value, value);
}

void EventEncoder::counter(double value) {
  protozero::pbf_writer{body_}.add_double(event_field::double_counter_value, value);
}

void PacketSequence::append(std::string& trace, const TrackEvent& event) {
  protozero::pbf_writer writer{trace};
  protozero::pbf_writer packet{writer, trace_field::packet};
  if (declared_.size() <= strings_->size()) declared_.resize(strings_->size() + 1);
  bool fresh = false;
  for (const auto id : event.used) fresh = fresh || !declared_[id];
  if (fresh) {
    protozero::pbf_writer interned{packet, packet_field::interned_data};
    for (const auto id : event.used) {
      if (declared_[id]) continue;
      declared_[id] = true;
      declare(interned, *strings_, id);
    }
  }
  write_event(packet, id_, started_ ? kNeedsState : kStateCleared | kNeedsState, event);
  started_ = true;
}

void PacketSequence::append_self_contained(std::string& trace, std::uint32_t sequence, const InternedStrings& strings,
                                           const TrackEvent& event) {
  protozero::pbf_writer writer{trace};
  protozero::pbf_writer packet{writer, trace_field::packet};
  if (!event.used.empty()) {
    protozero::pbf_writer interned{packet, packet_field::interned_data};
    for (const auto id : event.used) declare(interned, strings, id);
  }
  write_event(packet, sequence, kStateCleared | kNeedsState, event);
}

void append_track(std::string& trace, std::uint32_t sequence, const TrackDescription& track) {
  protozero::pbf_writer writer{trace};
  protozero::pbf_writer packet{writer, trace_field::packet};
  packet.add_uint32(packet_field::sequence_id, sequence);
  protozero::pbf_writer descriptor{packet, packet_field::track_descriptor};
  descriptor.add_uint64(track_field::uuid, track.uuid);
  if (track.parent != 0) descriptor.add_uint64(track_field::parent_uuid, track.parent);
  if (!track.name.empty()) descriptor.add_string(track_field::name, track.name);
  if (track.process) {
    protozero::pbf_writer process{descriptor, track_field::process};
    process.add_int32(track_field::process_pid, track.process->pid);
    process.add_string(track_field::process_name, track.process->name);
    for (const auto& label : track.process->labels) process.add_string(track_field::process_labels, label);
  } else if (track.thread) {
    protozero::pbf_writer thread{descriptor, track_field::thread};
    thread.add_int32(track_field::thread_pid, track.thread->pid);
    thread.add_int64(track_field::thread_tid, track.thread->tid);
    thread.add_string(track_field::thread_name, track.thread->name);
  } else {
    if (track.counter) descriptor.add_message(track_field::counter, std::string{});
    descriptor.add_enum(track_field::sibling_merge_behavior,
                        track.merge_key.empty() ? track_field::merge_none : track_field::merge_by_key);
    if (!track.merge_key.empty()) descriptor.add_string(track_field::sibling_merge_key, track.merge_key);
  }
  if (track.orders_children) descriptor.add_enum(track_field::child_ordering, track_field::ordering_explicit);
  if (track.order) descriptor.add_int32(track_field::sibling_order_rank, *track.order);
}

void append_interned(std::string& packet, const InternedStrings& strings, std::uint32_t first, std::uint32_t last) {
  protozero::pbf_writer writer{packet};
  protozero::pbf_writer interned{writer, packet_field::interned_data};
  for (std::uint32_t id = first; id <= last; ++id) declare(interned, strings, id);
}

void append_clocks(std::string& trace, std::uint32_t sequence, std::span<const std::pair<std::uint32_t, std::uint64_t>> clocks) {
  protozero::pbf_writer writer{trace};
  protozero::pbf_writer packet{writer, trace_field::packet};
  packet.add_uint64(packet_field::timestamp, clocks.front().second);
  packet.add_uint32(packet_field::sequence_id, sequence);
  protozero::pbf_writer snapshot{packet, packet_field::clock_snapshot};
  for (const auto& [id, time_ns] : clocks) {
    protozero::pbf_writer clock{snapshot, clock_field::clocks};
    clock.add_uint32(clock_field::clock_id, id);
    clock.add_uint64(clock_field::timestamp, time_ns);
  }
  snapshot.add_enum(clock_field::primary_trace_clock, static_cast<std::int32_t>(clocks.front().first));
}

void append_unix_clock(std::string& trace, std::uint32_t sequence, std::uint64_t timestamp_ns) {
  const std::pair<std::uint32_t, std::uint64_t> clocks[] = {{clock_field::boottime, timestamp_ns},
                                                            {clock_field::realtime, timestamp_ns}};
  append_clocks(trace, sequence, clocks);
}

}  // namespace graphtag
