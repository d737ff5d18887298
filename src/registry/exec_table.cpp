#include "registry/exec_table.h"

#include <algorithm>
#include <utility>

namespace graphtag {

ExecTable::ExecTable(GraphId id, ExecBasis basis, std::int64_t created_ns, Ledger& ledger)
    : id_(id), created_ns_(created_ns), basis_(std::move(basis)), accounted_(ledger, bytes()) {}

ExecBasis ExecTable::replace_basis(ExecBasis basis) {
  const std::lock_guard lock(mutex_);
  std::swap(basis_, basis);
  overrides_.clear();
  accounted_.update(bytes());
  return basis;
}

bool ExecTable::update(std::span<const Override> changes) {
  const std::lock_guard lock(mutex_);
  if (!open_) return false;
  std::vector<Override> merged;
  merged.reserve(overrides_.size() + changes.size());
  auto old = overrides_.cbegin();
  for (const Override& change : changes) {
    while (old != overrides_.cend() && old->first < change.first) merged.push_back(*old++);
    if (old != overrides_.cend() && old->first == change.first) ++old;
    const Tag basis = basis_at(change.first);
    const bool says_nothing_new =
        change.tag.annotation() == basis.annotation() && !(is_guess(change.tag.origin()) && is_sure(basis.origin()));
    if (!says_nothing_new) merged.push_back(change);
  }
  merged.insert(merged.end(), old, overrides_.cend());
  overrides_ = std::move(merged);
  accounted_.update(bytes());
  return true;
}

Tag ExecTable::at(LocalId node) const {
  const std::lock_guard lock(mutex_);
  const auto found = std::lower_bound(overrides_.begin(), overrides_.end(), node.value,
                                      [](const Override& entry, std::uint32_t id) { return entry.first < id; });
  return found != overrides_.end() && found->first == node.value ? found->tag : basis_at(node.value);
}

Tag ExecTable::basis_at(std::uint32_t id) const {
  if (id < basis_.template_ids) return basis_.built_from ? basis_.built_from->at({id}) : Tag{Origin::unknown_graph};
  return id < basis_.placement.end() ? basis_.placement.at(id) : Tag{Origin::unlinked_body};
}

std::uint32_t ExecTable::known_end() const {
  const std::lock_guard lock(mutex_);
  const std::uint32_t top_level = basis_.built_from ? std::min(basis_.template_ids, basis_.built_from->next_local_id()) : 0;
  const std::uint32_t overridden = overrides_.empty() ? 0 : overrides_.back().first + 1;
  return std::max({top_level, basis_.placement.end(), overridden});
}

std::shared_ptr<GraphLog> ExecTable::built_from() const {
  const std::lock_guard lock(mutex_);
  return basis_.built_from;
}

std::optional<std::int64_t> ExecTable::destroyed_ns() const {
  const std::lock_guard lock(mutex_);
  return destroyed_ns_;
}

std::size_t ExecTable::run_count() const {
  const std::lock_guard lock(mutex_);
  return basis_.placement.entries().size() + overrides_.size();
}

ExecTable::Facts ExecTable::facts() const {
  const std::lock_guard lock(mutex_);
  return {basis_, overrides_, created_ns_, destroyed_ns_};
}

bool ExecTable::close(std::optional<std::int64_t> time_ns) {
  const std::lock_guard lock(mutex_);
  destroyed_ns_ = open_ ? time_ns : destroyed_ns_;
  return std::exchange(open_, false);
}

bool ExecTable::is_open() const {
  const std::lock_guard lock(mutex_);
  return open_;
}

std::size_t ExecTable::freeze() {
  const std::lock_guard lock(mutex_);
  return accounted_.freeze();
}

bool ExecTable::is_frozen() const {
  const std::lock_guard lock(mutex_);
  return accounted_.frozen();
}

std::size_t ExecTable::bytes() const {
  return sizeof(ExecTable) + basis_.placement.bytes() + overrides_.capacity() * sizeof(Override);
}

}  // namespace graphtag
