// An Event from the members of its text: what both readers fill in as they go over it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trace/event.h"
#include "trace/kineto/key_set.h"

namespace graphtag::kineto {

enum class ValueType : std::uint8_t { string, number, literal, object, array };

class EventFields {
 public:
  // Members of args beyond make an event too large: they are held in memory.
  static constexpr std::size_t kMembersMax = std::size_t{1} << 16;

  // `base` is the event's first byte: spans count from there.
  void begin(const char* base);

  bool is_args(TextSpan key, bool escaped);
  // Before the members of an args object.
  void begin_args() {
    members_.clear();
    argument_keys_.clear();
    graph_tokens_ = {};
  }
  // A member of args. False when there are too many.
  bool argument(TextSpan key, bool escaped, TextSpan value);
  // A member of the event itself; one named args after its members. False when there are too many.
  bool top_level(TextSpan key, bool escaped, TextSpan value, ValueType type);
  void note_integer_beyond_64_bits() { integer_beyond_64_bits_ = true; }

  // The event, decoded. It and its views live until the next begin().
  const Event& finish(std::uint64_t offset, std::size_t size, bool repaired);

  // Of the event that finish() gave.
  bool duplicate_key() const { return duplicate_key_; }
  bool integer_beyond_64_bits() const { return integer_beyond_64_bits_; }
  bool bad_time() const { return bad_time_; }
  bool graph_id_beyond_32_bits() const { return graph_id_beyond_32_bits_; }
  bool noted() const { return duplicate_key_ || integer_beyond_64_bits_ || bad_time_ || graph_id_beyond_32_bits_; }
  // Its first key as written; empty if it has none.
  std::string_view first_key() const { return text(first_key_); }

 private:
  struct Token {
    TextSpan span;
    ValueType type = ValueType::literal;
  };
  enum GraphToken : std::uint8_t { device, stream, bytes, graph_id, correlation, graph_node_id, graph_token_count };

  std::string_view text(TextSpan span) const { return {base_ + span.begin, span.end - span.begin}; }
  std::string_view key_text(TextSpan key, bool escaped) { return escaped ? unescape(text(key), storage_) : text(key); }
  EventKind kind() const;
  void decode_time();
  void decode_graph();

  const char* base_ = nullptr;
  Event event_;
  std::vector<Member> members_;
  KeySet top_keys_;
  KeySet argument_keys_;
  std::size_t top_count_ = 0;
  TextSpan first_key_;
  Token start_, duration_;
  std::array<TextSpan, graph_token_count> graph_tokens_{};
  bool duplicate_key_ = false;
  bool integer_beyond_64_bits_ = false;
  bool bad_time_ = false;
  bool graph_id_beyond_32_bits_ = false;
  std::string storage_;
};

inline void EventFields::begin(const char* base) {
  base_ = base;
  event_ = {};
  members_.clear();
  top_keys_.clear();
  argument_keys_.clear();
  top_count_ = 0;
  first_key_ = {};
  start_ = duration_ = {};
  graph_tokens_ = {};
  duplicate_key_ = integer_beyond_64_bits_ = bad_time_ = graph_id_beyond_32_bits_ = false;
}

inline bool EventFields::is_args(TextSpan key, bool escaped) {
  return key_text(key, escaped) == "args";
}

inline bool EventFields::argument(TextSpan key, bool escaped, TextSpan value) {
  if (members_.size() == kMembersMax) return false;
  members_.push_back({key, value});
  const std::string_view name = key_text(key, escaped);
  if (!argument_keys_.insert(text(key), escaped)) duplicate_key_ = true;
  switch (name.size()) {
    case 5:
      if (name == "bytes") graph_tokens_[bytes] = value;
      break;
    case 6:
      if (name == "device") graph_tokens_[device] = value;
      if (name == "stream") graph_tokens_[stream] = value;
      break;
    case 8:
      if (name == "graph id") graph_tokens_[graph_id] = value;
      break;
    case 11:
      if (name == "correlation") graph_tokens_[correlation] = value;
      break;
    case 13:
      if (name == "graph node id") graph_tokens_[graph_node_id] = value;
      break;
    default:
      break;
  }
  return true;
}

inline bool EventFields::top_level(TextSpan key, bool escaped, TextSpan value, ValueType type) {
  if (top_count_ == 0) first_key_ = key;
  if (++top_count_ > kMembersMax) return false;
  const std::string_view name = key_text(key, escaped);
  if (!top_keys_.insert(text(key), escaped)) duplicate_key_ = true;
  switch (name.size()) {
    case 2:
      if (name == "ph") event_.phase = type == ValueType::string && value.end - value.begin > 2 ? base_[value.begin + 1] : '\0';
      if (name == "ts") start_ = {value, type};
      if (name == "id") event_.id = value;
      break;
    case 3:
      if (name == "pid") event_.pid = value;
      if (name == "tid") event_.tid = value;
      if (name == "cat") event_.category = value;
      if (name == "dur") duration_ = {value, type};
      break;
    case 4:
      if (name == "name") event_.name = value;
      if (name == "args") {
        event_.args = value;
        event_.has_args = type == ValueType::object;
        if (!event_.has_args) begin_args();
      }
      break;
    default:
      break;
  }
  return true;
}

}  // namespace graphtag::kineto
