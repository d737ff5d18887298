// CUPTI's records as plain structs.
#include <cstring>
#include <iterator>

#include "driver/vendor_activity.h"

namespace graphtag {
namespace {

template <typename Record>
const Record& as(const RawRecord* record) {
  return *reinterpret_cast<const Record*>(record);
}

template <typename Record>
GpuActivity common(ActivityKind kind, const Record& record) {
  GpuActivity activity;
  activity.kind = kind;
  activity.start_ns = record.start;
  activity.end_ns = record.end;
  activity.device = record.device;
  activity.context = record.context;
  activity.stream = record.stream;
  activity.correlation = record.correlation;
  activity.node = NodeId{record.graph_node};
  activity.graph = GraphId{record.graph};
  return activity;
}

template <typename Record>
GpuActivity copy(ActivityKind kind, const Record& record) {
  GpuActivity activity = common(kind, record);
  activity.bytes = record.bytes;
  activity.copy_kind = record.copy_kind;
  activity.source_kind = record.source_kind;
  activity.target_kind = record.target_kind;
  return activity;
}

}  // namespace

ActivityKind kind_of(const RawRecord* record) noexcept {
  std::uint32_t number = 0;
  std::memcpy(&number, record, sizeof number);
  for (std::size_t i = 0; i < kActivityKinds; ++i) {
    if (vendor::kActivityNumbers[i] == number) return static_cast<ActivityKind>(i);
  }
  return ActivityKind::other;
}

std::uint64_t start_of(const RawRecord* record) noexcept {
  switch (kind_of(record)) {
    case ActivityKind::kernel:
      return as<vendor::KernelRecord>(record).start;
    case ActivityKind::memcpy:
      return as<vendor::MemcpyRecord>(record).start;
    case ActivityKind::peer_memcpy:
      return as<vendor::PeerMemcpyRecord>(record).start;
    case ActivityKind::memset:
      return as<vendor::MemsetRecord>(record).start;
    case ActivityKind::driver_call:
    case ActivityKind::runtime_call:
      return as<vendor::ApiRecord>(record).start;
    case ActivityKind::overhead:
      return as<vendor::OverheadRecord>(record).start;
    case ActivityKind::external_id:
    case ActivityKind::other:
      break;
  }
  return 0;
}

GpuActivity decode_gpu_activity(const RawRecord* record) noexcept {
  const ActivityKind kind = kind_of(record);
  switch (kind) {
    case ActivityKind::memcpy:
      return copy(kind, as<vendor::MemcpyRecord>(record));
    case ActivityKind::peer_memcpy: {
      const auto& raw = as<vendor::PeerMemcpyRecord>(record);
      GpuActivity activity = copy(kind, raw);
      activity.source_device = raw.source_device;
      return activity;
    }
    case ActivityKind::memset: {
      const auto& raw = as<vendor::MemsetRecord>(record);
      GpuActivity activity = common(kind, raw);
      activity.bytes = raw.bytes;
      activity.value = raw.value;
      activity.target_kind = static_cast<std::uint8_t>(raw.memory_kind);
      return activity;
    }
    default: {
      const auto& raw = as<vendor::KernelRecord>(record);
      GpuActivity activity = common(ActivityKind::kernel, raw);
      activity.name = raw.name;
      for (int i = 0; i < 3; ++i) {
        activity.grid[i] = raw.grid[i];
        activity.block[i] = raw.block[i];
      }
      activity.registers = raw.registers;
      activity.shared_bytes =
          std::uint64_t{static_cast<std::uint32_t>(raw.static_shared)} + static_cast<std::uint32_t>(raw.dynamic_shared);
      return activity;
    }
  }
}

ApiCall decode_call(const RawRecord* record) noexcept {
  const auto& raw = as<vendor::ApiRecord>(record);
  return {kind_of(record) == ActivityKind::driver_call,
          raw.callback_id,
          raw.start,
          raw.end,
          raw.thread,
          raw.correlation,
          raw.return_value};
}

ExternalId decode_external_id(const RawRecord* record) noexcept {
  const auto& raw = as<vendor::ExternalRecord>(record);
  // Those of another tool mean nothing here.
  return {raw.external_kind == vendor::kExternalKind ? raw.external_id : 0, raw.correlation};
}

Overhead decode_overhead(const RawRecord* record) noexcept {
  const auto& raw = as<vendor::OverheadRecord>(record);
  Overhead overhead{raw.overhead_kind, raw.start, raw.end, raw.object_kind == vendor::kObjectThread, 0, 0};
  if (overhead.of_thread) {
    overhead.process = raw.object[0];
    overhead.thread = raw.object[1];
  }
  return overhead;
}

const char* copy_kind_name(std::uint8_t kind) noexcept {
  static constexpr const char* kNames[] = {"", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH", "PtoP"};
  return kind < std::size(kNames) ? kNames[kind] : "";
}

const char* memory_kind_name(std::uint8_t kind) noexcept {
  static constexpr const char* kNames[] = {"Unknown", "Pageable", "Pinned",        "Device",
                                           "Array",   "Managed",  "Device Static", "Managed Static"};
  return kind < std::size(kNames) ? kNames[kind] : "Unknown";
}

const char* overhead_name(std::uint32_t kind) noexcept {
  static constexpr const char* kNames[] = {"Unknown",
                                           "Buffer Flush",
                                           "Instrumentation",
                                           "Resource",
                                           "Runtime Triggered Module Loading",
                                           "Lazy Function Loading",
                                           "Command Buffer Full",
                                           "Activity Buffer Request",
                                           "UVM Activity Init"};
  if (kind == 1) return "Driver Compiler";
  const std::uint32_t number = kind >> 16;
  return (kind & 0xffff) == 0 && number < std::size(kNames) ? kNames[number] : kNames[0];
}

}  // namespace graphtag
