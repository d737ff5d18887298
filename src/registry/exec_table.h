// One exec graph: its template, where it put the nested nodes, and what updates changed.
//
//   template_ids 5     ids 0..4: as in the template's log, which is shared
//   placement          (0, gap) (5, a) (7, b)   end 9
//   overrides          (3, c) (8, d)            each for its one id
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "model/ids.h"
#include "registry/graph_log.h"
#include "registry/ledger.h"
#include "registry/run_list.h"
#include "registry/tag.h"

namespace graphtag {

// What an exec graph was made from.
struct ExecBasis {
  std::shared_ptr<GraphLog> built_from;  // the template; null: not known
  std::uint32_t template_ids = std::numeric_limits<std::uint32_t>::max();
  RunList placement;  // of nested nodes, by exec-local id; a gap below them
};

class ExecTable {
 public:
  using Override = RunList::Entry;

  ExecTable(GraphId id, ExecBasis basis, std::int64_t created_ns, Ledger& ledger);

  GraphId id() const { return id_; }

  // Replaces the basis, drops overrides, and returns the old basis.
  ExecBasis replace_basis(ExecBasis basis);
  // Changes, ascending by id, at most one an id. One that has the annotation that the id has anyway, and is
  // no guess where the id's is sure, takes its override away.
  // False once the exec graph is closed. May throw std::bad_alloc, and has done nothing then.
  bool update(std::span<const Override> changes);

  Tag at(LocalId node) const;
  // One past the last id of which anything is known.
  std::uint32_t known_end() const;
  std::shared_ptr<GraphLog> built_from() const;
  std::optional<std::int64_t> destroyed_ns() const;
  std::size_t run_count() const;
  // Everything, as it was at one moment. May throw std::bad_alloc.
  struct Facts {
    ExecBasis basis;
    std::vector<Override> overrides;
    std::int64_t created_ns;
    std::optional<std::int64_t> destroyed_ns;
  };
  Facts facts() const;

  // As GraphLog's.
  bool close(std::optional<std::int64_t> time_ns);
  bool is_open() const;
  std::size_t freeze();
  bool is_frozen() const;

 private:
  Tag basis_at(std::uint32_t id) const;
  std::size_t bytes() const;

  const GraphId id_;
  const std::int64_t created_ns_;
  mutable std::mutex mutex_;  // guards what follows; taken before the template's
  ExecBasis basis_;
  std::vector<Override> overrides_;  // ascending by id
  std::optional<std::int64_t> destroyed_ns_;
  bool open_ = true;
  AccountedBytes accounted_;
};

}  // namespace graphtag
