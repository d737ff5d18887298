// What the registry counts while it runs. Any thread, relaxed: the numbers are for reports and bounds.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace graphtag {

struct Ledger {
  std::atomic<std::uint64_t> live_bytes{0};
  std::atomic<std::uint64_t> dropped{0};
  std::atomic<std::uint64_t> stale{0};
  std::atomic<std::uint64_t> late{0};
  std::atomic<std::uint64_t> lost{0};
};

inline void count_one(std::atomic<std::uint64_t>& counter) {
  counter.fetch_add(1, std::memory_order_relaxed);
}

// The bytes of one table, as the ledger's live_bytes has them until the table is frozen: a frozen table must not grow.
// Guarded by the owner's lock.
class AccountedBytes {
 public:
  AccountedBytes(Ledger& ledger, std::size_t bytes) : ledger_(&ledger) { update(bytes); }

  void update(std::size_t bytes) {
    if (frozen_) return;
    ledger_->live_bytes.fetch_add(bytes - bytes_, std::memory_order_relaxed);  // modulo 2^64, so shrinking works too
    bytes_ = bytes;
  }
  // Takes the table out of live_bytes and returns its size.
  std::size_t freeze() {
    if (!frozen_) ledger_->live_bytes.fetch_sub(bytes_, std::memory_order_relaxed);
    frozen_ = true;
    return bytes_;
  }
  bool frozen() const { return frozen_; }

 private:
  Ledger* ledger_;
  std::size_t bytes_ = 0;
  bool frozen_ = false;
};

}  // namespace graphtag
