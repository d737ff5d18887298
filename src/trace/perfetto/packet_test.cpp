#include "trace/perfetto/packet.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>
#include <protozero/pbf_reader.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/made_recording.h"
#include "tests/support/read_recording.h"

namespace graphtag {
namespace {

using testing::MadeRecording;
using testing::RecordedOperation;

enum class Message : std::uint8_t { trace, packet, event, arg, strings, text, track, process, thread };

// Every field that the reader knows, by Perfetto's schema (protos/perfetto/trace): where it stands, its number, its wire type (0 varint, 1 eight
// bytes, 2 with a length), and what message it is.
struct FieldKind {
  Message within;
  std::uint32_t number;
  const char* name;
  std::uint32_t wire;
  std::optional<Message> message = {};
};
constexpr FieldKind kFields[] = {
    {Message::trace, 1, "Trace.packet", 2, Message::packet},
    {Message::packet, 8, "TracePacket.timestamp", 0},
    {Message::packet, 10, "TracePacket.trusted_packet_sequence_id", 0},
    {Message::packet, 11, "TracePacket.track_event", 2, Message::event},
    {Message::packet, 12, "TracePacket.interned_data", 2, Message::strings},
    {Message::packet, 13, "TracePacket.sequence_flags", 0},
    {Message::packet, 60, "TracePacket.track_descriptor", 2, Message::track},
    {Message::event, 3, "TrackEvent.category_iids", 0},
    {Message::event, 4, "TrackEvent.debug_annotations", 2, Message::arg},
    {Message::event, 9, "TrackEvent.type", 0},
    {Message::event, 10, "TrackEvent.name_iid", 0},
    {Message::event, 11, "TrackEvent.track_uuid", 0},
    {Message::event, 22, "TrackEvent.categories", 2},
    {Message::event, 23, "TrackEvent.name", 2},
    {Message::event, 30, "TrackEvent.counter_value", 0},
    {Message::arg, 1, "DebugAnnotation.name_iid", 0},
    {Message::arg, 2, "DebugAnnotation.bool_value", 0},
    {Message::arg, 3, "DebugAnnotation.uint_value", 0},
    {Message::arg, 4, "DebugAnnotation.int_value", 0},
    {Message::arg, 5, "DebugAnnotation.double_value", 1},
    {Message::arg, 6, "DebugAnnotation.string_value", 2},
    {Message::arg, 9, "DebugAnnotation.legacy_json_value", 2},
    {Message::arg, 10, "DebugAnnotation.name", 2},
    {Message::arg, 11, "DebugAnnotation.dict_entries", 2, Message::arg},
    {Message::arg, 12, "DebugAnnotation.array_values", 2, Message::arg},
    {Message::arg, 17, "DebugAnnotation.string_value_iid", 0},
    {Message::strings, 1, "InternedData.event_categories", 2, Message::text},
    {Message::strings, 2, "InternedData.event_names", 2, Message::text},
    {Message::strings, 3, "InternedData.debug_annotation_names", 2, Message::text},
    {Message::strings, 29, "InternedData.debug_annotation_string_values", 2, Message::text},
    {Message::text, 1, "iid", 0},
    {Message::text, 2, "name", 2},
    {Message::track, 1, "TrackDescriptor.uuid", 0},
    {Message::track, 2, "TrackDescriptor.name", 2},
    {Message::track, 3, "TrackDescriptor.process", 2, Message::process},
    {Message::track, 4, "TrackDescriptor.thread", 2, Message::thread},
    {Message::track, 5, "TrackDescriptor.parent_uuid", 0},
    {Message::process, 1, "ProcessDescriptor.pid", 0},
    {Message::process, 6, "ProcessDescriptor.process_name", 2},
    {Message::thread, 1, "ThreadDescriptor.pid", 0},
    {Message::thread, 2, "ThreadDescriptor.tid", 0},
    {Message::thread, 5, "ThreadDescriptor.thread_name", 2},
};

void append_varint(std::string& bytes, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  bytes += static_cast<char>(value);
}

// A field of a message as a tree, so that one can be changed and the lengths around it stay right.
struct Field {
  const FieldKind* kind = nullptr;  // null: one that the reader passes over
  std::uint32_t number = 0, wire = 0;
  std::string payload;  // without its length; empty if it is a message of the schema
  std::vector<Field> fields;
};

std::vector<Field> parse(std::string_view bytes, Message message) {
  std::vector<Field> fields;
  protozero::pbf_reader reader(bytes.data(), bytes.size());
  while (reader.next()) {
    Field& field = fields.emplace_back();
    field.number = reader.tag();
    field.wire = static_cast<std::uint32_t>(reader.wire_type());
    const auto kind = std::find_if(std::begin(kFields), std::end(kFields), [&](const FieldKind& known) {
      return known.within == message && known.number == field.number;
    });
    if (kind != std::end(kFields)) field.kind = &*kind;
    if (field.wire == 2) {
      const std::string view = reader.get_string();
      if (field.kind != nullptr && field.kind->message) {
        field.fields = parse(view, *field.kind->message);
      } else {
        field.payload = view;
      }
    } else {
      const auto before = reader.data();
      reader.skip();
      field.payload = std::string(before.data(), before.size() - reader.length());
    }
  }
  return fields;
}

std::string encode(const std::vector<Field>& fields) {
  std::string bytes;
  for (const Field& field : fields) {
    append_varint(bytes, field.number << 3 | field.wire);
    const std::string payload = field.fields.empty() ? field.payload : encode(field.fields);
    if (field.wire == 2) append_varint(bytes, payload.size());
    bytes += payload;
  }
  return bytes;
}

void for_each(std::vector<Field>& fields, const std::function<void(Field&)>& visit) {
  for (Field& field : fields) {
    if (field.kind != nullptr) visit(field);
    for_each(field.fields, visit);
  }
}

// Of each wire type (protobuf has 0 to 5, 6 and 7 mean nothing) one value that looks harmless.
std::string payload_of(std::uint32_t wire) {
  switch (wire) {
    case 0:
      return "\x01";
    case 1:
      return std::string("\x01\0\0\0\0\0\0\0", 8);
    case 2:
      return "\x08\x01";
    case 5:
      return std::string("\x01\0\0\0", 4);
    default:
      return {};
  }
}

// A recording with every field of the schema in it.
std::string every_field() {
  MadeRecording made;
  made.host_slice(recording::kRuntimeCall, "cudaGraphLaunch", 100, 150, {{"correlation", 50U}}, MadeRecording::kRuntime);
  made.host_slice(recording::kRange, "step", 50, 900, {{"nvtx_domain", "layers"}, {"payload", -7}});
  RecordedOperation kernel{.start_ns = 1500, .end_ns = 1750, .correlation = 50, .node = std::uint64_t{3} << 32 | 5};
  kernel.annotation = {{"name", "attention"},      {"bs", 8U}, {"delta", -1}, {"half", 0.5}, {"on", true}, {"none", nullptr},
                       {"deep", {{"x", {1U, 2U}}}}};
  kernel.path = {"decoder", "attention"};
  made.operation(kernel);
  made.counter(recording::kDroppedCounter, 3);
  // Texts in the event itself, as where a table is full.
  InternedStrings none(0);
  EventEncoder encoder(none);
  encoder.category(recording::kRange);
  encoder.name("in full");
  encoder.args().string("nvtx_domain", "layers");
  TrackEvent event;
  event.timestamp_ns = MadeRecording::kBase + 2000;
  event.track = MadeRecording::kThread;
  event.body = encoder.body();
  PacketSequence::append_self_contained(made.bytes, recording::kStatusSequence, none, event);
  made.operation({.category = recording::kMemset, .name = "Memset (Device)", .start_ns = 2000, .end_ns = 2100});
  made.status_event(recording::kEndEvent, Json::object());  // no args: nobody reads them
  return made.bytes;
}

// What an event says; host slices without their thread, which a track says that may be the damaged one.
std::vector<std::string> said(const test::NamedReading& reading) {
  std::vector<std::string> all;
  for (const test::NamedEvent& event : reading.events) {
    Json json = Json::parse(event.json);
    if (!is_gpu_operation(event.kind)) {
      json.erase("pid");
      json.erase("tid");
    }
    all.push_back(json.dump() + event.annotation.dump() + Json(event.path).dump() + std::string(to_string(event.origin)));
  }
  std::sort(all.begin(), all.end());
  return all;
}

TEST(Packet, AFieldOfAnotherWireTypeIsCountedAndNeverTakenForWhatItIsNot) {
  const std::string bytes = every_field();
  std::vector<Field> trace = parse(bytes, Message::trace);
  ASSERT_EQ(encode(trace), bytes);
  const test::NamedReading whole = test::read_recording(bytes);
  ASSERT_EQ(whole.error, "");
  ASSERT_EQ(whole.result.problems.left_out(), 3U);  // what the counter says
  const std::vector<std::string> right = said(whole);

  std::set<const FieldKind*> seen;
  for_each(trace, [&](Field& field) {
    EXPECT_EQ(field.wire, field.kind->wire) << field.kind->name;
    seen.insert(field.kind);
    for (std::uint32_t wire = 0; wire < 8; ++wire) {
      if (wire == field.kind->wire) continue;
      const Field other{field.kind, field.number, wire, payload_of(wire), {}};
      const Field own = std::exchange(field, other);
      const test::NamedReading reading = test::read_recording(encode(trace));
      field = own;
      const std::string where = std::string(field.kind->name) + " as wire type " + std::to_string(wire);
      const Problems& problems = reading.result.problems;
      const std::uint64_t counted =
          problems.left_out() - problems[ProblemKind::lost_by_recorder].count + problems[ProblemKind::unusable_fact].count;
      EXPECT_TRUE(!reading.error.empty() || counted != 0) << where;
      const std::vector<std::string> given = said(reading);
      std::vector<std::string> wrong;
      std::set_difference(given.begin(), given.end(), right.begin(), right.end(), std::back_inserter(wrong));
      EXPECT_TRUE(wrong.empty()) << where << ": " << wrong.front();
    }
  });
  for (const FieldKind& kind : kFields)
    EXPECT_TRUE(seen.contains(&kind)) << kind.name << " does not stand in the test's recording";
}

}  // namespace
}  // namespace graphtag
