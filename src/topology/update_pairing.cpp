#include "topology/update_pairing.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>

namespace graphtag {
namespace {

// The live nodes of two graphs of one shape, the k-th of one beside the k-th of the other.
class Twins {
 public:
  Twins(const GraphShape& from, const GraphShape& to) : from_(&from), to_(&to) {
    std::uint64_t index = 0;
    for (const IdRange& range : from.live) {
      from_starts_.push_back(index);
      index += range.count;
    }
    index = 0;
    for (const IdRange& range : to.live) {
      to_starts_.push_back(index);
      index += range.count;
    }
  }

  std::optional<NodeId> twin_of(LocalId local) const {
    auto range = std::upper_bound(from_->live.begin(), from_->live.end(), local,
                                  [](LocalId id, const IdRange& candidate) { return id < candidate.first; });
    if (range == from_->live.begin()) return std::nullopt;
    --range;
    const std::uint32_t offset = local.value - range->first.value;
    if (offset >= range->count) return std::nullopt;
    const std::uint64_t index = from_starts_[static_cast<std::size_t>(range - from_->live.begin())] + offset;
    const auto start = std::upper_bound(to_starts_.begin(), to_starts_.end(), index) - 1;
    const IdRange& target = to_->live[static_cast<std::size_t>(start - to_starts_.begin())];
    return NodeId{to_->id, {target.first.value + static_cast<std::uint32_t>(index - *start)}};
  }

 private:
  const GraphShape* from_;
  const GraphShape* to_;
  std::vector<std::uint64_t> from_starts_, to_starts_;  // range of live -> how many live nodes come before it
};

using TwinMap = boost::unordered_flat_map<std::uint32_t, Twins>;  // graph id in the old shape -> its twin

// False if the shapes differ, a body is not known, or a graph is met twice.
bool match(const GraphShape& from, const GraphShape& to, TwinMap& twins) {
  if (from.node_count() != to.node_count() || from.holders.size() != to.holders.size()) return false;
  const auto [entry, fresh] = twins.try_emplace(from.id.value, from, to);
  if (!fresh) return false;
  const Twins own = entry->second;
  for (std::size_t i = 0; i < from.holders.size(); ++i) {
    const GraphShape::Holder& left = from.holders[i];
    const GraphShape::Holder& right = to.holders[i];
    if (!left.bodies_known || !right.bodies_known || left.conditional != right.conditional ||
        left.bodies.size() != right.bodies.size() || own.twin_of(left.node) != NodeId{to.id, right.node}) {
      return false;
    }
    for (std::size_t body = 0; body < left.bodies.size(); ++body) {
      if (!match(left.bodies[body], right.bodies[body], twins)) return false;
    }
  }
  return true;
}

}  // namespace

std::optional<std::vector<NodePairs>> pair_for_update(const GraphShape& built_from, const std::vector<NodePairs>& nested,
                                                      const GraphShape& updated) {
  TwinMap twins;
  if (!match(built_from, updated, twins)) return std::nullopt;

  std::vector<NodePairs> pairs;
  const auto append = [&](LocalId first, NodeId source, std::uint32_t count) {
    const auto found = twins.find(source.graph().value);
    if (found == twins.end()) return false;
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::optional<NodeId> twin = found->second.twin_of({source.local().value + i});
      if (!twin) return false;
      append_pairs(pairs, {first.value + i}, *twin);
    }
    return true;
  };
  for (const IdRange& range : built_from.live) {
    if (!append(range.first, {built_from.id, range.first}, range.count)) return std::nullopt;
  }
  for (const NodePairs& entry : nested) {
    if (!append(entry.first, entry.source, entry.count)) return std::nullopt;
  }
  return pairs;
}

}  // namespace graphtag
