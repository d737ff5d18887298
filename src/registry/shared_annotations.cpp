#include "registry/shared_annotations.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "registry/tag.h"

namespace graphtag {
namespace {

constexpr std::size_t kMostAnnotations = std::size_t{1} << Tag::kAnnotationBits;

// Beside its JSON values an entry keeps the text it is found by.
std::size_t footprint(const Annotation& annotation) {
  std::size_t bytes = sizeof(Annotation) + 3 * dump_json(*annotation.object).size();
  for (const std::string& entry : annotation.path) bytes += sizeof(std::string) + 2 * entry.size();
  return bytes;
}

}  // namespace

bool SharedAnnotations::is_full() const {
  return bytes() >= limit_bytes_ || size() >= kMostAnnotations;
}

void SharedAnnotations::account(AnnotationId id) {
  if (static_cast<std::size_t>(id) < size()) return;
  bytes_.fetch_add(footprint(table_[id]), std::memory_order_relaxed);
  size_.store(table_.size(), std::memory_order_release);
}

Result<AnnotationId> SharedAnnotations::intern(Json object) {
  const std::lock_guard lock(mutex_);
  if (is_full()) {
    const Result<std::optional<AnnotationId>> known = table_.find(std::move(object));
    if (!known) return known.error();
    if (*known) return **known;
    count_one(ledger_->lost);
    return Error{ErrorCode::too_large,
                 "the distinct annotations take more than " + std::to_string(limit_bytes_) +
                     " bytes; put what differs every time (step numbers, times) elsewhere",
                 {},
                 {}};
  }
  Result<AnnotationId> id = table_.intern(std::move(object));
  if (id) account(*id);
  return id;
}

AnnotationId SharedAnnotations::name(std::string_view name, ThreadCache* cache) {
  if (cache != nullptr) {
    const auto known = cache->names.find(name);
    if (known != cache->names.end()) return known->second;
  }
  Json object = Json::object();
  object["name"] = std::string(name);
  const Result<AnnotationId> id = intern(std::move(object));
  if (!id) return AnnotationId::none;
  if (cache != nullptr) {
    if (cache->names.size() >= kThreadCacheEntries) cache->names.clear();
    cache->names.emplace(std::string(name), *id);
  }
  return *id;
}

AnnotationId SharedAnnotations::merge(AnnotationId outer, AnnotationId inner, ThreadCache* cache) {
  if (!knows(outer)) outer = AnnotationId::none;
  if (!knows(inner)) inner = AnnotationId::none;
  if (outer == AnnotationId::none || outer == inner) return inner;
  if (inner == AnnotationId::none) return outer;
  const std::uint64_t pair = std::uint64_t{static_cast<std::uint32_t>(outer)} << 32 | static_cast<std::uint32_t>(inner);
  if (cache != nullptr) {
    const auto known = cache->merged.find(pair);
    if (known != cache->merged.end()) return known->second;
  }
  AnnotationId merged = AnnotationId::none;
  {
    const std::lock_guard lock(mutex_);
    if (is_full()) {
      const std::optional<AnnotationId> known = table_.find_merged(outer, inner);
      if (!known) {
        count_one(ledger_->lost);
        return AnnotationId::none;
      }
      merged = *known;
    } else {
      merged = table_.merge(outer, inner);
      account(merged);
    }
  }
  if (cache != nullptr) {
    if (cache->merged.size() >= kThreadCacheEntries) cache->merged.clear();
    cache->merged.emplace(pair, merged);
  }
  return merged;
}

const Annotation& SharedAnnotations::operator[](AnnotationId id) const {
  const std::lock_guard lock(mutex_);
  return table_[knows(id) ? id : AnnotationId::none];
}

}  // namespace graphtag
