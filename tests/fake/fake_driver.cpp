// The Driver of a FakeCuda: what libcuda and CUPTI would answer.
#include <chrono>
#include <cstdio>
#include <cstring>
#include <utility>

#include "driver/vendor_activity.h"
#include "tests/fake/model.h"

namespace graphtag::fake {

constexpr DriverResult kMissing{DriverStatus::missing, 0};
constexpr DriverResult kInvalid{DriverStatus::invalid, 1};

struct FakeCalls {
  static Model& model(void* self) { return *static_cast<Model*>(self); }

  static DriverResult node_id(void* self, NodeHandle node, NodeId* id) noexcept {
    Model& m = model(self);
    const std::lock_guard lock(m.mutex);
    if (!m.nodes.has(node)) return kInvalid;
    *id = NodeId(GraphId{to_node(node)->graph->id}, LocalId{to_node(node)->local_id});
    return {};
  }

  static DriverResult graph_id(void* self, GraphHandle graph, GraphId* id) noexcept {
    Model& m = model(self);
    const std::lock_guard lock(m.mutex);
    if (!m.graphs.has(graph)) return kInvalid;
    id->value = to_graph(graph)->id;
    return {};
  }

  static DriverResult exec_id(void* self, ExecHandle exec, GraphId* id) noexcept {
    Model& m = model(self);
    if (!m.options.has_exec_id) return kMissing;
    const std::lock_guard lock(m.mutex);
    if (!m.graphs.has(exec) || !to_graph(exec)->is_exec) return kInvalid;
    id->value = to_graph(exec)->id;
    return {};
  }

  template <typename Handle, typename Object>
  static DriverResult copy_out(const std::vector<Object*>& objects, Handle* out, std::size_t* count) {
    const std::size_t capacity = *count;
    *count = objects.size();
    for (std::size_t i = 0; out != nullptr && i < objects.size() && i < capacity; ++i) out[i] = handle(objects[i]);
    return {out != nullptr && objects.size() > capacity ? DriverStatus::too_small : DriverStatus::ok, 0};
  }

  static DriverResult graph_nodes(void* self, GraphHandle graph, NodeHandle* nodes, std::size_t* count) noexcept {
    Model& m = model(self);
    const std::lock_guard lock(m.mutex);
    return m.graphs.has(graph) ? copy_out(to_graph(graph)->nodes, nodes, count) : kInvalid;
  }

  static DriverResult node_type(void* self, NodeHandle node, NodeType* type) noexcept {
    Model& m = model(self);
    const std::lock_guard lock(m.mutex);
    if (!m.nodes.has(node)) return kInvalid;
    *type = to_node(node)->type;
    return {};
  }

  static DriverResult child_graph(void* self, NodeHandle node, GraphHandle* child) noexcept {
    Model& m = model(self);
    const std::lock_guard lock(m.mutex);
    if (!m.nodes.has(node) || to_node(node)->type != NodeType::child_graph || to_node(node)->bodies.empty()) return kInvalid;
    *child = handle(to_node(node)->bodies.front());
    return {};
  }

  static DriverResult conditional_bodies(void* self, NodeHandle node, GraphHandle* bodies, std::size_t* count) noexcept {
    Model& m = model(self);
    if (!m.options.has_node_params) return kMissing;
    const std::lock_guard lock(m.mutex);
    if (!m.nodes.has(node) || to_node(node)->type != NodeType::conditional) return kInvalid;
    return copy_out(to_node(node)->bodies, bodies, count);
  }

  static DriverResult capture_info(void* self, StreamHandle stream, CaptureInfo* info) noexcept {
    Model& m = model(self);
    const std::lock_guard lock(m.mutex);
    *info = CaptureInfo{};
    if (stream == nullptr) return {};
    if (!m.streams.has(stream)) return kInvalid;
    const Stream* capturing = m.capturing(stream);
    if (capturing == nullptr) return {};
    *info = {CaptureStatus::active, capturing->capture_id, handle(capturing->graph), capturing->frontier.data(),
             capturing->frontier.size()};
    return {};
  }

  static DriverResult subscribe(void* self, GraphObserver* observer, GraphEventSet events,
                                SubscriptionHandle* subscription) noexcept {
    Model& m = model(self);
    if (!m.options.has_callbacks) return kMissing;
    const std::lock_guard lock(m.mutex);
    if (m.taken_by_other || m.observer.load() != nullptr) return {DriverStatus::busy, 39};
    m.events.store(events.bits);
    m.observer.store(observer);
    *subscription = reinterpret_cast<SubscriptionHandle>(&m);
    return {};
  }

  static DriverResult set_events(void* self, SubscriptionHandle subscription, GraphEventSet events) noexcept {
    Model& m = model(self);
    if (subscription != reinterpret_cast<SubscriptionHandle>(&m) || m.observer.load() == nullptr) return kInvalid;
    m.events.store(events.bits);
    return {};
  }

  static DriverResult unsubscribe(void* self, SubscriptionHandle subscription) noexcept {
    Model& m = model(self);
    if (subscription != reinterpret_cast<SubscriptionHandle>(&m) || m.observer.exchange(nullptr) == nullptr) return kInvalid;
    return {};
  }

  static DriverResult device_count(void* self, int* count) noexcept {
    *count = model(self).options.devices;
    return {};
  }

  static DriverResult device_uuid(void* self, int device, std::uint8_t* uuid) noexcept {
    if (device < 0 || device >= model(self).options.devices) return kInvalid;
    std::memset(uuid, device + 1, 16);
    return {};
  }

  static DriverResult timestamp_ns(void*, std::uint64_t* time_ns) noexcept {
    *time_ns = static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
    return {};
  }

  static DriverResult device_name(void* self, int device, char* name, std::size_t capacity) noexcept {
    if (device < 0 || device >= model(self).options.devices) return kInvalid;
    std::snprintf(name, capacity, "Fake %d", device);
    return {};
  }

  // --- activity
  static DriverResult start_activity(void* self, ActivityBuffers* buffers, ActivityKinds wanted,
                                     ActivityKinds* enabled) noexcept {
    return model(self).options.has_activity ? model(self).activity.start(buffers, wanted, enabled) : kMissing;
  }
  static DriverResult stop_activity(void* self) noexcept { return model(self).activity.stop(); }
  static DriverResult flush_activity(void* self, bool forced) noexcept { return model(self).activity.flush(forced); }
  static void detach_activity(void* self, bool in_child) noexcept { model(self).activity.detach(in_child); }
  static DriverResult next_record(void*, std::uint8_t* buffer, std::size_t valid_bytes, const RawRecord** record) noexcept {
    return FakeActivity::next_record(buffer, valid_bytes, record);
  }
  static DriverResult dropped_records(void* self, std::uint64_t* count) noexcept {
    *count = model(self).activity.dropped_in_all();
    return {};
  }
  static DriverResult push_external_id(void* self, std::uint64_t id) noexcept {
    return model(self).activity.push_external_id(vendor::kExternalKind, id);
  }
  static DriverResult pop_external_id(void* self) noexcept { return model(self).activity.pop_external_id(vendor::kExternalKind); }
  static DriverResult call_name(void*, bool of_driver, std::uint32_t callback_id, const char** name) noexcept {
    const char* known = FakeActivity::call_name(of_driver, callback_id);
    if (known == nullptr) return kInvalid;
    *name = known;
    return {};
  }

  static constexpr ActivityTable kActivityTable = {start_activity,   stop_activity,   flush_activity,
                                                   detach_activity,  next_record,     dropped_records,
                                                   push_external_id, pop_external_id, call_name};
  static constexpr DriverTable kTable = {
      node_id,   graph_id,   exec_id,     graph_nodes,  node_type,   child_graph, conditional_bodies, capture_info,
      subscribe, set_events, unsubscribe, device_count, device_uuid, device_name, timestamp_ns,       &kActivityTable};
};

FakeCuda::FakeCuda(Options options) : model_(std::make_unique<Model>(options)) {}
FakeCuda::~FakeCuda() = default;

FakeActivity& FakeCuda::activity() {
  return model_->activity;
}

Driver FakeCuda::driver() {
  return Driver(FakeCalls::kTable, model_.get());
}

bool FakeCuda::take_subscription() {
  const std::lock_guard lock(model_->mutex);
  if (model_->taken_by_other || model_->observer.load() != nullptr) return false;
  model_->taken_by_other = true;
  return true;
}

bool FakeCuda::release_subscription() {
  const std::lock_guard lock(model_->mutex);
  return std::exchange(model_->taken_by_other, false);
}

bool FakeCuda::has_subscriber() const {
  return model_->observer.load() != nullptr;
}

void FakeCuda::emit(const GraphEvent& event) {
  model_->emit(event);
}

}  // namespace graphtag::fake
