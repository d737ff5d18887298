// The events of a recording, from its packets one after the other.
#pragma once

#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "trace/event_builder.h"
#include "trace/perfetto/packet.h"
#include "trace/perfetto/recorded_processes.h"
#include "trace/reader.h"

namespace graphtag::perfetto {

// Members of args: keys without quotes and values, as JSON.
struct RecordedArgs {
  struct Span {
    std::size_t key = 0, value = 0, end = 0;  // where they begin, and the value ends
  };
  std::string text;
  std::vector<Span> spans;
  void add(std::string_view key, std::string_view value);
  void write(EventBuilder& builder) const;
};
// A BEGIN whose END is to come.
struct BegunSlice {
  std::uint64_t track = 0, time_ns = 0, offset = 0;
  std::string category, name;  // as JSON strings
  // Of operations.
  std::optional<std::uint64_t> device, stream, correlation, graph, node, bytes;
  RecordedArgs args;
  AnnotationId annotation = AnnotationId::none;
  Origin origin = Origin::unknown_graph;
  bool bad_time = false;
};

class RecordingEvents {
 public:
  // `wanted_pid`: of files of several processes, joined, only this one's.
  RecordingEvents(EventVisitor& visitor, ReadResult& result, std::optional<std::int64_t> wanted_pid);

  // A packet that lies at `offset` of the file. Errors: the visitor's; a trace of somebody else (unsupported); see needs_choice().
  Result<void> add(const Packet& packet, std::uint64_t offset);
  // After the last packet. Error: there was no recording, or see needs_choice().
  Result<void> finish();
  // The error was that wanted_pid does not choose one process: not_one_process() says more.
  bool needs_choice() const { return needs_choice_; }

  // What a packet that begins an operation declares is a key of an annotation, unless records have it themselves.
  static bool is_record_key(std::string_view key);

 private:
  struct Sequence {
    StringTable strings;
    std::uint64_t generation = 0;  // goes up when the strings are cleared
  };
  struct Track {
    std::uint64_t parent = 0;
    std::string name;
    std::optional<std::int64_t> pid, tid;
    bool is_thread = false;
    bool named = false;  // its thread's name was given to the visitor
  };
  struct Place {
    std::int64_t pid = 0, tid = 0;
  };
  static Error no_recording();  // but a trace of somebody else
  void describe_track(const PacketTrack& described, std::uint64_t offset);
  Json facts_at(const PacketEvent& event, const Sequence& sequence, std::uint64_t offset);
  Result<void> begin_recording(const Packet& packet, const Sequence& sequence, std::uint64_t offset);
  Result<void> status(const Packet& packet, const Sequence& sequence, std::string_view name, std::uint64_t offset);
  Result<void> begin_slice(const Packet& packet, Sequence& sequence, std::string_view category, std::string_view name,
                           std::uint64_t offset);
  bool decode_args(const PacketEvent& event, const Sequence& sequence, bool operation);
  std::optional<AnnotationId> annotation_of(const Sequence& sequence);
  Result<void> end_slice(const Packet& packet, std::uint64_t offset);
  Result<void> give_operation(std::uint64_t end_ns);
  Result<void> give_host_slice(std::uint64_t end_ns);
  Result<void> give_instant(const Packet& packet, const Sequence& sequence, std::string_view category, std::string_view name,
                            std::uint64_t offset);
  Result<void> give(const Event& event);
  Result<void> name_thread(std::uint64_t track);
  Place place_of(std::uint64_t track);
  std::optional<std::int64_t> relative(std::uint64_t time_ns) const;
  void set_time(std::uint64_t start_ns, std::uint64_t end_ns);

  EventVisitor& visitor_;
  ReadResult& result_;
  EventBuilder builder_;
  std::shared_ptr<AnnotationTable> annotations_ = std::make_shared<AnnotationTable>();
  boost::unordered_flat_map<std::uint32_t, Sequence> sequences_;
  boost::unordered_flat_map<std::uint64_t, Track> tracks_;  // uuid -> track
  std::size_t track_bytes_ = 0;
  boost::unordered_flat_map<std::uint64_t, std::int64_t> counters_;  // uuid of a counter's track -> last value
  boost::unordered_flat_map<std::string, AnnotationId> interned_;  // an annotation's args as they stand -> id, of one generation
  std::uint64_t interned_generation_ = 0;
  std::size_t interned_bytes_ = 0;
  const std::optional<std::int64_t> wanted_pid_;
  bool chapters_ = false;    // there was one, whosever
  bool begun_ = false;       // the recording
  RecordedProcess process_;  // whose that is
  bool is_others_ = false;   // the chapter
  bool needs_choice_ = false;
  std::int64_t recording_ns_ = 0;  // when the recording began whose the chapter is
  boost::unordered_flat_map<std::int64_t, bool>
      ended_;  // begin of a recording -> whether its end is there. Segments come in any order
  std::int64_t base_ns_ = 0;
  std::optional<BegunSlice> open_;
  std::string annotation_args_;  // of the event in hand, undecoded, one behind the other with their sizes
  std::string value_, storage_;
};

}  // namespace graphtag::perfetto
