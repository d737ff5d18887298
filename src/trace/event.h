// The stream of events that every reader gives and every consumer takes.
//
// The common form of an event is its text as Chrome JSON, with the fields that matter decoded beside it; a reader of another
// format makes the text.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "model/annotation.h"
#include "model/annotation_file.h"
#include "trace/problems.h"

namespace graphtag {

enum class EventKind : std::uint8_t {
  kernel,          // cat "kernel", ph X
  memcpy,          // cat "gpu_memcpy"
  memset,          // cat "gpu_memset"
  gpu_annotation,  // cat "gpu_user_annotation"
  host_slice,      // any other ph X
  flow_start,      // ph s
  flow_end,        // ph f (or t)
  metadata,        // ph M
  other,
};
constexpr bool is_gpu_operation(EventKind kind) {
  return kind <= EventKind::memset;
}

// A stretch of Event::json.
struct TextSpan {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  bool empty() const { return begin == end; }
  bool operator==(const TextSpan&) const = default;
};

struct Member {
  TextSpan key;    // inside the quotes, escapes as written
  TextSpan value;  // whole token or nested text, quotes and brackets included
};

// Views live until the callback returns.
struct Event {
  std::string_view json;     // valid JSON: the file's own bytes, or the repaired text
  std::uint64_t offset = 0;  // of the event in the (decompressed) file; in a database the number of its row
  bool repaired = false;
  EventKind kind = EventKind::other;
  char phase = 0;  // first character of "ph"; 0 if missing

  // Tokens as written ("" quoted strings keep their quotes); empty where missing. Of duplicate keys the last counts.
  TextSpan name, category, pid, tid, id;
  std::optional<std::int64_t> start_ns;  // from "ts" in decimal microseconds, exact; nothing if missing, infinite, or a bad_time
  std::int64_t duration_ns = 0;          // from "dur"; with a start_ns never negative, and their sum fits

  bool has_args = false;
  TextSpan args;                    // the object with its braces; without has_args the value that is no object, or empty
  std::span<const Member> members;  // of args, top level, in order

  // From args; of GPU operations only.
  std::uint64_t graph_id = 0;  // 0: not in a graph
  std::uint64_t node_id = 0;   // the full 64-bit id; meaningful if graph_id is not 0
  bool has_node_id = false;    // in a graph, and the record says which node
  std::optional<std::int64_t> device, stream;
  std::optional<std::uint64_t> correlation;  // also of host slices (launches)
  std::uint64_t bytes = 0;

  // Of GPU operations in traces that have names of their own (TraceInfo::annotations): the name, and how it came or why there is none.
  AnnotationId annotation = AnnotationId::none;
  Origin origin = Origin::unknown_graph;

  std::string_view text(TextSpan span) const { return json.substr(span.begin, span.end - span.begin); }
};

// A string token (with or without its quotes) with its escapes resolved. `storage` is used if there are any.
std::string_view unescape(std::string_view token, std::string& storage);

// What was learned from the members around the events.
struct TraceInfo {
  std::string host;                  // "host_name"
  std::optional<std::int64_t> rank;  // "distributedInfo".rank
  std::optional<std::int64_t> pid;   // the process that launches: of the first host slice of cuda_runtime or cuda_driver, else of
                                     // a host process_labels "CPU"
  std::optional<std::int64_t> base_time_ns;  // "baseTimeNanoseconds"
  std::string producer;                      // "Kineto", "Cuspy", "Chrome JSON"
  std::vector<std::string> device_names;     // by id, from "deviceProperties"
  bool annotated = false;                    // "cudaGraphInlineAnnotated": true
  std::optional<std::string> graphtag_json;  // the "graphtag" object's text
  bool bare_array = false;

  // Of formats whose reader knows names itself, beside the text of the events: the table that Event::annotation counts in, which grows
  // while the trace is read, and all keys in it ("graphtag.path" too). Null for formats that know none.
  std::shared_ptr<const AnnotationTable> annotations;
  std::vector<std::string> annotation_keys;
  std::uint64_t unlisted_keys = 0;  // how often a further key was met where there are more than are listed
};

// One pass over a trace. The first error that a callback returns ends the reading with it.
class EventVisitor {
 public:
  virtual ~EventVisitor() = default;
  // A top-level member other than the events: key without quotes as written, value as written. `after_events`: it stood behind
  // them.
  virtual Result<void> on_member(std::string_view key, std::string_view value, bool after_events) {
    (void)key, (void)value, (void)after_events;
    return {};
  }
  // Before the first event; `info` has what the members before the events told. Called also if there are no events.
  virtual Result<void> on_events_begin(const TraceInfo& info) {
    (void)info;
    return {};
  }
  virtual Result<void> on_event(const Event& event) = 0;
};

}  // namespace graphtag
