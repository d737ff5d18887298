// The inside of Registry, shared by the files that implement it.
//
// Locks, in the order in which they are taken: lifecycle, a shard of an id map, an exec graph, a graph, the annotation table.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "registry/exec_table.h"
#include "registry/graph_log.h"
#include "registry/id_map.h"
#include "registry/ledger.h"
#include "registry/registry.h"
#include "registry/retire_list.h"
#include "registry/shared_annotations.h"
#include "registry/thread_cache.h"

namespace graphtag {

struct Registry::State {
  explicit State(const RegistryLimits& given);

  ThreadCache* cache() const { return thread_cache(number); }
  // Runs `work`; counts a fact as lost if it throws.
  template <typename Work>
  void guarded(Work work) noexcept {
    try {
      work();
    } catch (...) {
      count_one(ledger.lost);
    }
  }

  Tag tag_of(AnnotationId annotation, Origin how) const;
  // The log of `id`, made if there is none. Null for id 0. Not with the lifecycle lock held.
  std::shared_ptr<GraphLog> graph(GraphId id);
  // The same through the thread's cache.
  std::shared_ptr<GraphLog> graph_of_thread(GraphId id);
  void record(NodeId first, std::uint32_t count, Tag tag);

  // `inner` laid over `outer`; where neither has an annotation, the reason is inner's.
  Tag laid_over(Tag outer, Tag inner);
  // What the nodes that hold a graph lay under its nodes, given the innermost of them; a reason if there is none.
  Tag holders_tag(std::optional<NodeId> holder);
  // The same for the graph's own node ids: nothing if exec graphs were made from it, whose records it serves.
  Tag shown_holders_tag(const GraphLog& graph);
  void link(NodeId holder, const Link& link);
  void link_held(const GraphShape& shape, int depth);

  RunList place(std::span<const NodePairs> nested, Origin how);
  void make_exec(GraphId exec, GraphId template_graph, std::int64_t time_ns, std::optional<std::uint32_t> template_ids,
                 std::span<const NodePairs> nested, Origin how);

  // With the lifecycle lock held.
  void release_template(const std::shared_ptr<GraphLog>& built_from);
  template <typename Table>
  void retire(Table& table, bool is_exec);
  void drop_retired();
  // Takes a graph out of the map and out of all links, so that none can lead to another graph's log of that id.
  std::shared_ptr<GraphLog> erase_graph(GraphId id);
  void forget_locked(GraphId id);

  // Drops those with the lowest ids while the live tables are beyond their limit.
  void bound_live_bytes();

  const std::uint64_t number;  // of this registry in the process: what thread caches know it by
  const std::size_t live_limit_bytes;
  mutable Ledger ledger;
  SharedAnnotations annotations;
  IdMap<GraphLog> graphs;
  IdMap<ExecTable> execs;

  mutable std::mutex lifecycle;  // serialises links, creations and destructions; guards what follows and GraphLog::live_execs
  RetireList retired;
  std::size_t retired_limit_bytes;
};

}  // namespace graphtag
