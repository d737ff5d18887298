// Decodes Perfetto files for tests, by the schema's field numbers and without the writer's code.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <protozero/pbf_reader.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace graphtag::testing {

struct DecodedTrack {
  std::uint64_t uuid = 0, parent = 0;
  std::string name, merge_key, process_name, thread_name;
  std::int64_t pid = -1, tid = -1;
  int merge_behavior = 0;
  bool is_process = false, is_thread = false, is_counter = false;
};

struct DecodedEvent {
  std::uint64_t timestamp = 0, track = 0;
  std::uint32_t sequence = 0;
  int type = 0;  // 1 begin, 2 end, 3 instant, 4 counter
  std::string name, category;
  std::vector<std::uint64_t> flows, ending_flows;
  nlohmann::json args = nlohmann::json::object();
  double counter = 0;
};

struct DecodedSlice {
  std::uint64_t track = 0, start = 0, end = 0;
  int depth = 0;
  DecodedEvent begin;
};

// What a file may do beyond what the writer of `annotate` does.
struct DecoderRules {
  bool ascending = true;       // times of a sequence
  bool described_once = true;  // tracks
  bool complete = true;        // each slice has its END; else those that have none are left out
  // A recording (base/recording_layout.h), and one whose process was killed while it wrote.
  static DecoderRules of_recordings() { return {false, false, true}; }
  static DecoderRules of_killed_recordings() { return {false, false, false}; }
};

// The packets of `bytes` up to the last whole one.
inline std::string whole_packets(const std::string& bytes) {
  std::size_t end = 0;
  while (end < bytes.size()) {
    std::size_t at = end + 1;
    std::uint64_t size = 0;
    int shift = 0;
    bool whole = false;
    while (at < bytes.size() && shift < 64) {
      const auto byte = static_cast<unsigned char>(bytes[at++]);
      size |= std::uint64_t{byte & 0x7fU} << shift;
      shift += 7;
      whole = (byte & 0x80) == 0;
      if (whole) break;
    }
    if (!whole || bytes.size() - at < size) break;
    end = at + size;
  }
  return bytes.substr(0, end);
}

class DecodedTrace {
 public:
  std::map<std::uint64_t, DecodedTrack> tracks;  // by uuid
  std::vector<DecodedEvent> events;              // in file order
  std::map<int, std::uint64_t> clocks;           // of the snapshot: clock -> time
  int primary_clock = 0;

  // Throws std::runtime_error where a file breaks a rule: strings used before they are declared, times of a sequence that go back, an END without a
  // BEGIN or on another sequence, a slice that is not closed, events on a track that is not described before.
  explicit DecodedTrace(const std::string& bytes, DecoderRules rules = {}) : rules_(rules) {
    protozero::pbf_reader trace{bytes};
    while (trace.next()) {
      if (trace.tag() != 1) throw std::runtime_error("not a packet");
      packet(trace.get_message());
    }
    make_slices();
  }

  const std::vector<DecodedSlice>& slices() const { return slices_; }  // in the order of their BEGINs in the file

 private:
  struct Sequence {
    std::map<std::pair<int, std::uint64_t>, std::string> strings;  // field of InternedData, iid -> text
    std::uint64_t last = 0;
    bool cleared = false;
  };

  void packet(protozero::pbf_reader fields) {
    std::uint32_t id = 0, flags = 0;
    std::uint64_t timestamp = 0;
    std::string event, track, interned, snapshot;
    while (fields.next()) {
      switch (fields.tag()) {
        case 6:
          snapshot = fields.get_string();
          break;
        case 8:
          timestamp = fields.get_uint64();
          break;
        case 10:
          id = fields.get_uint32();
          break;
        case 11:
          event = fields.get_string();
          break;
        case 12:
          interned = fields.get_string();
          break;
        case 13:
          flags = fields.get_uint32();
          break;
        case 60:
          track = fields.get_string();
          break;
        default:
          throw std::runtime_error("unexpected packet field " + std::to_string(fields.tag()));
      }
    }
    if (id == 0) throw std::runtime_error("packet without a sequence");
    auto& sequence = sequences_[id];
    if ((flags & 1) != 0) {
      sequence.strings.clear();
      sequence.cleared = true;
    }
    if ((flags & 2) != 0 && !sequence.cleared) throw std::runtime_error("state needed that was never set up");
    protozero::pbf_reader entries{interned};
    while (entries.next()) {
      const int kind = static_cast<int>(entries.tag());
      protozero::pbf_reader entry = entries.get_message();
      std::uint64_t iid = 0;
      std::string text;
      while (entry.next()) entry.tag() == 1 ? void(iid = entry.get_uint64()) : void(text = entry.get_string());
      sequence.strings[{kind, iid}] = text;
    }
    if (!snapshot.empty()) clock(snapshot);
    if (!track.empty()) describe(track);
    if (event.empty()) return;
    if (rules_.ascending && timestamp < sequence.last) throw std::runtime_error("time goes back in a sequence");
    sequence.last = timestamp;
    DecodedEvent decoded = track_event(event, sequence);
    decoded.timestamp = timestamp;
    decoded.sequence = id;
    if (!tracks.contains(decoded.track)) throw std::runtime_error("event on a track that is not described");
    events.push_back(std::move(decoded));
  }

  void clock(const std::string& bytes) {
    protozero::pbf_reader fields{bytes};
    while (fields.next()) {
      if (fields.tag() == 2) {
        primary_clock = fields.get_enum();
        continue;
      }
      protozero::pbf_reader one = fields.get_message();
      int id = 0;
      std::uint64_t time = 0;
      while (one.next()) one.tag() == 1 ? void(id = static_cast<int>(one.get_uint32())) : void(time = one.get_uint64());
      clocks[id] = time;
    }
  }

  void describe(const std::string& bytes) {
    DecodedTrack track;
    protozero::pbf_reader fields{bytes};
    while (fields.next()) {
      switch (fields.tag()) {
        case 1:
          track.uuid = fields.get_uint64();
          break;
        case 2:
          track.name = fields.get_string();
          break;
        case 5:
          track.parent = fields.get_uint64();
          break;
        case 8:
          track.is_counter = true;
          fields.skip();
          break;
        case 15:
          track.merge_behavior = fields.get_enum();
          break;
        case 16:
          track.merge_key = fields.get_string();
          break;
        case 3: {
          track.is_process = true;
          protozero::pbf_reader process = fields.get_message();
          while (process.next()) {
            if (process.tag() == 1) {
              track.pid = process.get_int32();
            } else if (process.tag() == 6) {
              track.process_name = process.get_string();
            } else {
              process.skip();
            }
          }
          break;
        }
        case 4: {
          track.is_thread = true;
          protozero::pbf_reader thread = fields.get_message();
          while (thread.next()) {
            if (thread.tag() == 1) {
              track.pid = thread.get_int32();
            } else if (thread.tag() == 2) {
              track.tid = thread.get_int64();
            } else if (thread.tag() == 5) {
              track.thread_name = thread.get_string();
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
    if (track.parent != 0 && !tracks.contains(track.parent)) throw std::runtime_error("parent track is not described");
    const auto [known, fresh] = tracks.emplace(track.uuid, track);
    if (fresh) return;
    if (rules_.described_once) throw std::runtime_error("track described twice");
    if (known->second.parent != track.parent) throw std::runtime_error("a track moved");
  }

  static std::string text_of(const Sequence& sequence, int kind, std::uint64_t iid) {
    const auto found = sequence.strings.find({kind, iid});
    if (found == sequence.strings.end()) throw std::runtime_error("string used before it is declared");
    return found->second;
  }

  // A number beyond a double's range, which nlohmann's values cannot hold, as its text.
  static nlohmann::json json_value(const std::string& text) {
    try {
      return nlohmann::json::parse(text);
    } catch (const nlohmann::json::out_of_range&) {
      return text;
    }
  }

  static std::pair<std::string, nlohmann::json> annotation(protozero::pbf_reader fields, const Sequence& sequence) {
    std::string name;
    nlohmann::json value;
    while (fields.next()) {
      switch (fields.tag()) {
        case 1:
          name = text_of(sequence, 3, fields.get_uint64());
          break;
        case 10:
          name = fields.get_string();
          break;
        case 2:
          value = fields.get_bool();
          break;
        case 3:
          value = fields.get_uint64();
          break;
        case 4:
          value = fields.get_int64();
          break;
        case 5:
          value = fields.get_double();
          break;
        case 6:
          value = fields.get_string();
          break;
        case 17:
          value = text_of(sequence, 29, fields.get_uint64());
          break;
        case 9:
          value = json_value(fields.get_string());
          break;
        case 11: {
          const auto [key, nested] = annotation(fields.get_message(), sequence);
          value[key] = nested;
          break;
        }
        case 12:
          value.push_back(annotation(fields.get_message(), sequence).second);
          break;
        default:
          throw std::runtime_error("unexpected annotation field");
      }
    }
    return {name, value};
  }

  static DecodedEvent track_event(const std::string& bytes, const Sequence& sequence) {
    DecodedEvent event;
    protozero::pbf_reader fields{bytes};
    while (fields.next()) {
      switch (fields.tag()) {
        case 3:
          event.category = text_of(sequence, 1, fields.get_uint64());
          break;
        case 22:
          event.category = fields.get_string();
          break;
        case 10:
          event.name = text_of(sequence, 2, fields.get_uint64());
          break;
        case 23:
          event.name = fields.get_string();
          break;
        case 9:
          event.type = fields.get_enum();
          break;
        case 11:
          event.track = fields.get_uint64();
          break;
        case 30:
          event.counter = static_cast<double>(fields.get_int64());
          break;
        case 44:
          event.counter = fields.get_double();
          break;
        case 47:
          event.flows.push_back(fields.get_fixed64());
          break;
        case 48:
          event.ending_flows.push_back(fields.get_fixed64());
          break;
        case 4: {
          const auto [key, value] = annotation(fields.get_message(), sequence);
          event.args[key] = value;
          break;
        }
        default:
          throw std::runtime_error("unexpected event field " + std::to_string(fields.tag()));
      }
    }
    return event;
  }

  void make_slices() {
    std::map<std::uint64_t, std::vector<std::size_t>> open;  // track -> open slices
    for (const auto& event : events) {
      auto& stack = open[event.track];
      if (event.type == 1) {
        slices_.push_back({event.track, event.timestamp, 0, static_cast<int>(stack.size()), event});
        stack.push_back(slices_.size() - 1);
      } else if (event.type == 2) {
        if (stack.empty()) throw std::runtime_error("END without a BEGIN");
        auto& slice = slices_[stack.back()];
        if (slice.begin.sequence != event.sequence) throw std::runtime_error("END on another sequence");
        slice.end = event.timestamp;
        stack.pop_back();
      }
    }
    std::size_t ended = slices_.size();
    for (const auto& [track, stack] : open) {
      for (const std::size_t slice : stack) ended = std::min(ended, slice);
    }
    for (const auto& [track, stack] : open) {
      if (!stack.empty() && rules_.complete) throw std::runtime_error("slice without an END");
    }
    if (slices_.size() > ended + 1) throw std::runtime_error("slice without an END that is not the last");
    slices_.resize(ended);
  }

  DecoderRules rules_;
  std::map<std::uint32_t, Sequence> sequences_;
  std::vector<DecodedSlice> slices_;
};

}  // namespace graphtag::testing
