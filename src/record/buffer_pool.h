// The buffers that CUPTI fills: all taken at the beginning, handed over and back without a lock.
//
//   slot   free ── give() ──▶ given ── take() ──▶ full ── the writer reads it ──▶ free
//
// give() and take() run inside CUDA calls of the program, take_full() and release() on the writer's thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "driver/activity.h"
#include "record/wake.h"

namespace graphtag {

class BufferPool final : public ActivityBuffers {
 public:
  struct Full {
    std::uint8_t* bytes = nullptr;
    std::size_t valid_bytes = 0;
    std::uint64_t order = 0;  // in which they came
    std::uint32_t slot = 0;
  };

  explicit BufferPool(Wake& wake) : wake_(&wake) {}
  ~BufferPool();
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

  // Once, before anything else. False: there is no memory for them.
  bool reserve(std::uint32_t count, std::uint32_t bytes) noexcept;

  std::uint8_t* give(std::size_t& bytes) noexcept override;
  // A buffer that is none of these, or was not given, is passed over.
  void take(std::uint8_t* buffer, std::size_t valid_bytes) noexcept override;

  // Those that are full, in the order in which they came. `full` must have room for all of them.
  void take_full(std::vector<Full>& full) noexcept;
  void release(const Full& full) noexcept;

  std::uint32_t count() const noexcept { return count_; }
  std::uint32_t given() const noexcept;  // now
  // Whether a buffer was refused since the last call.
  bool was_starved() noexcept { return starved_.exchange(false, std::memory_order_relaxed); }
  std::uint64_t refused() const noexcept { return refused_.load(std::memory_order_relaxed); }

 private:
  enum class SlotState : std::uint8_t { free, given, full };
  struct Slot {
    std::atomic<SlotState> state{SlotState::free};
    std::uint8_t* bytes = nullptr;
    std::size_t valid_bytes = 0;  // of whoever has the slot
    std::uint64_t order = 0;      // likewise
  };

  Wake* wake_;
  std::unique_ptr<Slot[]> slots_;
  std::uint32_t count_ = 0;
  std::uint32_t bytes_ = 0;
  std::atomic<std::uint32_t> next_{0};  // where give() looks first
  std::atomic<std::uint64_t> last_order_{0};
  std::atomic<std::uint64_t> refused_{0};
  std::atomic<bool> starved_{false};
};

}  // namespace graphtag
