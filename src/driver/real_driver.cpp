#include "driver/real_driver.h"

#include <mutex>

#include "driver/library_search.h"
#include "driver/real_state.h"
#include "driver/vendor.h"

namespace graphtag {

RealDriver::RealDriver() : state_(std::make_unique<State>()) {
  state_->load();
}

// CUPTI may still call a subscriber that was not released: its state stays.
RealDriver::~RealDriver() {
  if (state_->subscriber.load() != nullptr) static_cast<void>(state_.release());
}

const RealDriver& RealDriver::of_process() {
  // Never freed: callbacks and other threads may use a driver while the process exits.
  static std::mutex* mutex = new std::mutex;
  static const RealDriver* current = nullptr;
  static std::uint64_t searched_at = 0;
  const std::lock_guard lock(*mutex);
  const std::uint64_t mapped = libraries_ever_mapped();
  if (current == nullptr || (!current->facts().can_ask_ids && mapped != searched_at)) {
    current = new RealDriver;
    searched_at = libraries_ever_mapped();
  }
  return *current;
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
