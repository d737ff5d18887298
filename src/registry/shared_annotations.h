// The process's table of annotations, for many threads: one lock, which a thread takes only for what it has not met before.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "model/annotation.h"
#include "registry/ledger.h"
#include "registry/thread_cache.h"

namespace graphtag {

class SharedAnnotations {
 public:
  // New entries are refused once their texts take more than `limit_bytes`.
  SharedAnnotations(std::size_t limit_bytes, Ledger& ledger) : limit_bytes_(limit_bytes), ledger_(&ledger) {}

  // These may throw std::bad_alloc. `cache` may be null.
  Result<AnnotationId> intern(Json object);
  AnnotationId name(std::string_view name, ThreadCache* cache);
  AnnotationId merge(AnnotationId outer, AnnotationId inner, ThreadCache* cache);

  bool knows(AnnotationId id) const { return static_cast<std::uint32_t>(id) < size_.load(std::memory_order_acquire); }
  // The empty one for an id that was not given out. Valid as long as this.
  const Annotation& operator[](AnnotationId id) const;
  std::size_t size() const { return size_.load(std::memory_order_acquire); }
  std::size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  bool is_full() const;
  void account(AnnotationId id);  // if `id` is new

  const std::size_t limit_bytes_;
  Ledger* ledger_;
  mutable std::mutex mutex_;
  AnnotationTable table_;              // guarded by mutex_; what its references name never changes
  std::atomic<std::size_t> size_{1};   // of table_
  std::atomic<std::size_t> bytes_{0};  // of its texts, about; written under mutex_
};

}  // namespace graphtag
