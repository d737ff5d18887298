// libcupti.so.13 over the process's FakeCuda: ids, and the subscription with its callbacks in CUPTI's own layouts.
#include <atomic>
#include <cstring>
#include <thread>
#include <utility>

#include "driver/vendor.h"
#include "driver/vendor_activity.h"
#include "tests/fake/vendor/process_fake.h"

using namespace graphtag;  // NOLINT(google-build-using-namespace)

namespace {

std::int32_t to_cupti(DriverResult result) {
  switch (result.status) {
    case DriverStatus::ok:
      return vendor::kCuptiSuccess;
    case DriverStatus::busy:
      return vendor::kCuptiMultipleSubscribers;
    default:
      return vendor::kCuptiInvalidParameter;
  }
}

Driver driver() {
  return fake::process_fake().driver();
}

// Hands the model's events on as CUPTI would, with rubbish in the fields that an event does not have.
class Subscriber final : public GraphObserver {
 public:
  void on_graph_event(const GraphEvent& event) noexcept override {
    const auto rubbish = [](auto handle) {
      return handle == nullptr ? reinterpret_cast<decltype(handle)>(std::uintptr_t{0x5a5a5a5a}) : handle;
    };
    vendor::GraphData graph{};
    graph.graph = rubbish(event.graph);
    graph.original_graph = rubbish(event.original_graph);
    graph.node = rubbish(event.node);
    graph.original_node = rubbish(event.original_node);
    graph.dependency = rubbish(event.dependency);
    graph.exec = rubbish(event.exec);
    if (event.kind == GraphEventKind::node_updated) std::swap(graph.node, graph.original_node);
    const vendor::ResourceData resource{nullptr, nullptr, &graph};
    callback.load()(user.load(), vendor::kResourceDomain, vendor::kCallbackIds[static_cast<std::size_t>(event.kind)], &resource);
  }

  void on_instantiation(GraphHandle graph, bool begins) noexcept override {
    constexpr std::size_t kWithParams = 3;
    if ((calls >> kWithParams & 1) == 0) return;
    const vendor::InstantiateParams params{nullptr, graph};
    const vendor::CallData data{begins ? vendor::kCallBegins : 1, "cuGraphInstantiateWithParams", &params};
    callback.load()(user.load(), vendor::kDriverDomain, vendor::kInstantiations[kWithParams], &data);
  }

  std::atomic<vendor::CallbackFunction> callback{nullptr};
  std::atomic<void*> user{nullptr};
  GraphEventSet events;
  SubscriptionHandle subscription = nullptr;
  // Calls of the driver whose beginning and end the subscriber asked for: a bit each, as in vendor::kInstantiations.
  std::atomic<std::uint32_t> calls{0};
};

std::atomic<std::uint32_t> thread_id_type{0};

// The client's callbacks as the model wants them.
class Client final : public ActivityBuffers {
 public:
  std::uint8_t* give(std::size_t& bytes) noexcept override {
    std::uint8_t* buffer = nullptr;
    std::size_t max_records = 99;
    request.load()(&buffer, &bytes, &max_records);
    return buffer;
  }
  void take(std::uint8_t* buffer, std::size_t valid_bytes) noexcept override {
    complete.load()(nullptr, 0, buffer, valid_bytes, valid_bytes);
  }

  std::atomic<vendor::RequestFunction> request{nullptr};
  std::atomic<vendor::CompleteFunction> complete{nullptr};
  ActivityKinds kinds;
};

Client& client() {
  static auto* the_one = new Client;
  return *the_one;
}

fake::FakeActivity& activity() {
  return fake::process_fake().activity();
}

std::int32_t change_kinds(std::uint32_t number, bool enable) {
  for (std::size_t i = 0; i < kActivityKinds; ++i) {
    if (vendor::kActivityNumbers[i] != number) continue;
    Client& self = client();
    const bool was_off = self.kinds == ActivityKinds{};
    const std::uint32_t bit = std::uint32_t{1} << i;
    self.kinds.bits = enable ? self.kinds.bits | bit : self.kinds.bits & ~bit;
    ActivityKinds enabled;
    return to_cupti(was_off ? activity().start(&self, self.kinds, &enabled) : activity().change_kinds(self.kinds));
  }
  return vendor::kCuptiInvalidParameter;
}

Subscriber& subscriber() {
  static auto* the_one = new Subscriber;
  return *the_one;
}

}  // namespace

extern "C" {

std::int32_t cuptiGetVersion(std::uint32_t* version) {
  fake::HeldCall& call = fake::version_call();
  while (call.held) {
    call.inside = true;
    std::this_thread::yield();
  }
  *version = 130001;
  return vendor::kCuptiSuccess;
}

std::int32_t cuptiGetResultString(std::int32_t, const char** text) {
  *text = "CUPTI_SOMETHING";
  return vendor::kCuptiSuccess;
}

std::int32_t cuptiGetGraphNodeId(NodeHandle node, std::uint64_t* id) {
  NodeId found;
  const std::int32_t code = to_cupti(driver().node_id(node, found));
  *id = found.value;
  return code;
}

std::int32_t cuptiGetGraphId(GraphHandle graph, std::uint32_t* id) {
  GraphId found;
  const std::int32_t code = to_cupti(driver().graph_id(graph, found));
  *id = found.value;
  return code;
}

std::int32_t cuptiGetGraphExecId(ExecHandle exec, std::uint32_t* id) {
  GraphId found;
  const std::int32_t code = to_cupti(driver().exec_id(exec, found));
  *id = found.value;
  return code;
}

std::int32_t cuptiGetTimestamp(std::uint64_t* time_ns) {
  return to_cupti(driver().timestamp_ns(*time_ns));
}

std::int32_t cuptiSubscribe(void** handle, vendor::CallbackFunction callback, void* user) {
  Subscriber& self = subscriber();
  SubscriptionHandle subscription = nullptr;
  const DriverResult result = driver().subscribe(self, {}, subscription);
  if (!result.ok()) return to_cupti(result);
  self.callback = callback;
  self.user = user;
  self.events = {};
  self.subscription = subscription;
  *handle = &self;
  return vendor::kCuptiSuccess;
}

std::int32_t cuptiSubscribe_v2(void** handle, vendor::CallbackFunction callback, void* user, vendor::SubscriberParams* params) {
  const std::int32_t code = cuptiSubscribe(handle, callback, user);
  if (code == vendor::kCuptiMultipleSubscribers && params != nullptr && params->old_name != nullptr) {
    std::strncpy(params->old_name, "CUPTI for somebody else", params->old_name_size - 1);
  }
  return code;
}

std::int32_t cuptiEnableCallback(std::uint32_t enable, void* handle, std::uint32_t domain, std::uint32_t callback_id) {
  Subscriber& self = subscriber();
  if (handle != &self) return vendor::kCuptiInvalidParameter;
  if (domain == vendor::kDriverDomain) {
    for (std::size_t i = 0; i < vendor::kInstantiations.size(); ++i) {
      if (vendor::kInstantiations[i] != callback_id) continue;
      enable != 0 ? self.calls |= 1U << i : self.calls &= ~(1U << i);
      return vendor::kCuptiSuccess;
    }
  }
  if (domain != vendor::kResourceDomain) return vendor::kCuptiInvalidParameter;
  for (std::size_t i = 0; i < kGraphEventKinds; ++i) {
    if (vendor::kCallbackIds[i] != callback_id) continue;
    const std::uint32_t bit = std::uint32_t{1} << i;
    self.events.bits = enable != 0 ? self.events.bits | bit : self.events.bits & ~bit;
    return to_cupti(driver().set_events(self.subscription, self.events));
  }
  return vendor::kCuptiInvalidParameter;
}

// For tests: this thread begins (site 0) or ends a call of the driver. True if the subscriber had asked for it.
bool gtfake_driver_call(std::uint32_t callback_id, std::int32_t site) {
  Subscriber& self = subscriber();
  for (std::size_t i = 0; i < vendor::kInstantiations.size(); ++i) {
    if (vendor::kInstantiations[i] != callback_id || (self.calls >> i & 1) == 0) continue;
    const vendor::CallData data{site, "cuGraphInstantiate", nullptr};
    self.callback.load()(self.user.load(), vendor::kDriverDomain, callback_id, &data);
    return true;
  }
  return false;
}

std::int32_t cuptiActivityRegisterCallbacks(vendor::RequestFunction request, vendor::CompleteFunction complete) {
  client().request = request;
  client().complete = complete;
  return vendor::kCuptiSuccess;
}

std::int32_t cuptiActivityEnable(std::uint32_t number) {
  return change_kinds(number, true);
}

std::int32_t cuptiActivityDisable(std::uint32_t number) {
  return change_kinds(number, false);
}

std::int32_t cuptiActivityFlushAll(std::uint32_t flag) {
  return to_cupti(activity().flush((flag & vendor::kFlushForced) != 0));
}

std::int32_t cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t valid_bytes, const RawRecord** record) {
  const DriverResult result = fake::FakeActivity::next_record(buffer, valid_bytes, record);
  return result.ok() ? vendor::kCuptiSuccess : vendor::kCuptiMaxLimitReached;
}

std::int32_t cuptiActivityGetNumDroppedRecords(void*, std::uint32_t, std::size_t* dropped) {
  *dropped = static_cast<std::size_t>(activity().take_dropped());
  return vendor::kCuptiSuccess;
}

std::int32_t cuptiActivityPushExternalCorrelationId(std::uint32_t kind, std::uint64_t id) {
  return to_cupti(activity().push_external_id(kind, id));
}

std::int32_t cuptiActivityPopExternalCorrelationId(std::uint32_t kind, std::uint64_t* last) {
  *last = 0;
  return to_cupti(activity().pop_external_id(kind));
}

std::int32_t cuptiGetThreadIdType(std::uint32_t* type) {
  *type = thread_id_type.load();
  return vendor::kCuptiSuccess;
}

std::int32_t cuptiSetThreadIdType(std::uint32_t type) {
  thread_id_type = type;
  return vendor::kCuptiSuccess;
}

std::int32_t cuptiGetCallbackName(std::uint32_t domain, std::uint32_t callback_id, const char** name) {
  const char* known = fake::FakeActivity::call_name(domain == vendor::kDriverDomain, callback_id);
  if (known == nullptr) return vendor::kCuptiInvalidParameter;
  *name = known;
  return vendor::kCuptiSuccess;
}

std::int32_t cuptiUnsubscribe(void* handle) {
  Subscriber& self = subscriber();
  if (handle == &self) self.calls = 0;
  return handle == &self ? to_cupti(driver().unsubscribe(self.subscription)) : vendor::kCuptiInvalidParameter;
}
}
