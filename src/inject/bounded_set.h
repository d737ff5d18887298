// Sets that the program's threads read and grow without a lock, of a size that is fixed, so that nothing a program does makes them
// grow without bound.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace graphtag::inject {

// Spreads the bits of a number over the whole word.
constexpr std::uint64_t spread(std::uint64_t x) {
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93U;
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93U;
  return x ^ x >> 32;
}

// At most `Limit` numbers, in twice as many places. Two numbers that are spread to the same word (one pair in 2^64) count as one.
template <std::size_t Limit>
class BoundedSet {
 public:
  // True if the number is in the set from here on; false: it was not, and there is no room.
  bool has_or_adds(std::uint64_t number) noexcept {
    std::uint64_t word = spread(number);
    if (word == 0) word = 1;
    for (std::size_t i = word % kPlaces;; i = (i + 1) % kPlaces) {
      std::uint64_t there = places_[i].load(std::memory_order_relaxed);
      if (there == word) return true;
      if (there != 0) continue;
      if (size_.load(std::memory_order_relaxed) >= Limit) return false;
      if (places_[i].compare_exchange_strong(there, word, std::memory_order_relaxed)) {
        size_.fetch_add(1, std::memory_order_relaxed);
        return true;
      }
      if (there == word) return true;
    }
  }
  std::size_t size() const noexcept { return size_.load(std::memory_order_relaxed); }

 private:
  // Racing threads may go over the limit by one each: there are empty places for many more.
  static constexpr std::size_t kPlaces = 2 * Limit;
  std::unique_ptr<std::atomic<std::uint64_t>[]> places_ = std::make_unique<std::atomic<std::uint64_t>[]>(kPlaces);
  std::atomic<std::size_t> size_{0};
};

// At most `Limit` objects that live as long as the set, found by their hash and `is(object)`. Adding is for one thread at a time.
template <typename T, std::size_t Limit>
class BoundedIndex {
 public:
  template <typename Is>
  T* find(std::uint64_t hash, Is is) const noexcept {
    for (std::size_t i = spread(hash) % kPlaces;; i = (i + 1) % kPlaces) {
      T* there = places_[i].load(std::memory_order_acquire);
      if (there == nullptr || is(*there)) return there;
    }
  }
  // Takes the object; null: there is no room.
  T* add(std::uint64_t hash, std::unique_ptr<T> object) noexcept {
    if (size_ >= Limit) return nullptr;
    std::size_t i = spread(hash) % kPlaces;
    while (places_[i].load(std::memory_order_relaxed) != nullptr) i = (i + 1) % kPlaces;
    ++size_;
    places_[i].store(object.get(), std::memory_order_release);
    return object.release();
  }
  template <typename Do>
  void for_each(Do act) const {
    for (std::size_t i = 0; i < kPlaces; ++i) {
      if (T* there = places_[i].load(std::memory_order_acquire)) act(*there);
    }
  }
  std::size_t size() const noexcept { return size_; }

  BoundedIndex() = default;
  BoundedIndex(const BoundedIndex&) = delete;
  BoundedIndex& operator=(const BoundedIndex&) = delete;
  ~BoundedIndex() {
    for (std::size_t i = 0; i < kPlaces; ++i) delete places_[i].load(std::memory_order_relaxed);
  }

 private:
  static constexpr std::size_t kPlaces = 2 * Limit;
  std::unique_ptr<std::atomic<T*>[]> places_ = std::make_unique<std::atomic<T*>[]>(kPlaces);
  std::size_t size_ = 0;
};

}  // namespace graphtag::inject
