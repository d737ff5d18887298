#include "record/event_packets.h"

#include "base/recording_layout.h"
#include "record/packet_bytes.h"

namespace graphtag {
namespace {

// Fields of Trace, TracePacket and TrackEvent.
constexpr std::uint32_t kPacket = 1;
constexpr std::uint32_t kTimestamp = 8, kSequence = 10, kTrackEvent = 11, kSequenceFlags = 13;
constexpr std::uint32_t kCategory = 3, kType = 9, kName = 10, kTrack = 11, kNameText = 23, kFlow = 47, kEndingFlow = 48;
constexpr std::uint32_t kStateCleared = 1, kNeedsState = 2;
constexpr int kBegin = 1, kEnd = 2, kInstant = 3;

}  // namespace

void EventPackets::begin_chapter() {
  strings_.emplace();
  used_ = {};
  declared_ = 0;
  started_ = false;
  ++chapter_;
}

void EventPackets::append(int type, std::uint64_t time_ns, const Event& event) {
  PacketBytes<64> fields;
  fields.field(kType, static_cast<std::uint64_t>(type));
  fields.field(kTrack, event.track);
  std::string_view name_text, args, more_args;
  if (type != kEnd) {
    fields.field(kCategory, event.category);
    if (event.flow == FlowEnd::begins) fields.field_fixed64(kFlow, event.flow_id);
    if (event.flow == FlowEnd::ends) fields.field_fixed64(kEndingFlow, event.flow_id);
    if (event.name.number != 0) {
      fields.field(kName, event.name.number);
    } else {
      name_text = event.name.text;
      fields.field_head(kNameText, name_text.size());
    }
    args = event.args;
    more_args = event.more_args;
  }
  const std::size_t event_size = fields.size() + name_text.size() + args.size() + more_args.size();

  interned_.clear();
  const auto known = static_cast<std::uint32_t>(strings_->size());
  if (declared_ < known) append_interned(interned_, *strings_, declared_ + 1, known);
  declared_ = known;

  PacketBytes<64> head;
  head.field(kTimestamp, time_ns);
  head.field(kSequence, recording::kEventSequence);
  head.field(kSequenceFlags, started_ ? kNeedsState : kStateCleared | kNeedsState);
  started_ = true;
  PacketBytes<16> event_head;
  event_head.field_head(kTrackEvent, event_size);
  PacketBytes<16> packet_head;
  packet_head.field_head(kPacket, head.size() + interned_.size() + event_head.size() + event_size);

  std::string& out = *out_;
  out.append(packet_head.view());
  out.append(head.view());
  out.append(interned_);
  out.append(event_head.view());
  out.append(fields.view());
  out.append(name_text);
  out.append(args);
  out.append(more_args);
}

void EventPackets::slice(const Event& event) {
  append(kBegin, event.start_ns, event);
  append(kEnd, event.end_ns, event);
}

void EventPackets::instant(const Event& event) {
  append(kInstant, event.start_ns, event);
}

}  // namespace graphtag
