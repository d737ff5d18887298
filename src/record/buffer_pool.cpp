#include "record/buffer_pool.h"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace graphtag {

namespace {
constexpr std::size_t kAlignment = 64;
}

BufferPool::~BufferPool() {
  for (std::uint32_t i = 0; i < count_; ++i) {
    // What CUPTI (or a tool that took its place) still has is left to it.
    if (slots_[i].state.load() != SlotState::given) std::free(slots_[i].bytes);
  }
}

bool BufferPool::reserve(std::uint32_t count, std::uint32_t bytes) noexcept {
  slots_.reset(new (std::nothrow) Slot[count]);
  if (!slots_) return false;
  bytes_ = bytes;
  for (; count_ < count; ++count_) {
    // One block each, by malloc: another tool to which CUPTI gives such a buffer will free it so.
    const std::size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    slots_[count_].bytes = static_cast<std::uint8_t*>(std::aligned_alloc(kAlignment, rounded));
    if (slots_[count_].bytes == nullptr) return false;
  }
  return true;
}

std::uint8_t* BufferPool::give(std::size_t& bytes) noexcept {
  const std::uint32_t first = next_.load(std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < count_; ++i) {
    const std::uint32_t index = (first + i) % count_;
    Slot& slot = slots_[index];
    auto expected = SlotState::free;
    if (slot.state.load(std::memory_order_relaxed) != expected ||
        !slot.state.compare_exchange_strong(expected, SlotState::given, std::memory_order_acquire, std::memory_order_relaxed)) {
      continue;
    }
    // The same ones again where that is enough: untouched memory costs nothing.
    next_.store(index, std::memory_order_relaxed);
    bytes = bytes_;
    return slot.bytes;
  }
  refused_.fetch_add(1, std::memory_order_relaxed);
  // CUPTI asks again for each record that it drops: once is enough.
  if (!starved_.load(std::memory_order_relaxed) && !starved_.exchange(true, std::memory_order_relaxed)) wake_->signal();
  bytes = 0;
  return nullptr;
}

void BufferPool::take(std::uint8_t* buffer, std::size_t valid_bytes) noexcept {
  for (std::uint32_t i = 0; i < count_; ++i) {
    Slot& slot = slots_[i];
    if (slot.bytes != buffer) continue;
    if (slot.state.load(std::memory_order_relaxed) != SlotState::given) return;
    slot.valid_bytes = std::min<std::size_t>(valid_bytes, bytes_);
    slot.order = last_order_.fetch_add(1, std::memory_order_relaxed) + 1;
    slot.state.store(SlotState::full, std::memory_order_release);
    wake_->signal();
    return;
  }
}

void BufferPool::take_full(std::vector<Full>& full) noexcept {
  full.clear();
  for (std::uint32_t i = 0; i < count_; ++i) {
    const Slot& slot = slots_[i];
    if (slot.state.load(std::memory_order_acquire) == SlotState::full)
      full.push_back({slot.bytes, slot.valid_bytes, slot.order, i});
  }
  std::sort(full.begin(), full.end(), [](const Full& a, const Full& b) { return a.order < b.order; });
}

void BufferPool::release(const Full& full) noexcept {
  slots_[full.slot].state.store(SlotState::free, std::memory_order_release);
}

std::uint32_t BufferPool::given() const noexcept {
  std::uint32_t count = 0;
  for (std::uint32_t i = 0; i < count_; ++i) count += slots_[i].state.load(std::memory_order_relaxed) == SlotState::given ? 1 : 0;
  return count;
}

}  // namespace graphtag
