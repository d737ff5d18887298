// One template graph: what was open when each of its nodes was created, which graphs its nodes hold, and which node holds it.
//
// The tail, one atomic word, is (next local id, tag of the last node). The next node with the same tag moves it by a
// compare-and-swap and touches nothing else; everything else is done under the graph's own lock, which also moves the tail:
//
//   runs (0, a) (4, b)   tail (6, b)      node 6 with b:  tail (7, b), runs unchanged
//                                         node 6 with c:  lock; tail (7, c), runs (0, a) (4, b) (6, c)
//                                         node 9 with b:  lock; tail (10, b), runs (0, a) (4, b) (6, gap) (9, b)
//                                         node 2 with b:  lock; runs (0, a) (2, b) (3, a) (4, b)
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/json.h"
#include "model/annotation_file.h"
#include "model/ids.h"
#include "registry/ledger.h"
#include "registry/registry.h"
#include "registry/run_list.h"
#include "registry/tag.h"

namespace graphtag {

// Ids [first, end) have `tag`.
struct TagSpan {
  std::uint32_t first;
  std::uint32_t end;
  Tag tag;
};

class GraphLog {
 public:
  GraphLog(GraphId id, Ledger& ledger);

  GraphId id() const { return id_; }
  // False once the graph was destroyed or forgotten. Without a lock.
  bool is_open() const { return open_.load(std::memory_order_relaxed); }

  // Whether an exec graph was ever made from it. Without a lock.
  bool is_instantiated() const { return instantiated_.load(std::memory_order_relaxed); }
  void mark_instantiated() { instantiated_.store(true, std::memory_order_relaxed); }

  // Takes the graph's next node if its tag is that of the last one; false if it is not, and nothing was done. Without a lock.
  bool append(LocalId node, Tag tag) noexcept;
  // Nodes first, first + 1, ..., first + count - 1 have `tag`; first + count must fit 32 bits. False if the graph is no longer
  // open. May throw std::bad_alloc, and has done nothing then.
  bool record(LocalId first, std::uint32_t count, Tag tag);

  void mark_created(std::int64_t time_ns);
  void set_node_counts(const NodeCounts& own);
  // False if the graph was retired. May throw std::bad_alloc.
  bool set_label(const Json& label);
  // Adds or replaces what `link.holder` holds as number `link.index`; returns what it held before. May throw std::bad_alloc.
  std::optional<GraphId> link(const Registry::Link& link);
  // Takes every link to `held` away.
  void unlink(GraphId held);
  void set_holder(std::optional<NodeId> holder);

  Tag at(LocalId node) const;
  // The tags of [first, first + count), also of those that were never reported. May throw std::bad_alloc.
  std::vector<TagSpan> spans(std::uint32_t first, std::uint32_t count) const;
  std::uint32_t next_local_id() const;
  // Whether a node was ever reported, or the graph's creation.
  bool is_observed() const;
  std::vector<Registry::Link> links() const;
  std::optional<NodeId> holder() const;
  std::size_t run_count() const;
  // Everything, as it was at one moment. May throw std::bad_alloc.
  struct Facts {
    std::vector<TagSpan> spans;  // of all ids; the last one, of those not reported, ends at 2^32 - 1
    std::vector<Registry::Link> links;
    std::optional<NodeCounts> node_counts;
    std::shared_ptr<const Json> label;  // null: none
    std::optional<std::int64_t> created_ns, destroyed_ns;
  };
  Facts facts() const;

  // No more nodes. `time_ns`: when the graph was destroyed; nothing when it is forgotten. False if it was closed already.
  bool close(std::optional<std::int64_t> time_ns);
  // Takes the log out of the ledger's live bytes and returns its size in bytes.
  std::size_t freeze();
  bool is_frozen() const;

  // Live exec graphs made from this graph. Guarded by the registry's lifecycle lock.
  std::uint32_t live_execs = 0;

 private:
  std::vector<TagSpan> spans_locked(std::uint32_t first, std::uint32_t end) const;
  std::size_t bytes() const;
  Tag unreported() const;  // the tag of ids from the tail on

  const GraphId id_;
  std::atomic<bool> open_{true};
  std::atomic<bool> instantiated_{false};
  std::atomic<std::uint64_t> tail_;  // next local id << 32 | bits of the last node's tag

  mutable std::mutex mutex_;           // guards what follows
  RunList runs_;                       // its end lags behind the tail's next local id
  std::vector<Registry::Link> links_;  // ascending by holder and index
  std::optional<NodeId> holder_;
  std::optional<NodeCounts> node_counts_;
  std::shared_ptr<const Json> label_;
  std::size_t label_bytes_ = 0;
  std::optional<std::int64_t> created_ns_, destroyed_ns_;
  AccountedBytes accounted_;
};

}  // namespace graphtag
