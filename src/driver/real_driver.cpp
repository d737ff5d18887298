#include "driver/real_driver.h"

#include <pthread.h>

#include <atomic>
#include <mutex>
#include <new>

#include "driver/library_search.h"
#include "driver/real_state.h"
#include "driver/vendor.h"

namespace graphtag {
namespace {

std::mutex searching;  // of writing these
std::atomic<const RealDriver*> found{
    nullptr};  // never freed: callbacks and other threads may use a driver while the process exits
std::uint64_t searched_at = 0;

}  // namespace

RealDriver::RealDriver() : state_(std::make_unique<State>()) {
  state_->load();
}

// CUPTI may still call a subscriber that was not released: its state stays.
RealDriver::~RealDriver() {
  if (state_->subscriber.load() != nullptr) static_cast<void>(state_.release());
}

void RealDriver::State::start_anew() noexcept {
  observer.store(nullptr);
  if (void* handle = subscriber.exchange(nullptr)) of_parent.store(handle);
  new (&turns) InstantiationTurns;  // whose turn it was, and who waited for it, is not there
}

void RealDriver::start_anew() noexcept {
  new (&searching) std::mutex;  // the same
  if (const RealDriver* known = found.load()) known->state_->start_anew();
}

const RealDriver& RealDriver::of_process() {
  const RealDriver* known = found.load(std::memory_order_acquire);
  if (known != nullptr && known->facts().can_ask_ids) return *known;
  static std::atomic<bool> watching{false};
  if (!watching.exchange(true)) pthread_atfork(nullptr, nullptr, &start_anew);
  const std::lock_guard lock(searching);
  known = found.load();
  const std::uint64_t mapped = libraries_ever_mapped();
  if (known == nullptr || (!known->facts().can_ask_ids && mapped != searched_at)) {
    known = new RealDriver;
    searched_at = libraries_ever_mapped();
    found.store(known, std::memory_order_release);
  }
  return *known;
}

Driver RealDriver::driver() const {
  return Driver(kRealTable, state_.get());
}

const DriverFacts& RealDriver::facts() const {
  return state_->facts;
}

DriverResult RealDriver::initialize_cuda() const {
  const auto init = state_->get<std::int32_t (*)(unsigned)>(Entry::init);
  if (init == nullptr) return {DriverStatus::missing, 0};
  const std::int32_t code = init(0);
  return {code == vendor::kCudaSuccess ? DriverStatus::ok : DriverStatus::failed, code};
}

SubscriptionFacts RealDriver::try_subscription() const {
  SubscriptionFacts facts;
  if (!state_->facts.can_subscribe) return facts;
  if (state_->subscriber.load() != nullptr) {
    facts.state = SubscriptionFacts::State::held_by_us;
    return facts;
  }
  state_->release_parents();
  const auto nothing = [](void*, std::uint32_t, std::uint32_t, const void*) {};
  void* handle = nullptr;
  std::int32_t code = 0;
  if (const auto v2 = state_->get<std::int32_t (*)(void**, vendor::CallbackFunction, void*, vendor::SubscriberParams*)>(
          Entry::cupti_subscribe_v2);
      v2 != nullptr) {
    char holder[vendor::kOldNameBytes + 1] = {};
    vendor::SubscriberParams params{sizeof(vendor::SubscriberParams), "graphtag doctor", holder, vendor::kOldNameBytes};
    code = v2(&handle, nothing, nullptr, &params);
    facts.holder = holder;
  } else {
    code =
        state_->get<std::int32_t (*)(void**, vendor::CallbackFunction, void*)>(Entry::cupti_subscribe)(&handle, nothing, nullptr);
  }
  if (code == vendor::kCuptiSuccess) {
    state_->get<std::int32_t (*)(void*)>(Entry::cupti_unsubscribe)(handle);
    facts.state = SubscriptionFacts::State::free;
    facts.holder.clear();
  } else if (code == vendor::kCuptiMultipleSubscribers) {
    facts.state = SubscriptionFacts::State::held;
  } else {
    facts.code = code;
  }
  return facts;
}

}  // namespace graphtag
