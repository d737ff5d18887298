// Events with their names, one pass: what the trace writers consume.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "join/annotation_set.h"
#include "trace/reader.h"

namespace graphtag {

enum class Lanes : std::uint8_t {
  none,  // nothing moves
  all,   // graphed work moves to the stream its annotation asks for, the rest of it to the default stream
};

// How much of the graphed work has a name, over all GPU records in a graph.
struct Coverage {
  std::uint64_t records = 0;  // in a graph
  std::uint64_t named = 0;
  std::int64_t sum_ns = 0;  // their durations
  std::int64_t named_sum_ns = 0;
  std::map<Origin, std::uint64_t> unnamed;  // reason -> records
  std::uint64_t outside_graphs = 0;         // GPU records outside graphs
};

// The fixed facts of an annotated trace, known before its first event.
struct AnnotatedTrace {
  const TraceInfo* info = nullptr;
  const AnnotationSet* annotations = nullptr;
  Lanes lanes = Lanes::none;
  std::int64_t default_stream = 7;
};

struct NamedEvent {
  const Event& event;
  AnnotationId annotation = AnnotationId::none;  // GPU operations; its id in AnnotatedTrace::annotations
  Origin origin = Origin::no_node_id;            // its provenance, or the reason why there is none
  std::optional<std::int64_t> lane;              // a GPU operation or flow end that moves: the stream it is shown on
};

// A lane that no stream of the trace had: shown under the device of the first event that moved to it.
struct NewLane {
  std::string pid;  // token of the process (device) as in the events
  std::int64_t stream = 0;
  std::string name;           // "Process Group Description" of an annotation that asked for it, else "stream N"
  std::int64_t first_ns = 0;  // start of its first event
};

class NamedEventConsumer {
 public:
  virtual ~NamedEventConsumer() = default;
  virtual Result<void> begin(const AnnotatedTrace& trace) = 0;
  // A top-level member, as EventVisitor::on_member. Those before the events come before begin().
  virtual Result<void> member(std::string_view key, std::string_view value, bool after_events) = 0;
  virtual Result<void> event(const NamedEvent& named) = 0;
  // Once, at the end, after all events and members.
  virtual Result<void> finish(const std::vector<NewLane>& new_lanes, const Coverage& coverage, const ReadResult& read) = 0;
};

struct AnnotateOptions {
  Lanes lanes = Lanes::none;
  std::int64_t default_stream = 7;
  Fit fit = Fit::strict;
  bool force = false;  // annotate what is annotated already; use files that do not fit
  ReadOptions read;
};

struct AnnotateOutcome {
  ReadResult read;
  Coverage coverage;
  std::vector<std::string> passed_over;  // annotation files of a folder that do not fit
  std::vector<std::string> warnings;     // "no node id of the trace is in the annotations: ..."
  std::uint64_t dropped_slices = 0;      // gpu_user_annotation slices left out, on lanes that lost all their work
};

// Streams `trace_path` through `consumer`. Lanes::all reads it twice. Errors (invalid_argument): a file named by itself does not fit; the trace is
// annotated already, with other inputs or lanes; Lanes::all without annotations.
Result<AnnotateOutcome> annotate_trace(const std::string& trace_path, const std::vector<AnnotationSource>& sources,
                                       const AnnotateOptions& options, NamedEventConsumer& consumer);

}  // namespace graphtag
