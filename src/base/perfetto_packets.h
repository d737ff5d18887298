// Perfetto's trace packets: tracks, slices, instants and counters with interned strings and typed args. Nothing here knows about
// GPUs.
//
// A trace is a list of TracePackets. Packets of one sequence have ascending timestamps and share a table of interned strings: a
// string is declared in the first packet of the sequence that uses it and is known by its number from then on. Numbers are given
// out once for the whole trace, over all kinds, so an encoded event can be written into any sequence:
//
//   EventEncoder       name "gemm", arg "grid"     ->  body  name_iid: 4, debug_annotations { name_iid: 7 ... }   used: 4, 7
//   PacketSequence 3   declares 4 and 7 unless it has, then writes TracePacket { timestamp, track_event { type, track, body } }
#pragma once

#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <protozero/pbf_writer.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace graphtag {

enum class InternedKind : std::uint8_t { category, event_name, arg_name, arg_string };

// The strings of one trace, each known by a number from 1. Bounded: once a kind has used its bytes, its new strings stay without
// a number and are written out in full each time. Not for several threads at once.
class InternedStrings {
 public:
  explicit InternedStrings(std::size_t bytes_per_kind = std::size_t{2} << 20) : bytes_per_kind_(bytes_per_kind) {}

  // 0 where the string gets no number.
  std::uint32_t intern(InternedKind kind, std::string_view text);
  InternedKind kind_of(std::uint32_t id) const { return entries_[id - 1].kind; }
  std::string_view text_of(std::uint32_t id) const { return entries_[id - 1].text; }
  std::size_t size() const { return entries_.size(); }
  // Whether a string got no number.
  bool overflowed() const { return overflowed_; }

 private:
  struct Entry {
    std::string text;
    InternedKind kind;
  };
  struct Kind {
    boost::unordered_flat_map<std::string_view, std::uint32_t> ids;  // text, held by `entries_` -> number
    std::size_t bytes = 0;
  };
  std::size_t bytes_per_kind_;
  std::array<Kind, 4> kinds_;
  bool overflowed_ = false;
  std::deque<Entry> entries_;  // index: number - 1; a deque, so that views stay valid
};

// The numbers that an event uses, each once.
class UsedStrings {
 public:
  void clear();
  void add(std::uint32_t id);
  std::span<const std::uint32_t> ids() const { return ids_; }

 private:
  std::vector<std::uint32_t> ids_;
  std::vector<std::uint32_t> seen_in_;  // index: number -> the last event that used it
  std::uint32_t event_ = 1;
};

// Writes args (debug annotations) into an event, or into a dict or array arg of it. While a nested writer lives, its parent must
// not be used.
class ArgWriter {
 public:
  ArgWriter(std::string& body, InternedStrings& strings, UsedStrings& used);

  // Elements of an array have no key: it is passed over.
  void boolean(std::string_view key, bool value);
  void integer(std::string_view key, std::int64_t value);
  void unsigned_integer(std::string_view key, std::uint64_t value);
  void real(std::string_view key, double value);
  void string(std::string_view key, std::string_view value);
  // What has no typed form (null, an empty array or object, a number beyond 64 bits), as JSON text.
  void json(std::string_view key, std::string_view text);
  ArgWriter dict(std::string_view key);
  ArgWriter array(std::string_view key);

 private:
  ArgWriter(ArgWriter& parent, std::string_view key, std::uint32_t child_tag);
  void write_key(protozero::pbf_writer& annotation, std::string_view key);
  template <typename AddValue>
  void write(std::string_view key, AddValue add_value);

  protozero::pbf_writer message_;
  std::uint32_t child_tag_;
  InternedStrings& strings_;
  UsedStrings& used_;
};

// Encodes what an event says about itself; its time, track, type and flows are added by PacketSequence.
class EventEncoder {
 public:
  explicit EventEncoder(InternedStrings& strings) : strings_(strings) {}

  void clear();
  void category(std::string_view text);
  void name(std::string_view text);
  void counter(std::int64_t value);
  void counter(double value);
  ArgWriter args() { return {body_, strings_, used_}; }

  std::string_view body() const { return body_; }
  std::span<const std::uint32_t> used() const { return used_.ids(); }

 private:
  InternedStrings& strings_;
  UsedStrings used_;
  std::string body_;
};

enum class TrackEventType : std::uint8_t { slice_begin = 1, slice_end = 2, instant = 3, counter = 4 };

struct TrackEvent {
  TrackEventType type = TrackEventType::instant;
  std::uint64_t timestamp_ns = 0;
  std::uint64_t track = 0;                      // its TrackDescription's uuid
  std::span<const std::uint64_t> flows;         // arrows that start here
  std::span<const std::uint64_t> ending_flows;  // arrows that end here; each id has one end
  std::string_view body;                        // of an EventEncoder
  std::span<const std::uint32_t> used;
};

// Packets that share interned strings. Events must come in ascending order of time.
class PacketSequence {
 public:
  // Numbers of sequences start at 1 and are unique in a trace.
  PacketSequence(std::uint32_t id, const InternedStrings& strings) : id_(id), strings_(&strings) {}

  void append(std::string& trace, const TrackEvent& event);
  // The same, with all its strings declared in the packet itself and none remembered: for sequences too many to remember for.
  static void append_self_contained(std::string& trace, std::uint32_t sequence, const InternedStrings& strings,
                                    const TrackEvent& event);

 private:
  std::uint32_t id_;
  const InternedStrings* strings_;
  std::vector<bool> declared_;  // index: number
  bool started_ = false;
};

struct ProcessIdentity {
  std::int32_t pid = 0;
  std::string name;
  std::vector<std::string> labels;
};
struct ThreadIdentity {
  std::int32_t pid = 0;
  std::int64_t tid = 0;
  std::string name;
};

// A row of the timeline. At most one of `process`, `thread` and `counter`.
struct TrackDescription {
  std::uint64_t uuid = 0;    // unique in the trace, not 0
  std::uint64_t parent = 0;  // 0: none
  std::string name;
  std::optional<ProcessIdentity> process;
  std::optional<ThreadIdentity> thread;
  bool counter = false;
  std::optional<std::int32_t> order;  // among its siblings, if the parent orders its children
  bool orders_children = false;
  std::string merge_key;  // siblings with the same key are shown as one row; empty: never merged
};
void append_track(std::string& trace, std::uint32_t sequence, const TrackDescription& track);

// Declares the strings numbered `first` to `last` in a packet that the caller writes himself.
void append_interned(std::string& packet, const InternedStrings& strings, std::uint32_t first, std::uint32_t last);

// Readings of several clocks at one instant, by Perfetto's numbers of them; the first one is that of the trace.
void append_clocks(std::string& trace, std::uint32_t sequence, std::span<const std::pair<std::uint32_t, std::uint64_t>> clocks);

// Says that timestamps are on BOOTTIME, which read the same as Unix time (REALTIME) at `timestamp_ns`.
void append_unix_clock(std::string& trace, std::uint32_t sequence, std::uint64_t timestamp_ns);

}  // namespace graphtag
