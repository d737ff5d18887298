#include "trace/perfetto/packet.h"

#include <array>
#include <charconv>
#include <cmath>
#include <protozero/pbf_reader.hpp>

#include "base/json.h"
#include "trace/event_builder.h"

#include <nlohmann/json.hpp>

namespace graphtag::perfetto {
namespace {

// Field numbers of Perfetto's schema (protos/perfetto/trace).
enum PacketField : std::uint32_t {
  packet_time = 8,
  packet_sequence = 10,
  packet_event = 11,
  packet_strings = 12,
  packet_flags = 13,
  packet_track = 60
};
enum EventField : std::uint32_t {
  event_category_iid = 3,
  event_arg = 4,
  event_type = 9,
  event_name_iid = 10,
  event_track = 11,
  event_category = 22,
  event_name = 23,
  event_counter = 30,
  event_counter_double = 44,
};
enum ArgField : std::uint32_t {
  arg_name_iid = 1,
  arg_bool = 2,
  arg_uint = 3,
  arg_int = 4,
  arg_double = 5,
  arg_string = 6,
  arg_json = 9,
  arg_name = 10,
  arg_dict = 11,
  arg_array = 12,
  arg_string_iid = 17,
};
enum TrackField : std::uint32_t { track_uuid = 1, track_name = 2, track_process = 3, track_thread = 4, track_parent = 5 };
constexpr std::uint32_t kStateCleared = 1;
constexpr int kNestingMax = 60;
constexpr std::size_t kStringBytes = std::size_t{32} << 20;

// protozero takes a field for what it is asked for: its type is looked at first.
void expect(const protozero::pbf_reader& fields, protozero::pbf_wire_type type) {
  if (!fields.has_wire_type(type)) throw protozero::unknown_pbf_wire_type_exception();
}
std::uint64_t varint(protozero::pbf_reader& fields) {
  expect(fields, protozero::pbf_wire_type::varint);
  return fields.get_uint64();
}
std::int64_t signed_varint(protozero::pbf_reader& fields) {
  return static_cast<std::int64_t>(varint(fields));
}
std::string_view text(protozero::pbf_reader& fields) {
  expect(fields, protozero::pbf_wire_type::length_delimited);
  const protozero::data_view view = fields.get_view();
  return {view.data(), view.size()};
}
protozero::pbf_reader message(protozero::pbf_reader& fields) {
  const std::string_view bytes = text(fields);
  return {bytes.data(), bytes.size()};
}

void decode_strings(std::string_view bytes, std::vector<InternedString>& strings) {
  protozero::pbf_reader fields(bytes.data(), bytes.size());
  while (fields.next()) {
    const std::uint32_t kind = fields.tag();
    if (kind != 1 && kind != 2 && kind != 3 && kind != 29) {
      fields.skip();
      continue;
    }
    InternedString string{static_cast<StringKind>(kind), 0, {}};
    protozero::pbf_reader entry = message(fields);
    while (entry.next()) {
      if (entry.tag() == 1) {
        string.iid = varint(entry);
      } else if (entry.tag() == 2) {
        string.text = text(entry);
      } else {
        entry.skip();
      }
    }
    strings.push_back(string);
  }
}

PacketTrack decode_track(std::string_view bytes) {
  PacketTrack track;
  protozero::pbf_reader fields(bytes.data(), bytes.size());
  while (fields.next()) {
    switch (fields.tag()) {
      case track_uuid:
        track.uuid = varint(fields);
        break;
      case track_parent:
        track.parent = varint(fields);
        break;
      case track_name:
        track.name = text(fields);
        break;
      case track_process: {
        track.is_process = true;
        protozero::pbf_reader process = message(fields);
        while (process.next()) {
          if (process.tag() == 1) {
            track.pid = static_cast<std::int32_t>(varint(process));
          } else if (process.tag() == 6) {
            track.name = text(process);
          } else {
            process.skip();
          }
        }
        break;
      }
      case track_thread: {
        track.is_thread = true;
        protozero::pbf_reader thread = message(fields);
        while (thread.next()) {
          if (thread.tag() == 1) {
            track.pid = static_cast<std::int32_t>(varint(thread));
          } else if (thread.tag() == 2) {
            track.tid = signed_varint(thread);
          } else if (thread.tag() == 5) {
            track.name = text(thread);
          } else {
            thread.skip();
          }
        }
        break;
      }
      default:
        fields.skip();
    }
  }
  return track;
}

void decode_event(std::string_view bytes, PacketEvent& event) {
  protozero::pbf_reader fields(bytes.data(), bytes.size());
  while (fields.next()) {
    switch (fields.tag()) {
      case event_type:
        event.type = static_cast<EventType>(static_cast<std::int32_t>(varint(fields)));
        break;
      case event_track:
        event.track = varint(fields);
        break;
      case event_category_iid:
        event.category.iid = varint(fields);
        break;
      case event_category:
        event.category.text = text(fields);
        break;
      case event_name_iid:
        event.name.iid = varint(fields);
        break;
      case event_name:
        event.name.text = text(fields);
        break;
      case event_counter:
        event.counter = signed_varint(fields);
        break;
      case event_arg:
        event.args.push_back(text(fields));
        break;
      default:
        fields.skip();
    }
  }
}

template <typename Number>
void append_number(std::string& json, Number value) {
  std::array<char, 32> text{};
  json.append(text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr);
}

bool append_value(protozero::pbf_reader fields, const StringTable& strings, std::string& json, int depth);

// Dict entries and array values are repeated fields of one message.
bool append_nested(protozero::pbf_reader fields, bool dict, const StringTable& strings, std::string& json, int depth) {
  json += dict ? '{' : '[';
  bool first = true;
  while (fields.next()) {
    if (fields.tag() != (dict ? arg_dict : arg_array)) {
      fields.skip();
      continue;
    }
    if (!first) json += ',';
    first = false;
    const std::string_view entry = text(fields);
    if (dict) {
      std::string_view key;
      if (!arg_key(entry, strings, key)) return false;
      append_json_string(json, key);
      json += ':';
    }
    if (!append_arg_value(entry, strings, json, depth + 1)) return false;
  }
  json += dict ? '}' : ']';
  return true;
}

bool append_value(protozero::pbf_reader fields, const StringTable& strings, std::string& json, int depth) {
  if (depth > kNestingMax) return false;
  const protozero::pbf_reader all = fields;
  while (fields.next()) {
    switch (fields.tag()) {
      case arg_bool:
        json += varint(fields) != 0 ? "true" : "false";
        return true;
      case arg_uint:
        append_number(json, varint(fields));
        return true;
      case arg_int:
        append_number(json, signed_varint(fields));
        return true;
      case arg_double: {
        expect(fields, protozero::pbf_wire_type::fixed64);
        json += dump_json(Json(fields.get_double()));
        return true;
      }
      case arg_string:
        append_json_string(json, text(fields));
        return true;
      case arg_string_iid: {
        const auto text = strings.find(StringKind::arg_string, {varint(fields), {}});
        if (!text) return false;
        append_json_string(json, *text);
        return true;
      }
      case arg_json: {
        const std::string_view given = text(fields);
        const Result<Json> value = parse_json(given);
        if (!value) {
          append_json_string(json, given);
          return true;
        }
        json += dump_json(*value);
        return true;
      }
      case arg_dict:
        return append_nested(all, true, strings, json, depth);
      case arg_array:
        return append_nested(all, false, strings, json, depth);
      default:
        fields.skip();
    }
  }
  return false;
}

}  // namespace

bool decode_packet(std::string_view bytes, Packet& packet) {
  packet.time_ns = 0;
  packet.sequence = 0;
  packet.clears_state = false;
  packet.strings.clear();
  packet.track.reset();
  packet.event.reset();
  try {
    protozero::pbf_reader fields(bytes.data(), bytes.size());
    while (fields.next()) {
      switch (fields.tag()) {
        case packet_time:
          packet.time_ns = varint(fields);
          break;
        case packet_sequence:
          packet.sequence = static_cast<std::uint32_t>(varint(fields));
          break;
        case packet_flags:
          packet.clears_state = (static_cast<std::uint32_t>(varint(fields)) & kStateCleared) != 0;
          break;
        case packet_strings:
          decode_strings(text(fields), packet.strings);
          break;
        case packet_track:
          packet.track = decode_track(text(fields));
          break;
        case packet_event:
          decode_event(text(fields), packet.event.emplace());
          break;
        default:
          fields.skip();
      }
    }
  } catch (const protozero::exception&) {
    return false;
  }
  return true;
}

bool StringTable::add(const InternedString& string) {
  bytes_ += string.text.size() + 64;
  if (bytes_ > kStringBytes) return false;
  texts_.insert_or_assign(std::uint64_t{static_cast<std::uint32_t>(string.kind)} << 56 ^ string.iid, std::string(string.text));
  return true;
}

void StringTable::clear() {
  texts_.clear();
  bytes_ = 0;
}

std::optional<std::string_view> StringTable::find(StringKind kind, const StringRef& ref) const {
  if (ref.iid == 0) return ref.text;
  const auto found = texts_.find(std::uint64_t{static_cast<std::uint32_t>(kind)} << 56 ^ ref.iid);
  return found == texts_.end() ? std::nullopt : std::optional<std::string_view>(found->second);
}

bool arg_key(std::string_view arg, const StringTable& strings, std::string_view& key) {
  StringRef ref;
  bool named = false;
  protozero::pbf_reader fields(arg.data(), arg.size());
  try {
    while (fields.next()) {
      if (fields.tag() == arg_name_iid) {
        ref.iid = varint(fields);
        named = true;
      } else if (fields.tag() == arg_name) {
        ref.text = text(fields);
        named = true;
      } else {
        fields.skip();
      }
    }
  } catch (const protozero::exception&) {
    return false;
  }
  const auto text = strings.find(StringKind::arg_name, ref);
  if (!named || !text) return false;
  key = *text;
  return true;
}

bool append_arg_value(std::string_view arg, const StringTable& strings, std::string& json, int depth) {
  try {
    return append_value(protozero::pbf_reader(arg.data(), arg.size()), strings, json, depth);
  } catch (const protozero::exception&) {
    return false;
  }
}

}  // namespace graphtag::perfetto
