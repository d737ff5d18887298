// A bounded queue of byte blocks between two threads, one that fills and one that empties.
//
//   filler: fill() publish(n) ... end()        emptier: take() release() ... stop()
//
// The blocks are allocated once. Waiting threads sleep.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

namespace graphtag {

class BlockRing {
 public:
  BlockRing(std::size_t blocks, std::size_t block_bytes)
      : block_bytes_(block_bytes), bytes_(blocks * block_bytes), sizes_(blocks) {}

  // The next block to fill; waits for one. Empty once the emptier has stopped.
  std::span<char> fill() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return stopped_ || filled_ - emptied_ < sizes_.size(); });
    if (stopped_) return {};
    return {block(filled_), block_bytes_};
  }
  // Hands over the first `size` bytes (at least one) of the block that fill() gave.
  void publish(std::size_t size) {
    const std::scoped_lock lock(mutex_);
    sizes_[filled_ % sizes_.size()] = size;
    ++filled_;
    changed_.notify_one();
  }
  // No more blocks will come.
  void end() {
    const std::scoped_lock lock(mutex_);
    ended_ = true;
    changed_.notify_one();
  }

  // The oldest filled block; waits for one. Empty at the end.
  std::string_view take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return ended_ || filled_ != emptied_; });
    if (filled_ == emptied_) return {};
    return {block(emptied_), sizes_[emptied_ % sizes_.size()]};
  }
  void release() {
    const std::scoped_lock lock(mutex_);
    ++emptied_;
    changed_.notify_one();
  }
  // The emptier will take no more: the filler is not to wait for it.
  void stop() {
    const std::scoped_lock lock(mutex_);
    stopped_ = true;
    changed_.notify_one();
  }

 private:
  char* block(std::size_t number) { return bytes_.data() + number % sizes_.size() * block_bytes_; }

  const std::size_t block_bytes_;
  std::vector<char> bytes_;
  std::mutex mutex_;
  std::condition_variable changed_;  // only one side can be waiting at a time: a full ring is not an empty one
  std::vector<std::size_t> sizes_;   // by block; guarded by mutex_, as all below
  std::size_t filled_ = 0;           // blocks handed over so far
  std::size_t emptied_ = 0;          // blocks given back so far
  bool ended_ = false;
  bool stopped_ = false;
};

// The emptier's side as a stream of bytes.
class RingReader {
 public:
  explicit RingReader(BlockRing& ring) : ring_(ring) {}

  // At most `capacity` bytes; 0 at the end only (and for capacity 0).
  std::size_t read(char* buffer, std::size_t capacity) {
    if (capacity == 0) return 0;
    if (rest_.empty()) {
      if (holding_) ring_.release();
      rest_ = ring_.take();
      holding_ = !rest_.empty();
    }
    const std::size_t size = std::min(capacity, rest_.size());
    if (size != 0) std::memcpy(buffer, rest_.data(), size);
    rest_.remove_prefix(size);
    return size;
  }

 private:
  BlockRing& ring_;
  std::string_view rest_;  // of the block that is being given out
  bool holding_ = false;   // that block is to be released
};

}  // namespace graphtag
