#include "capture/scope_stack.h"

#include <algorithm>
#include <new>

namespace graphtag {

AnnotationId ThreadScopes::current_of(std::uint32_t owner, std::uint32_t epoch) const noexcept {
  if (owner_.load(std::memory_order_acquire) != owner) return AnnotationId::none;
  const std::uint64_t open = open_.load(std::memory_order_acquire);
  // The thread may have ended, and another one begun here, between the two.
  if (owner_.load(std::memory_order_acquire) != owner) return AnnotationId::none;
  return in_epoch(open, epoch);
}

bool ThreadScopes::take(std::uint32_t owner) noexcept {
  std::uint32_t nobody = 0;
  return owner_.compare_exchange_strong(nobody, owner, std::memory_order_acq_rel);
}

void ThreadScopes::give_back() noexcept {
  open_.store(0, std::memory_order_release);
  owner_.store(0, std::memory_order_release);
}

bool ScopeStack::push(Registry& registry, std::uint32_t epoch, AnnotationId annotation, std::uint64_t handle) noexcept {
  const Lock lock(held_);
  if (epoch_ != epoch) {
    entries_.clear();
    epoch_ = epoch;
  }
  const AnnotationId outer = entries_.empty() ? AnnotationId::none : entries_.back().merged;
  const AnnotationId merged = registry.merge(outer, annotation);
  try {
    entries_.push_back({handle, annotation, merged});
  } catch (const std::bad_alloc&) {
    return false;
  }
  published_->publish(epoch, merged);
  return true;
}

bool ScopeStack::pop(Registry& registry, std::uint32_t epoch) noexcept {
  return remove(registry, epoch, 0);
}

bool ScopeStack::remove(Registry& registry, std::uint32_t epoch, std::uint64_t handle) noexcept {
  const Lock lock(held_);
  if (epoch_ != epoch) return false;
  const std::optional<Ended> ended = end(registry, handle);
  if (ended) published_->publish(epoch_, ended->after);
  return ended.has_value();
}

bool ScopeStack::remove_elsewhere(Registry& registry, std::uint32_t epoch, std::uint64_t handle) noexcept {
  const Lock lock(held_);
  if (epoch_ != epoch) return false;
  const std::optional<Ended> ended = end(registry, handle);
  if (ended) published_->publish_instead(epoch_, ended->before, ended->after);
  return ended.has_value();
}

void ScopeStack::clear() noexcept {
  const Lock lock(held_);
  entries_.clear();
}

std::optional<ScopeStack::Ended> ScopeStack::end(Registry& registry, std::uint64_t handle) noexcept {
  const auto found = std::find_if(entries_.rbegin(), entries_.rend(), [&](const Entry& entry) { return entry.handle == handle; });
  if (found == entries_.rend()) return std::nullopt;
  const AnnotationId before = entries_.back().merged;
  auto inner = entries_.erase(std::next(found).base());
  AnnotationId merged = inner == entries_.begin() ? AnnotationId::none : std::prev(inner)->merged;
  for (; inner != entries_.end(); ++inner) {
    merged = registry.merge(merged, inner->annotation);
    inner->merged = merged;
  }
  return Ended{before, merged};
}

}  // namespace graphtag
