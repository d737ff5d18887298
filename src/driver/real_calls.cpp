// The functions of the real Driver: they translate, and nothing else.
#include <utility>

#include "driver/real_state.h"
#include "driver/vendor.h"

namespace graphtag {

DriverResult from_cupti(std::int32_t code) {
  switch (code) {
    case vendor::kCuptiSuccess:
      return {};
    case vendor::kCuptiInvalidParameter:
      return {DriverStatus::invalid, code};
    case vendor::kCuptiNotInitialized:
      return {DriverStatus::not_ready, code};
    case vendor::kCuptiMultipleSubscribers:
      return {DriverStatus::busy, code};
    default:
      return {DriverStatus::failed, code};
  }
}

// If CUPTI refuses it, it has no such subscription any more, or else it refuses ours too, and says why.
void RealDriver::State::release_parents() noexcept {
  void* handle = of_parent.exchange(nullptr);
  if (handle != nullptr) static_cast<void>(get<std::int32_t (*)(void*)>(Entry::cupti_unsubscribe)(handle));
}

namespace {

using State = RealDriver::State;

DriverResult from_cuda(std::int32_t code) {
  switch (code) {
    case vendor::kCudaSuccess:
      return {};
    case vendor::kCudaInvalidValue:
    case vendor::kCudaInvalidHandle:
      return {DriverStatus::invalid, code};
    case vendor::kCudaNotInitialized:
    case vendor::kCudaDeinitialized:
      return {DriverStatus::not_ready, code};
    default:
      return {DriverStatus::failed, code};
  }
}

// The handles that a kind of event has; CUPTI may leave anything in the others.
enum Field : std::uint8_t { kGraph = 1, kOriginalGraph = 2, kNode = 4, kOriginalNode = 8, kDependency = 16, kExec = 32 };
constexpr std::array<std::uint8_t, kGraphEventKinds> kFields = {
    kGraph,                                           // graph_created
    kGraph,                                           // graph_destroy_starting
    kGraph | kOriginalGraph,                          // graph_cloned
    kGraph | kNode,                                   // node_create_starting
    kGraph | kNode,                                   // node_created
    kGraph | kNode,                                   // node_destroy_starting
    kGraph | kNode | kDependency,                     // dependency_created
    kGraph | kNode | kDependency,                     // dependency_destroy_starting
    kGraph,                                           // exec_create_starting
    kGraph | kExec,                                   // exec_created
    kExec,                                            // exec_destroy_starting
    kGraph | kNode | kOriginalGraph | kOriginalNode,  // node_cloned
    kNode | kOriginalNode | kExec,                    // node_updated
    kNode | kOriginalNode | kOriginalGraph | kExec,   // node_params_set
};

// callback id -> kind, or kGraphEventKinds
constexpr std::array<std::uint8_t, 32> kinds_by_callback() {
  std::array<std::uint8_t, 32> kinds{};
  for (auto& kind : kinds) kind = kGraphEventKinds;
  for (std::size_t i = 0; i < kGraphEventKinds; ++i) kinds[vendor::kCallbackIds[i]] = static_cast<std::uint8_t>(i);
  return kinds;
}
constexpr std::array<std::uint8_t, 32> kKindsByCallback = kinds_by_callback();

GraphEvent decode(std::uint8_t kind, const vendor::GraphData& data) {
  const std::uint8_t fields = kFields[kind];
  GraphEvent event;
  event.kind = static_cast<GraphEventKind>(kind);
  if (fields & kGraph) event.graph = data.graph;
  if (fields & kOriginalGraph) event.original_graph = data.original_graph;
  if (fields & kNode) event.node = data.node;
  if (fields & kOriginalNode) event.original_node = data.original_node;
  if (fields & kDependency) event.dependency = data.dependency;
  if (fields & kExec) event.exec = data.exec;
  // CUPTI calls the exec graph's node the original one here, and elsewhere the copy's.
  if (event.kind == GraphEventKind::node_updated) std::swap(event.node, event.original_node);
  return event;
}

// Asked for of instantiations alone.
void on_call(State& state, const vendor::CallData& call) noexcept {
  const bool begins = call.site == vendor::kCallBegins;
  const auto* params = static_cast<const vendor::InstantiateParams*>(call.params);
  GraphObserver* observer = state.observer.load(std::memory_order_acquire);
  if (begins) state.turns.enter();
  if (observer != nullptr && params != nullptr) observer->on_instantiation(params->graph, begins);
  if (!begins) state.turns.leave();
}

// CUPTI's callback: decodes and hands over, nothing else. Nothing here can throw, and on_graph_event is noexcept.
void on_callback(void* user, std::uint32_t domain, std::uint32_t callback_id, const void* data) noexcept {
  if (domain == vendor::kDriverDomain && data != nullptr) {
    return on_call(*static_cast<State*>(user), *static_cast<const vendor::CallData*>(data));
  }
  if (domain != vendor::kResourceDomain || callback_id >= kKindsByCallback.size() || data == nullptr) return;
  const std::uint8_t kind = kKindsByCallback[callback_id];
  const void* descriptor = static_cast<const vendor::ResourceData*>(data)->descriptor;
  if (kind == kGraphEventKinds || descriptor == nullptr) return;
  GraphObserver* observer = static_cast<RealDriver::State*>(user)->observer.load(std::memory_order_acquire);
  if (observer != nullptr) observer->on_graph_event(decode(kind, *static_cast<const vendor::GraphData*>(descriptor)));
}

std::int32_t enable(const State& state, GraphEventSet events) noexcept {
  const auto enable_callback =
      state.get<std::int32_t (*)(std::uint32_t, void*, std::uint32_t, std::uint32_t)>(Entry::cupti_enable_callback);
  void* handle = state.subscriber.load(std::memory_order_relaxed);
  std::int32_t first_failure = 0;
  for (std::size_t i = 0; i < kGraphEventKinds; ++i) {
    const auto kind = static_cast<GraphEventKind>(i);
    const std::int32_t code =
        enable_callback(events.contains(kind) ? 1 : 0, handle, vendor::kResourceDomain, vendor::kCallbackIds[i]);
    // Kinds of CUPTI 13 are unknown to older ones.
    const bool is_new = kind == GraphEventKind::node_updated || kind == GraphEventKind::node_params_set;
    if (code != 0 && !is_new && first_failure == 0) first_failure = code;
  }
  return first_failure;
}

DriverResult node_id(void* self, NodeHandle node, NodeId* id) noexcept {
  const State& state = state_of(self);
  if (node == nullptr) return {DriverStatus::invalid, 0};
  if (const auto ask = state.get<std::int32_t (*)(NodeHandle, std::uint64_t*)>(Entry::cupti_node_id); ask != nullptr) {
    return from_cupti(ask(node, &id->value));
  }
  const auto ask = state.get<std::int32_t (*)(NodeHandle, unsigned long long*)>(Entry::node_get_tools_id);
  if (ask == nullptr) return kMissing;
  unsigned long long number = 0;
  const DriverResult result = from_cuda(ask(node, &number));
  if (result.ok()) id->value = number;
  return result;
}

// Graph and exec ids: CUPTI's function, else the driver's.
template <typename Handle>
DriverResult upper_id(const State& state, Handle handle, Entry cupti, Entry cuda, GraphId* id) noexcept {
  using Ask = std::int32_t (*)(Handle, std::uint32_t*);
  if (handle == nullptr) return {DriverStatus::invalid, 0};
  if (const auto ask = state.get<Ask>(cupti); ask != nullptr) return from_cupti(ask(handle, &id->value));
  if (const auto ask = state.get<Ask>(cuda); ask != nullptr) return from_cuda(ask(handle, &id->value));
  return kMissing;
}

DriverResult graph_id(void* self, GraphHandle graph, GraphId* id) noexcept {
  return upper_id(state_of(self), graph, Entry::cupti_graph_id, Entry::graph_get_id, id);
}

DriverResult exec_id(void* self, ExecHandle exec, GraphId* id) noexcept {
  return upper_id(state_of(self), exec, Entry::cupti_exec_id, Entry::exec_get_id, id);
}

DriverResult graph_nodes(void* self, GraphHandle graph, NodeHandle* nodes, std::size_t* count) noexcept {
  const auto get_nodes = state_of(self).get<std::int32_t (*)(GraphHandle, NodeHandle*, std::size_t*)>(Entry::graph_get_nodes);
  if (get_nodes == nullptr) return kMissing;
  if (graph == nullptr) return {DriverStatus::invalid, 0};
  const std::size_t capacity = *count;
  DriverResult result = from_cuda(get_nodes(graph, nodes, count));
  // A full buffer may be too small: the driver does not say.
  if (!result.ok() || nodes == nullptr || *count < capacity) return result;
  result = from_cuda(get_nodes(graph, nullptr, count));
  if (result.ok() && *count > capacity) result.status = DriverStatus::too_small;
  return result;
}

DriverResult node_type(void* self, NodeHandle node, NodeType* type) noexcept {
  const auto get_type = state_of(self).get<std::int32_t (*)(NodeHandle, NodeType*)>(Entry::node_get_type);
  if (get_type == nullptr) return kMissing;
  return node == nullptr ? DriverResult{DriverStatus::invalid, 0} : from_cuda(get_type(node, type));
}

DriverResult child_graph(void* self, NodeHandle node, GraphHandle* child) noexcept {
  const auto get_child = state_of(self).get<std::int32_t (*)(NodeHandle, GraphHandle*)>(Entry::child_get_graph);
  if (get_child == nullptr) return kMissing;
  return node == nullptr ? DriverResult{DriverStatus::invalid, 0} : from_cuda(get_child(node, child));
}

DriverResult conditional_bodies(void* self, NodeHandle node, GraphHandle* bodies, std::size_t* count) noexcept {
  const auto get_params =
      state_of(self).get<std::int32_t (*)(NodeHandle, vendor::ConditionalNodeParams*)>(Entry::node_get_params);
  if (get_params == nullptr) return kMissing;
  vendor::ConditionalNodeParams params{};
  if (node == nullptr) return {DriverStatus::invalid, 0};
  const DriverResult result = from_cuda(get_params(node, &params));
  if (!result.ok()) return result;
  if (params.type != static_cast<std::int32_t>(NodeType::conditional)) return {DriverStatus::invalid, 0};
  const std::size_t capacity = *count;
  *count = params.body_count;
  if (bodies == nullptr) return {};
  if (params.body_count > capacity) return {DriverStatus::too_small, 0};
  for (std::size_t i = 0; i < params.body_count; ++i) bodies[i] = params.bodies[i];
  return {};
}

DriverResult capture_info(void* self, StreamHandle stream, CaptureInfo* info) noexcept {
  const State& state = state_of(self);
  CaptureInfo answer;
  std::uint64_t capture_id = 0;
  DriverResult result = kMissing;
  // v3 also takes frontiers whose edges carry data (programmatic launches), at which v2 fails.
  if (const auto v3 = state.get<std::int32_t (*)(StreamHandle, CaptureStatus*, std::uint64_t*, GraphHandle*, const NodeHandle**,
                                                 const void**, std::size_t*)>(Entry::stream_get_capture_info_v3);
      v3 != nullptr) {
    const void* edges = nullptr;
    result = from_cuda(v3(stream, &answer.status, &capture_id, &answer.graph, &answer.frontier, &edges, &answer.frontier_size));
  } else if (const auto v2 = state.get<std::int32_t (*)(StreamHandle, CaptureStatus*, std::uint64_t*, GraphHandle*,
                                                        const NodeHandle**, std::size_t*)>(Entry::stream_get_capture_info_v2);
             v2 != nullptr) {
    result = from_cuda(v2(stream, &answer.status, &capture_id, &answer.graph, &answer.frontier, &answer.frontier_size));
  }
  if (!result.ok()) return result;
  // Of a stream that is not capturing only the status means anything.
  *info = CaptureInfo{};
  info->status = answer.status;
  if (answer.status == CaptureStatus::active) {
    info->capture_id = capture_id;
    info->graph = answer.graph;
    info->frontier = answer.frontier;
    info->frontier_size = answer.frontier_size;
  }
  return result;
}

DriverResult unsubscribe(void* self, SubscriptionHandle) noexcept {
  State& state = state_of(self);
  const auto cupti_unsubscribe = state.get<std::int32_t (*)(void*)>(Entry::cupti_unsubscribe);
  void* handle = state.subscriber.exchange(nullptr);
  if (handle == nullptr) return {DriverStatus::invalid, 0};
  const DriverResult result = from_cupti(cupti_unsubscribe(handle));
  state.observer.store(nullptr, std::memory_order_release);
  return result;
}

void watch_instantiations(const State& state) noexcept {
  const auto enable_callback =
      state.get<std::int32_t (*)(std::uint32_t, void*, std::uint32_t, std::uint32_t)>(Entry::cupti_enable_callback);
  // A CUPTI that does not know one of them has no such call either.
  for (const std::uint32_t call : vendor::kInstantiations) {
    static_cast<void>(enable_callback(1, state.subscriber.load(), vendor::kDriverDomain, call));
  }
}

DriverResult subscribe(void* self, GraphObserver* observer, GraphEventSet events, SubscriptionHandle* subscription) noexcept {
  State& state = state_of(self);
  if (!state.facts.can_subscribe) return kMissing;
  if (state.subscriber.load() != nullptr) return {DriverStatus::busy, vendor::kCuptiMultipleSubscribers};
  state.release_parents();
  const auto cupti_subscribe = state.get<std::int32_t (*)(void**, vendor::CallbackFunction, void*)>(Entry::cupti_subscribe);
  void* handle = nullptr;
  DriverResult result = from_cupti(cupti_subscribe(&handle, on_callback, self));
  if (!result.ok()) return result;
  state.observer.store(observer, std::memory_order_release);
  state.subscriber.store(handle);
  watch_instantiations(state);
  result = from_cupti(enable(state, events));
  if (!result.ok()) {
    static_cast<void>(unsubscribe(self, nullptr));
    return result;
  }
  *subscription = reinterpret_cast<SubscriptionHandle>(handle);
  return {};
}

DriverResult set_events(void* self, SubscriptionHandle, GraphEventSet events) noexcept {
  State& state = state_of(self);
  if (state.subscriber.load() == nullptr) return {DriverStatus::invalid, 0};
  return from_cupti(enable(state, events));
}

DriverResult device_count(void* self, int* count) noexcept {
  const auto get_count = state_of(self).get<std::int32_t (*)(int*)>(Entry::device_get_count);
  return get_count == nullptr ? kMissing : from_cuda(get_count(count));
}

DriverResult device_uuid(void* self, int device, std::uint8_t* uuid) noexcept {
  // A CUdevice is the device's ordinal.
  const auto get_uuid = state_of(self).get<std::int32_t (*)(std::uint8_t*, int)>(Entry::device_get_uuid);
  return get_uuid == nullptr ? kMissing : from_cuda(get_uuid(uuid, device));
}

DriverResult device_name(void* self, int device, char* name, std::size_t capacity) noexcept {
  const auto get_name = state_of(self).get<std::int32_t (*)(char*, int, int)>(Entry::device_get_name);
  return get_name == nullptr ? kMissing : from_cuda(get_name(name, static_cast<int>(capacity), device));
}

DriverResult timestamp_ns(void* self, std::uint64_t* time_ns) noexcept {
  const auto get_time = state_of(self).get<std::int32_t (*)(std::uint64_t*)>(Entry::cupti_timestamp);
  return get_time == nullptr ? kMissing : from_cupti(get_time(time_ns));
}

}  // namespace

const DriverTable kRealTable = {
    node_id,   graph_id,   exec_id,     graph_nodes,  node_type,   child_graph, conditional_bodies, capture_info,
    subscribe, set_events, unsubscribe, device_count, device_uuid, device_name, timestamp_ns,       &kRealActivityTable};

}  // namespace graphtag
