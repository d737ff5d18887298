// What was remembered at capture, as one file a process: schema graphtag.annotations/1 (docs/annotation-file.md), or a pickle or
// JSON file of torch.cuda.graph_annotations.
//
// Runs say which annotation the nodes of a graph have, by local id, each run up to the next one's first:
//
//   runs   (0, a) (4, none) (6, b)          local ids 0..3 have a; 4, 5 nothing; 6 and above b
//
// Top-level nodes keep their local ids in an exec graph, so all exec graphs of a template share its runs. Nested nodes (child
// graphs, conditional bodies) are renumbered in each exec graph: `placement` holds runs over those ids.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "model/annotation.h"
#include "model/ids.h"

namespace graphtag {

// How an annotation came to its node, or why there is none. The first five are provenances, the rest reasons; spelled in files
// and reports as in to_string ("boundary-approximate").
enum class Origin : std::uint8_t {
  callback,
  boundary,
  boundary_approximate,
  modelled,
  updated,
  outside_scope,
  outside_scope_approximate,
  captured_before_start,
  unlinked_body,
  stale_id,
  unknown_graph,
  no_node_id,
  no_annotations,     // reports only: there was no annotation file
  graph_level_trace,  // reports only: the trace has one record a replay
};
std::string_view to_string(Origin origin);
std::optional<Origin> origin_from_string(std::string_view text);
constexpr bool is_provenance(Origin origin) {
  return origin <= Origin::updated;
}

struct Run {
  LocalId first;
  AnnotationId annotation = AnnotationId::none;
  Origin origin = Origin::callback;  // a reason where annotation is none
  bool operator==(const Run&) const = default;
};

// Nodes that make GPU records when they run.
struct NodeCounts {
  std::uint32_t kernels = 0;
  std::uint32_t memcpys = 0;
  std::uint32_t memsets = 0;
  std::uint32_t total() const { return kernels + memcpys + memsets; }
  bool operator==(const NodeCounts&) const = default;
};

struct GraphRecord {
  GraphId id;
  std::shared_ptr<const Json>
      label;  // any JSON, such as a batch size; null pointer: none (shared: never changes, and Json is only declared here)
  std::vector<Run> runs;                                 // ascending by first
  std::optional<NodeCounts> nodes;                       // child graphs' included; nothing where the file does not say
  NodeCounts body_nodes;                                 // of conditional bodies, which may not run
  std::optional<std::int64_t> created_ns, destroyed_ns;  // Unix time
};

struct ExecRecord {
  GraphId id;
  GraphId template_graph;      // 0: not known
  std::vector<Run> placement;  // over the ids of nested nodes; ascending
  std::vector<Run> overrides;  // single nodes whose annotation an update changed; ascending, each for its one id
  std::uint32_t template_ids =
      0xffffffff;  // ids below this are top-level nodes (runs of the template); from here on placement alone
  std::optional<std::int64_t> created_ns, destroyed_ns;
};

// Who wrote the file. Empty or absent where not known.
struct Producer {
  std::string tool;  // "graphtag 0.1.0", "torch.cuda.graph_annotations"
  std::string host;
  std::optional<std::int64_t> pid, rank;
  std::vector<std::string> device_uuids;
  std::optional<std::int64_t> driver_version, cupti_version;
  std::string cupti_path;
  std::string observer;                                       // "callback", "boundary"
  std::optional<std::int64_t> clock_unix_ns, clock_cupti_ns;  // one instant on both clocks
  std::map<std::string, std::uint64_t> counts;                // what the observer counted, such as "dropped_graphs" -> 3
};

struct Resolution {
  AnnotationId annotation = AnnotationId::none;
  Origin origin = Origin::unknown_graph;
};

// Move-only. The ids of `annotations` are this file's own.
class AnnotationFile {
 public:
  std::string path;    // as given by the user; for errors and reports
  std::string format;  // "graphtag.annotations/1", "torch pickle", "torch json"
  Producer producer;
  AnnotationTable annotations;
  std::vector<GraphRecord> graphs;  // ascending by id
  std::vector<ExecRecord> execs;    // ascending by id
  std::vector<std::string> notes;   // what was passed over while reading, in words

  const GraphRecord* find_graph(GraphId id) const;
  const ExecRecord* find_exec(GraphId id) const;
  // What a record with this node id is to be called. Ids of template graphs resolve too.
  Resolution resolve(NodeId id) const;
  // The template's record for an exec graph's id, the graph's own for a graph's id; null if unknown.
  const GraphRecord* graph_of(GraphId id) const;
};

// Reads any of the known formats, told apart by content. Bounds: 256 MiB, nesting 64, strings must be UTF-8. Errors name the
// file, the offset where there is one, and for a pickle the opcode.
Result<AnnotationFile> read_annotation_file(const std::string& path);
Result<AnnotationFile> parse_annotation_file(std::string_view content, const std::string& path);
// Of a file's first bytes.
bool begins_like_a_pickle(std::string_view content);

// The text of `file` in schema graphtag.annotations/1: parse(write(f)) equals f.
std::string write_annotation_file(const AnnotationFile& file);

}  // namespace graphtag
