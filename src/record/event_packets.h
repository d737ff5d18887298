// The packets of the sequence of events (base/recording_layout.h): slices and instants with interned strings, declared where they are first used
// in a chapter.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/perfetto_packets.h"

namespace graphtag {

// A text by its number in the chapter, or in full where it got none.
struct RecordedText {
  std::uint32_t number = 0;
  std::string_view text;  // needed where number is 0
};

enum class FlowEnd : std::uint8_t { none, begins, ends };

class EventPackets {
 public:
  // Packets are put behind `out`.
  explicit EventPackets(std::string& out) : out_(&out) {}

  // Forgets all numbers: those of earlier chapters mean nothing from here on.
  void begin_chapter();
  std::uint32_t chapter() const { return chapter_; }  // from 1

  RecordedText text(InternedKind kind, std::string_view text) { return {strings_->intern(kind, text), text}; }

  struct Event {
    std::uint64_t track = 0;
    std::uint64_t start_ns = 0, end_ns = 0;  // Unix time
    std::uint32_t category = 0;              // interned
    RecordedText name;
    std::string_view args, more_args;  // encoded
    FlowEnd flow = FlowEnd::none;
    std::uint64_t flow_id = 0;
  };
  void slice(const Event& event);
  void instant(const Event& event);  // at start_ns

  // For args of any shape: they are encoded into `body`, and their strings declared by the next event.
  ArgWriter args(std::string& body) {
    used_.clear();
    return {body, *strings_, used_};
  }
  // Whether strings of this chapter are written out each time, for want of numbers.
  bool overflowed() const { return strings_ && strings_->overflowed(); }

 private:
  void append(int type, std::uint64_t time_ns, const Event& event);

  std::string* out_;
  std::optional<InternedStrings> strings_;
  UsedStrings used_;            // what ArgWriter wants; strings are declared in the order of their numbers instead
  std::uint32_t declared_ = 0;  // of the strings: all numbers up to this
  std::uint32_t chapter_ = 0;
  bool started_ = false;  // the chapter has a packet
  std::string interned_;
};

}  // namespace graphtag
