// The functions of the real Activity. CUPTI's activity callbacks have no user pointer, so the driver that started is global.
#include <atomic>

#include "base/reader_gate.h"
#include "driver/real_state.h"
#include "driver/vendor.h"
#include "driver/vendor_activity.h"

namespace graphtag {
namespace {

using State = RealDriver::State;

std::atomic<State*> active{nullptr};
ReaderGate gate;  // around each use of `active` in a callback

// Of calls that hand out records: that there are none now is no failure.
DriverResult from_records(std::int32_t code) {
  const bool none = code == vendor::kCuptiMaxLimitReached || code == vendor::kCuptiQueueEmpty;
  return none ? DriverResult{DriverStatus::not_ready, code} : from_cupti(code);
}

void count_dropped(State& state, void* context, std::uint32_t stream) noexcept {
  const auto ask = state.get<std::int32_t (*)(void*, std::uint32_t, std::size_t*)>(Entry::activity_dropped);
  std::size_t dropped = 0;
  // Each answer is since the last one.
  if (ask != nullptr && ask(context, stream, &dropped) == vendor::kCuptiSuccess) {
    state.dropped.fetch_add(dropped, std::memory_order_relaxed);
  }
}

void on_request(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records) noexcept {
  const ReaderGate::Pass pass(gate);
  State* state = active.load();
  ActivityBuffers* buffers = state == nullptr ? nullptr : state->buffers.load();
  *max_records = 0;  // as many as fit
  *size = 0;
  *buffer = buffers == nullptr ? nullptr : buffers->give(*size);
}

void on_complete(void* context, std::uint32_t stream, std::uint8_t* buffer, std::size_t, std::size_t valid) noexcept {
  const ReaderGate::Pass pass(gate);
  State* state = active.load();
  ActivityBuffers* buffers = state == nullptr ? nullptr : state->buffers.load();
  if (buffers == nullptr) return;
  count_dropped(*state, context, stream);
  if (buffer != nullptr) buffers->take(buffer, valid);
}

void use_system_thread_ids(State& state) noexcept {
  const auto get = state.get<std::int32_t (*)(std::uint32_t*)>(Entry::get_thread_id_type);
  const auto set = state.get<std::int32_t (*)(std::uint32_t)>(Entry::set_thread_id_type);
  if (get == nullptr || set == nullptr || get(&state.thread_ids_before) != vendor::kCuptiSuccess) return;
  state.changed_thread_ids = set(vendor::kSystemThreadIds) == vendor::kCuptiSuccess;
}

DriverResult stop(void* self) noexcept {
  State& state = state_of(self);
  const auto disable = state.get<std::int32_t (*)(std::uint32_t)>(Entry::activity_disable);
  if (disable == nullptr) return kMissing;
  DriverResult result;
  for (std::size_t i = 0; i < kActivityKinds; ++i) {
    if (!state.enabled_kinds.contains(static_cast<ActivityKind>(i))) continue;
    const std::int32_t code = disable(vendor::kActivityNumbers[i]);
    if (code != vendor::kCuptiSuccess && result.ok()) result = from_records(code);
  }
  state.enabled_kinds = {};
  state.turns.close();
  if (state.changed_thread_ids) {
    static_cast<void>(state.get<std::int32_t (*)(std::uint32_t)>(Entry::set_thread_id_type)(state.thread_ids_before));
    state.changed_thread_ids = false;
  }
  return result;
}

void detach(void*, bool in_child) noexcept {
  if (State* state = active.exchange(nullptr)) state->buffers.store(nullptr);
  in_child ? gate.reset() : gate.wait_until_empty();
}

DriverResult start(void* self, ActivityBuffers* buffers, ActivityKinds wanted, ActivityKinds* enabled) noexcept {
  State& state = state_of(self);
  const auto register_callbacks =
      state.get<std::int32_t (*)(vendor::RequestFunction, vendor::CompleteFunction)>(Entry::activity_register_callbacks);
  const auto enable = state.get<std::int32_t (*)(std::uint32_t)>(Entry::activity_enable);
  if (!state.facts.can_record) return kMissing;
  state.dropped.store(0, std::memory_order_relaxed);
  state.buffers.store(buffers);
  active.store(&state);
  DriverResult result = from_records(register_callbacks(on_request, on_complete));
  if (!result.ok()) {
    detach(self, false);
    return result;
  }
  use_system_thread_ids(state);
  state.turns.open();
  state.enabled_kinds = {};
  for (std::size_t i = 0; i < kActivityKinds; ++i) {
    const auto kind = static_cast<ActivityKind>(i);
    if (!wanted.contains(kind)) continue;
    const std::int32_t code = enable(vendor::kActivityNumbers[i]);
    if (code == vendor::kCuptiSuccess) {
      state.enabled_kinds.add(kind);
    } else if (kind == ActivityKind::kernel) {
      static_cast<void>(stop(self));
      detach(self, false);
      return from_records(code);
    }
  }
  *enabled = state.enabled_kinds;
  return {};
}

DriverResult flush(void* self, bool forced) noexcept {
  const auto flush_all = state_of(self).get<std::int32_t (*)(std::uint32_t)>(Entry::activity_flush_all);
  return flush_all == nullptr ? kMissing : from_records(flush_all(forced ? vendor::kFlushForced : 0));
}

DriverResult next_record(void* self, std::uint8_t* buffer, std::size_t valid_bytes, const RawRecord** record) noexcept {
  const auto next =
      state_of(self).get<std::int32_t (*)(std::uint8_t*, std::size_t, const RawRecord**)>(Entry::activity_next_record);
  return next == nullptr ? kMissing : from_records(next(buffer, valid_bytes, record));
}

DriverResult dropped(void* self, std::uint64_t* count) noexcept {
  State& state = state_of(self);
  if (!state.has(Entry::activity_dropped)) return kMissing;
  count_dropped(state, nullptr, 0);
  *count = state.dropped.load(std::memory_order_relaxed);
  return {};
}

DriverResult push_external_id(void* self, std::uint64_t id) noexcept {
  const auto push = state_of(self).get<std::int32_t (*)(std::uint32_t, std::uint64_t)>(Entry::activity_push_external_id);
  return push == nullptr ? kMissing : from_records(push(vendor::kExternalKind, id));
}

DriverResult pop_external_id(void* self) noexcept {
  const auto pop = state_of(self).get<std::int32_t (*)(std::uint32_t, std::uint64_t*)>(Entry::activity_pop_external_id);
  std::uint64_t last = 0;
  return pop == nullptr ? kMissing : from_records(pop(vendor::kExternalKind, &last));
}

DriverResult call_name(void* self, bool of_driver, std::uint32_t callback_id, const char** name) noexcept {
  const auto ask = state_of(self).get<std::int32_t (*)(std::uint32_t, std::uint32_t, const char**)>(Entry::cupti_callback_name);
  if (ask == nullptr) return kMissing;
  const char* found = nullptr;
  const DriverResult result = from_records(ask(of_driver ? vendor::kDriverDomain : vendor::kRuntimeDomain, callback_id, &found));
  if (result.ok() && found == nullptr) return {DriverStatus::invalid, 0};
  if (result.ok()) *name = found;
  return result;
}

}  // namespace

const ActivityTable kRealActivityTable = {start,           stop,     flush, detach, next_record, dropped, push_external_id,
                                          pop_external_id, call_name};

}  // namespace graphtag
