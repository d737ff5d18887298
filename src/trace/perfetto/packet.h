// One packet of a recording, decoded as far as recordings have anything (base/recording_layout.h): views into its bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

namespace graphtag::perfetto {

enum class EventType : std::int32_t { none = 0, begin = 1, end = 2, instant = 3, counter = 4 };

// A string of a packet: in itself, or by number.
struct StringRef {
  std::uint64_t iid = 0;  // 0: `text` counts
  std::string_view text;
};

struct PacketEvent {
  EventType type = EventType::none;
  std::uint64_t track = 0;
  StringRef category, name;
  std::optional<std::int64_t> counter;
  std::vector<std::string_view> args;  // DebugAnnotations, undecoded
};

struct PacketTrack {
  std::uint64_t uuid = 0, parent = 0;
  std::string name;  // of its process or thread too
  std::optional<std::int64_t> pid, tid;
  bool is_process = false, is_thread = false;
};

// InternedData's fields.
enum class StringKind : std::uint32_t { category = 1, event_name = 2, arg_name = 3, arg_string = 29 };

struct InternedString {
  StringKind kind;
  std::uint64_t iid = 0;
  std::string_view text;
};

struct Packet {
  std::uint64_t time_ns = 0;
  std::uint32_t sequence = 0;
  bool clears_state = false;
  std::vector<InternedString> strings;
  std::optional<PacketTrack> track;
  std::optional<PacketEvent> event;
};

// Into `packet`, whose memory is used again. False if the bytes are no packet.
bool decode_packet(std::string_view bytes, Packet& packet);

// What the strings of a sequence are called by number. Bounded.
class StringTable {
 public:
  // False once it is full: then the string is not known later.
  bool add(const InternedString& string);
  void clear();
  // Nothing: there is no such string.
  std::optional<std::string_view> find(StringKind kind, const StringRef& ref) const;

 private:
  boost::unordered_flat_map<std::uint64_t, std::string> texts_;  // kind and number -> text
  std::size_t bytes_ = 0;
};

// Of a DebugAnnotation: its key, and its value as JSON. False if it is none, is nested too deeply, or names strings that are not there.
bool arg_key(std::string_view arg, const StringTable& strings, std::string_view& key);
bool append_arg_value(std::string_view arg, const StringTable& strings, std::string& json, int depth = 0);

}  // namespace graphtag::perfetto
