// id -> shared object, for many threads: in shards, each with its lock, so that threads seldom meet.
#pragma once

#include <algorithm>
#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "model/ids.h"

namespace graphtag {

// T has id().
template <typename T>
class IdMap {
 public:
  std::shared_ptr<T> find(GraphId id) const {
    const Shard& shard = shard_of(id);
    const std::lock_guard lock(shard.mutex);
    const auto found = shard.objects.find(id.value);
    return found == shard.objects.end() ? nullptr : found->second;
  }

  // The object of `id`; if there is none, the one that make() returns (called under the shard's lock).
  template <typename Make>
  std::shared_ptr<T> find_or_insert(GraphId id, Make make) {
    Shard& shard = shard_of(id);
    const std::lock_guard lock(shard.mutex);
    const auto found = shard.objects.find(id.value);
    if (found != shard.objects.end()) return found->second;
    std::shared_ptr<T> object = make();
    shard.objects.emplace(id.value, object);
    return object;
  }

  std::shared_ptr<T> erase(GraphId id) {
    Shard& shard = shard_of(id);
    const std::lock_guard lock(shard.mutex);
    const auto found = shard.objects.find(id.value);
    if (found == shard.objects.end()) return nullptr;
    std::shared_ptr<T> object = std::move(found->second);
    shard.objects.erase(found);
    return object;
  }

  // All objects, ascending by id.
  std::vector<std::shared_ptr<T>> all() const {
    std::vector<std::shared_ptr<T>> objects;
    for (const Shard& shard : shards_) {
      const std::lock_guard lock(shard.mutex);
      for (const auto& entry : shard.objects) objects.push_back(entry.second);
    }
    std::sort(objects.begin(), objects.end(), [](const auto& a, const auto& b) { return a->id() < b->id(); });
    return objects;
  }

 private:
  struct alignas(64) Shard {
    mutable std::mutex mutex;
    boost::unordered_flat_map<std::uint32_t, std::shared_ptr<T>> objects;  // id -> object; guarded by mutex
  };
  static constexpr std::size_t kShards = 32;

  Shard& shard_of(GraphId id) { return shards_[mix_bits(id.value) % kShards]; }
  const Shard& shard_of(GraphId id) const { return shards_[mix_bits(id.value) % kShards]; }

  std::array<Shard, kShards> shards_;
};

}  // namespace graphtag
