// libcupti.so.13 over the process's FakeCuda: ids, and the subscription with its callbacks in CUPTI's own layouts.
#include <atomic>
#include <cstring>
#include <utility>

#include "driver/vendor.h"
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

  std::atomic<vendor::CallbackFunction> callback{nullptr};
  std::atomic<void*> user{nullptr};
  GraphEventSet events;
  SubscriptionHandle subscription = nullptr;
};

Subscriber& subscriber() {
  static auto* the_one = new Subscriber;
  return *the_one;
}

}  // namespace

extern "C" {

std::int32_t cuptiGetVersion(std::uint32_t* version) {
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
  if (handle != &self || domain != vendor::kResourceDomain) return vendor::kCuptiInvalidParameter;
  for (std::size_t i = 0; i < kGraphEventKinds; ++i) {
    if (vendor::kCallbackIds[i] != callback_id) continue;
    const std::uint32_t bit = std::uint32_t{1} << i;
    self.events.bits = enable != 0 ? self.events.bits | bit : self.events.bits & ~bit;
    return to_cupti(driver().set_events(self.subscription, self.events));
  }
  return vendor::kCuptiInvalidParameter;
}

std::int32_t cuptiUnsubscribe(void* handle) {
  Subscriber& self = subscriber();
  return handle == &self ? to_cupti(driver().unsubscribe(self.subscription)) : vendor::kCuptiInvalidParameter;
}
}
