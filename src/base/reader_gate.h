// Lets an object be destroyed that other threads may be using: they pass the gate before they look whether it is there, and whoever takes it
// away waits until nobody is inside any more.
//
//   user     { ReaderGate::Pass pass(gate); if (Thing* thing = current.load()) thing->use(); }
//   owner    current.store(nullptr); gate.wait_until_empty(); delete thing;
//
// Users never wait. They must not stay inside for long.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <thread>

namespace graphtag {

class ReaderGate {
 public:
  class Pass {
   public:
    explicit Pass(ReaderGate& gate) noexcept : inside_(&gate.stripe()) { inside_->fetch_add(1); }
    ~Pass() { inside_->fetch_sub(1); }
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;

   private:
    std::atomic<std::uint32_t>* inside_;
  };

  void wait_until_empty() const noexcept {
    for (const Stripe& stripe : stripes_) {
      while (stripe.inside.load() != 0) std::this_thread::yield();
    }
  }
  // In a child of fork(): whoever was inside is not there.
  void reset() noexcept {
    for (Stripe& stripe : stripes_) stripe.inside.store(0);
  }

 private:
  static constexpr std::size_t kStripes = 16;  // so that threads seldom share a cache line
  struct alignas(64) Stripe {
    std::atomic<std::uint32_t> inside{0};
  };
  std::atomic<std::uint32_t>& stripe() noexcept {
    return stripes_[std::hash<std::thread::id>{}(std::this_thread::get_id()) % kStripes].inside;
  }
  std::array<Stripe, kStripes> stripes_;
};

}  // namespace graphtag
