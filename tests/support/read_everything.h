// Reads Chrome JSON from memory and keeps all that the reader gives, as text, so that two readings can be compared.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/kineto/kineto_reader.h"

namespace graphtag::test {

struct EventRecord {
  std::uint64_t offset = 0;
  std::string json;
  std::string fields;  // all other fields of Event
  bool repaired = false;
  bool operator==(const EventRecord&) const = default;
};

struct Everything {
  std::string error;  // empty if there was none
  std::vector<EventRecord> events;
  std::vector<std::string> members;         // "key=value", after the events "+key=value"
  std::vector<std::string> member_objects;  // "{"key":value}"
  std::string info;
  std::string problems;
  ReadResult result;
};

inline std::string describe(const Event& event) {
  std::string text;
  const auto put = [&](const auto& value) { (text += std::to_string(value)) += ' '; };
  const auto put_span = [&](TextSpan span) { ((text += std::to_string(span.begin)) += '-') += std::to_string(span.end) + ' '; };
  put(static_cast<int>(event.kind));
  put(static_cast<int>(event.phase));
  for (const TextSpan span : {event.name, event.category, event.pid, event.tid, event.id, event.args}) put_span(span);
  put(event.start_ns.has_value());
  put(event.start_ns.value_or(0));
  put(event.duration_ns);
  put(event.has_args);
  for (const Member& member : event.members) {
    put_span(member.key);
    put_span(member.value);
  }
  put(event.graph_id);
  put(event.node_id);
  put(event.has_node_id);
  put(event.device.has_value());
  put(event.device.value_or(0));
  put(event.stream.has_value());
  put(event.stream.value_or(0));
  put(event.correlation.has_value());
  put(event.correlation.value_or(0));
  put(event.bytes);
  return text;
}

inline std::string describe(const Problems& problems) {
  std::string text;
  for (std::size_t i = 0; i < kProblemKinds; ++i) {
    const auto kind = static_cast<ProblemKind>(i);
    const auto& entry = problems[kind];
    if (entry.count == 0) continue;
    ((text += to_string(kind)) += ' ') += std::to_string(entry.count) + " at";
    for (const auto offset : entry.offsets) (text += ' ') += std::to_string(offset);
    (text += ": ") += entry.example + "\n";
  }
  return text;
}

inline std::string describe(const TraceInfo& info) {
  std::string text = info.host + "|" + info.producer + "|" + info.graphtag_json.value_or("-") + "|";
  for (const auto& value : {info.rank, info.pid, info.base_time_ns}) text += (value ? std::to_string(*value) : "-") + "|";
  for (const auto& name : info.device_names) text += name + ",";
  return text + (info.annotated ? "annotated" : "") + (info.bare_array ? "bare" : "");
}

class Collector : public EventVisitor {
 public:
  explicit Collector(Everything& into) : into_(into) {}
  Result<void> on_member(std::string_view key, std::string_view value, bool after_events) override {
    into_.member_objects.push_back("{\"" + std::string(key) + "\":" + std::string(value) + "}");
    into_.members.push_back((after_events ? "+" : "") + std::string(key) + "=" + std::string(value));
    return {};
  }
  Result<void> on_event(const Event& event) override {
    into_.events.push_back({event.offset, std::string(event.json), describe(event), event.repaired});
    return {};
  }

 private:
  Everything& into_;
};

inline Everything read_everything(ByteSource& source, const KinetoOptions& options = {}) {
  Everything all;
  Collector collector(all);
  if (auto read = read_kineto(source, "trace.json", collector, all.result, options); !read) all.error = read.error().to_string();
  all.info = describe(all.result.info);
  all.problems = describe(all.result.problems);
  return all;
}

inline Everything read_everything(std::string_view content, const KinetoOptions& options = {},
                                  std::span<const std::size_t> chunks = {}) {
  const auto source = memory_source(content, chunks);
  return read_everything(*source, options);
}

// What differs, for a message; empty if nothing does.
inline std::string difference(const Everything& a, const Everything& b) {
  if (a.error != b.error) return "error: " + a.error + " / " + b.error;
  if (a.problems != b.problems) return "problems:\n" + a.problems + "/\n" + b.problems;
  if (a.members != b.members) return "members";
  if (a.info != b.info) return "info: " + a.info + " / " + b.info;
  if (a.result.content_bytes != b.result.content_bytes) return "content_bytes";
  for (std::size_t i = 0; i < a.events.size() && i < b.events.size(); ++i) {
    if (!(a.events[i] == b.events[i])) {
      return "event " + std::to_string(i) + " at " + std::to_string(a.events[i].offset) + " / " +
             std::to_string(b.events[i].offset) + ":\n" + a.events[i].json + "\n" + a.events[i].fields + "\n/\n" +
             b.events[i].json + "\n" + b.events[i].fields;
    }
  }
  if (a.events.size() != b.events.size())
    return "number of events: " + std::to_string(a.events.size()) + " / " + std::to_string(b.events.size());
  return {};
}

// A whole file, decompressed; empty if it cannot be read.
inline std::string content_of(const std::string& path) {
  Problems problems;
  auto opened = open_source(path, problems);
  if (!opened) return {};
  std::string content;
  std::string block(std::size_t{1} << 16, '\0');
  for (;;) {
    const auto got = opened->source->read(block.data(), block.size());
    if (!got || *got == 0) return content;
    content.append(block, 0, *got);
  }
}

}  // namespace graphtag::test
