// Ranges of the host on their way to the writer: copied into one of a few bounded buffers. A thread that finds one in use takes the next;
// where all are in use or full, the range is dropped and counted.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <vector>

#include "record/wake.h"

namespace graphtag {

struct HostRange {
  enum class Payload : std::uint8_t { none, unsigned_integer, integer, real };

  std::int64_t start_ns = 0, end_ns = 0;  // Unix time
  std::int64_t thread = 0;                // the operating system's id
  bool mark = false, overlaps = false, unfinished = false;
  Payload payload_type = Payload::none;
  std::uint64_t payload_bits = 0;
  std::string_view text, domain, category;
};

class RangeQueue {
 public:
  static constexpr std::size_t kTextBytes = 4096;  // of each text; what is longer is cut

  explicit RangeQueue(Wake& wake) : wake_(&wake) {}

  // Once, before anything else. May throw std::bad_alloc.
  void reserve();

  // Any thread; neither waits nor allocates.
  void push(const HostRange& range) noexcept;

  // On the writer's thread: hands each range to `take`, in the order in which each buffer got them.
  template <typename Take>
  void drain(Take take) {
    for (Shard& shard : shards_) {
      {
        const std::lock_guard lock(shard.mutex);
        shard.filling.swap(draining_);
      }
      std::size_t at = 0;
      while (at < draining_.size()) {
        HostRange range;
        at = read(at, range);
        take(range);
      }
      draining_.clear();
    }
  }

  std::uint64_t dropped() const noexcept { return dropped_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::size_t kShards = 8;
  static constexpr std::size_t kShardBytes = std::size_t{256} << 10;
  struct Shard {
    std::mutex mutex;  // of `filling`; held for a copy or a swap
    std::vector<char> filling;
  };

  // The end of the range at `at` in `draining_`.
  std::size_t read(std::size_t at, HostRange& range) const noexcept;

  Wake* wake_;
  std::array<Shard, kShards> shards_;
  std::vector<char> draining_;  // the writer's
  std::atomic<std::uint64_t> dropped_{0};
};

}  // namespace graphtag
