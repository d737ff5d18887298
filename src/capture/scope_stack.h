// The scopes that are open on one thread.
//
//   begin "decoder"                  decoder
//   open  "attention" -> handle 7    decoder, attention(7)
//   begin "softmax"                  decoder, attention(7), softmax      current: decoder + attention + softmax, merged
//   close 7                          decoder, softmax                    current: decoder + softmax
//
// The merged annotation is published in one word, so that a callback on another thread can ask what is open on the thread that
// began its capture.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <thread>
#include <vector>

#include "model/annotation.h"
#include "registry/registry.h"

namespace graphtag {

// What others may know of a thread. Written by that thread alone, read by all, without a lock. The place outlives the thread and
// is used again by another.
class ThreadScopes {
 public:
  // What is open on this thread, merged. An epoch ends all scopes of those before it. For the thread itself.
  AnnotationId current(std::uint32_t epoch) const noexcept { return in_epoch(open_.load(std::memory_order_relaxed), epoch); }
  // The same for any thread; none if `owner` is not on this place any more.
  AnnotationId current_of(std::uint32_t owner, std::uint32_t epoch) const noexcept;
  // Whether an annotation is open. For any thread.
  bool has_open(std::uint32_t epoch) const noexcept {
    return in_epoch(open_.load(std::memory_order_acquire), epoch) != AnnotationId::none;
  }
  void publish(std::uint32_t epoch, AnnotationId merged) noexcept { open_.store(word(epoch, merged), std::memory_order_release); }
  // From another thread: `merged` in the place of `before`, unless the thread has ended meanwhile.
  void publish_instead(std::uint32_t epoch, AnnotationId before, AnnotationId merged) noexcept {
    std::uint64_t open = word(epoch, before);
    open_.compare_exchange_strong(open, word(epoch, merged), std::memory_order_acq_rel);
  }

  // The number of the thread that has the place; 0: nobody.
  std::uint32_t owner() const noexcept { return owner_.load(std::memory_order_acquire); }
  // False if somebody has it.
  bool take(std::uint32_t owner) noexcept;
  void give_back() noexcept;

 private:
  static std::uint64_t word(std::uint32_t epoch, AnnotationId merged) noexcept {
    return std::uint64_t{epoch} << 32 | static_cast<std::uint32_t>(merged);
  }
  static AnnotationId in_epoch(std::uint64_t open, std::uint32_t epoch) noexcept {
    return open >> 32 == epoch ? static_cast<AnnotationId>(static_cast<std::uint32_t>(open)) : AnnotationId::none;
  }

  std::atomic<std::uint32_t> owner_{0};
  std::atomic<std::uint64_t> open_{0};  // epoch << 32 | merged annotation
};

// For its thread, but for remove_elsewhere().
class ScopeStack {
 public:
  explicit ScopeStack(ThreadScopes& published) : published_(&published) {}

  // `handle` 0: the stack form. False: no memory; nothing was begun.
  bool push(Registry& registry, std::uint32_t epoch, AnnotationId annotation, std::uint64_t handle) noexcept;
  // Ends the innermost scope of the stack form. False: there is none.
  bool pop(Registry& registry, std::uint32_t epoch) noexcept;
  // Ends the scope with this handle. False: it is not open.
  bool remove(Registry& registry, std::uint32_t epoch, std::uint64_t handle) noexcept;
  // The same from another thread.
  bool remove_elsewhere(Registry& registry, std::uint32_t epoch, std::uint64_t handle) noexcept;

  void clear() noexcept;

 private:
  struct Entry {
    std::uint64_t handle;
    AnnotationId annotation;
    AnnotationId merged;  // laid over all that are further out
  };
  // Held for the length of a change. Scopes are hardly ever ended elsewhere, so nobody waits.
  class Lock {
   public:
    explicit Lock(std::atomic_flag& held) noexcept : held_(&held) {
      while (held_->test_and_set(std::memory_order_acquire)) std::this_thread::yield();
    }
    ~Lock() { held_->clear(std::memory_order_release); }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

   private:
    std::atomic_flag* held_;
  };
  struct Ended {
    AnnotationId before, after;  // what was open, merged, and what is
  };
  std::optional<Ended> end(Registry& registry, std::uint64_t handle) noexcept;

  ThreadScopes* published_;
  std::atomic_flag held_ = ATOMIC_FLAG_INIT;
  std::uint32_t epoch_ = 0;     // that the entries are of
  std::vector<Entry> entries_;  // outermost first
};

}  // namespace graphtag
