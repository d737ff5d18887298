// What is known of every graph and exec graph of the process: which annotation each node got when it was created, and which
// node of which graph each node of an exec graph stands for. No CUDA, no clock and no threads of its own: capture/ reports
// what happened, and when.
//
//   graph 3   (0, decoder) (4, -) (6, head)   local ids 0..3 have "decoder", 4 and 5 nothing, 6 up to the last seen "head"
//   exec 4    template 3, template_ids 8      ids 0..7: the runs of graph 3, shared, not copied
//             placement (8, decoder.mlp)      nested nodes, as the exec graph numbers them
//             overrides (6, tail)             nodes that cudaGraphExecUpdate replaced
//
// Threads: every call may come from any thread at any time.
//
//   node_created   of the graph's next node with the annotation of its last: one compare-and-swap on the graph's own tail,
//                  found through a thread-local cache of graphs. No lock, no allocation, no counter shared by threads.
//                  Another annotation, or an id out of order (threads that add to one graph), takes that graph's lock.
//   merge          of a pair that this thread merged before: a look-up in a thread-local table. Else the table's lock.
//   the rest       (graphs coming and going, resolve, snapshot) takes short locks: of a shard, a graph, the retire list.
//
// After fork() the child must not touch its parent's registry (another thread may have held a lock): it makes a new one and
// leaks the old.
//
// Nothing here throws. What could not be kept (no memory, an id out of range, the bound on annotations) is counted as lost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "model/annotation.h"
#include "model/annotation_file.h"
#include "model/ids.h"
#include "topology/graph_shape.h"
#include "topology/node_pairs.h"

namespace graphtag {

struct RegistryLimits {
  // Tables of destroyed graphs and exec graphs; beyond it the oldest are dropped.
  std::size_t retired_bytes = std::size_t{256} << 20;
  // Tables of those not known to be destroyed; beyond it the ones with the lowest ids are dropped.
  std::size_t live_bytes = std::size_t{1} << 30;
  // Texts of distinct annotations, merged ones included, about; beyond it a new one becomes the empty annotation.
  std::size_t annotation_bytes = std::size_t{256} << 20;
};

struct RegistryCounters {
  std::uint64_t graphs = 0, execs = 0;                  // live
  std::uint64_t retired_graphs = 0, retired_execs = 0;  // destroyed, still resolvable
  std::uint64_t runs = 0;                               // of all of these: runs, placements and overrides
  std::uint64_t live_bytes = 0, retired_bytes = 0;      // their tables; without the annotations themselves
  std::uint64_t annotations = 0;                        // distinct ones, the empty one included
  std::uint64_t annotation_bytes = 0;                   // about
  std::uint64_t dropped = 0;                            // graphs and exec graphs dropped for a byte limit, so far
  std::uint64_t stale = 0;                              // answers of Origin::stale_id so far
  std::uint64_t late = 0;                               // nodes and exec graphs reported after their destruction, so far
  std::uint64_t lost = 0;                               // facts that could not be kept, so far
};

class Registry {
 public:
  explicit Registry(const RegistryLimits& limits = {});
  ~Registry();  // no other thread may be inside
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  // --- annotations ---

  // The id of a JSON object. Errors: not an object; nesting beyond 64; the bound on annotations is reached.
  Result<AnnotationId> annotation(Json object) noexcept;
  // The id of {"name": name}. A name that this thread asked for before is looked up without a lock.
  AnnotationId name(std::string_view name) noexcept;
  // `inner` laid over `outer`, as AnnotationTable::merge. An id that this registry did not give out counts as none.
  AnnotationId merge(AnnotationId outer, AnnotationId inner) noexcept;
  // Valid as long as the registry. An id that it did not give out is the empty annotation.
  const Annotation& operator[](AnnotationId id) const noexcept;
  bool knows(AnnotationId id) const noexcept;

  // --- template graphs; times are Unix time in ns ---

  // Nodes of a graph that was not reported by this (or graph_cloned) count as captured before the start, up to the first
  // one that is reported.
  void graph_created(GraphId graph, std::int64_t time_ns) noexcept;
  // A node exists; with AnnotationId::none it is outside every scope. Ids may come in any order, and one that is never
  // reported is never named. Reporting a node again replaces its annotation. `how`: callback, boundary or
  // boundary_approximate (ignored for none).
  void node_created(NodeId node, AnnotationId annotation, Origin how = Origin::callback) noexcept;
  // The same for `count` nodes in a row.
  void nodes_created(NodeId first, std::uint32_t count, AnnotationId annotation, Origin how) noexcept;
  // A node of a cloned graph gets what the node that it was cloned from has now. For a child graph that is what was open
  // when the child was built.
  void node_cloned(NodeId clone, NodeId original) noexcept;
  // A graph was cloned and nobody watched: each node of `clone` is taken for the node of `original` with its local id.
  void graph_cloned(GraphId clone, GraphId original, std::int64_t time_ns, Origin how = Origin::modelled) noexcept;

  // `holder` is a child-graph node that holds `child`, or a conditional node whose body number `index` is `body`. Linking
  // again replaces. A graph has one holder; a link that closes a circle is refused and counted as lost.
  void child_graph(NodeId holder, GraphId child) noexcept;
  void conditional_body(NodeId holder, std::uint32_t index, GraphId body) noexcept;
  struct Link {
    LocalId holder;
    std::uint32_t index = 0;  // of the body; 0 for a child graph
    bool conditional = false;
    GraphId held;
    bool operator==(const Link&) const = default;
  };
  // What the nodes of `graph` hold, ascending by holder, then by index.
  std::vector<Link> links(GraphId graph) const noexcept;

  // One past the highest local id reported for `graph`; nothing if the graph is not known.
  std::optional<std::uint32_t> next_local_id(GraphId graph) const noexcept;
  // How many of the graph's own nodes (not of graphs that it holds) make GPU records, once the driver could be asked.
  // Snapshots add up what is held.
  void set_node_counts(GraphId graph, const NodeCounts& own) noexcept;
  // Any JSON. The label of an exec graph is its template's. Errors: not_found.
  Result<void> set_label(GraphId graph_or_exec, const Json& label) noexcept;
  // The graph leaves the live view, and so do the graphs it holds. Exec graphs made from it go on resolving.
  void graph_destroyed(GraphId graph, std::int64_t time_ns) noexcept;

  // --- exec graphs ---

  // `template_ids`: ids below it are top-level nodes, numbered as in the template; nothing: next_local_id(template_graph).
  // `nested`: exec-local id -> node of a child graph or body in the template, as seen (`how`: callback) or as numbered by a
  // rule (modelled). Each gets its node's own annotation laid over those of the holders, outermost first, so link holders
  // before. Ids from `template_ids` on that are not in `nested` resolve as unlinked_body. Called again for a known exec
  // graph (a link made by hand), it replaces all but the creation time.
  void exec_created(GraphId exec, GraphId template_graph, std::int64_t time_ns, std::optional<std::uint32_t> template_ids = {},
                    std::span<const NodePairs> nested = {}, Origin how = Origin::callback) noexcept;
  // Nobody watched the instantiation: links what `shape` holds and numbers nested nodes as number_nested does. For drivers
  // on which that rule was checked.
  void exec_created_unwatched(GraphId exec, const GraphShape& shape, std::uint32_t next_local_id, std::int64_t time_ns) noexcept;
  // cudaGraphExecUpdate: exec-local id -> node of the new graph (or of a graph in it), as seen (`how`: updated) or as paired
  // by pair_for_update (modelled). A node whose annotation changes gets an override.
  void exec_updated(GraphId exec, std::span<const NodePairs> pairs, Origin how = Origin::updated) noexcept;
  // One node of an exec graph gets another annotation.
  void exec_node_updated(NodeId exec_node, AnnotationId annotation) noexcept;
  void exec_destroyed(GraphId exec, std::int64_t time_ns) noexcept;

  // --- reading ---

  // What a record with this node id is to be called. Ids of template graphs resolve too, a held graph's node with the
  // annotations of its holders (unless that graph was itself instantiated). With the record's start (Unix time), an exec graph destroyed before it answers stale_id.
  Resolution resolve(NodeId node, std::optional<std::int64_t> start_ns = {}) const noexcept;
  // Everything known, as a file's content; `producer` and `path` are left for the caller. `live_only` leaves out what was
  // destroyed. A graph in it whose nodes run inside others carries their annotations too. Errors: too_large (no memory).
  Result<AnnotationFile> snapshot(bool live_only = false) const noexcept;
  RegistryCounters counters() const noexcept;

  // --- bounds ---

  void set_retired_limit(std::size_t bytes) noexcept;
  // Drops everything, live and retired. Annotations stay, since open scopes hold their ids. Graphs that are being captured
  // start anew with their next node.
  void forget() noexcept;
  // Drops one exec graph, or one graph with the exec graphs made from it. An unknown id is no error.
  void forget(GraphId graph_or_exec) noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace graphtag
