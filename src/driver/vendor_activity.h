// The layouts of CUPTI's activity records, in our own words. CUPTI gives each record a newer struct now and then (kernels: 9 in CUDA 12.0, 10 in
// 12.8 and newer), which has more at its end: what stands here is what they share from CUDA 12.0 to 13.x. Records are never copied by
// size, only read, and CUPTI itself steps from one to the next. For this folder, and for tests/fake.
#pragma once

#include <array>
#include <cstdint>

#include "driver/activity.h"

namespace graphtag::vendor {

constexpr std::int32_t kCuptiMaxLimitReached = 12;  // no further record
constexpr std::int32_t kCuptiQueueEmpty = 18;

// ActivityKind -> CUpti_ActivityKind
constexpr std::array<std::uint32_t, kActivityKinds> kActivityNumbers = {
    10,  // kernel: CONCURRENT_KERNEL
    1,   // memcpy
    22,  // peer_memcpy: MEMCPY2
    2,   // memset
    4,   // driver_call
    5,   // runtime_call
    39,  // external_id
    17,  // overhead
};

constexpr std::uint32_t kFlushForced = 1;      // CUPTI_ACTIVITY_FLAG_FLUSH_FORCED
constexpr std::uint32_t kSystemThreadIds = 1;  // CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM
// CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2: Kineto uses CUSTOM0 and CUSTOM1.
constexpr std::uint32_t kExternalKind = 5;
constexpr std::uint32_t kObjectThread = 2;  // CUPTI_ACTIVITY_OBJECT_THREAD

#define GRAPHTAG_RECORD struct __attribute__((packed, aligned(8)))

GRAPHTAG_RECORD KernelRecord {
  std::uint32_t kind;
  std::uint8_t cache_config, shared_memory_config;
  std::uint16_t registers;
  std::uint32_t cache_requested, cache_executed;
  std::uint64_t start, end, completed;
  std::uint32_t device, context, stream;
  std::int32_t grid[3], block[3];
  std::int32_t static_shared, dynamic_shared;
  std::uint32_t local_per_thread, local_total;
  std::uint32_t correlation;
  std::int64_t grid_id;
  const char* name;
  void* reserved;
  std::uint64_t queued, submitted;
  std::uint8_t launch_type, carveout_requested, carveout, padding;
  std::uint32_t shared_executed;
  std::uint64_t graph_node;
  std::uint32_t shared_limit;
  std::uint32_t graph;
};

GRAPHTAG_RECORD MemcpyRecord {
  std::uint32_t kind;
  std::uint8_t copy_kind, source_kind, target_kind, flags;
  std::uint64_t bytes, start, end;
  std::uint32_t device, context, stream, correlation, runtime_correlation, padding;
  void* reserved;
  std::uint64_t graph_node;
  std::uint32_t graph;
};

GRAPHTAG_RECORD PeerMemcpyRecord {
  std::uint32_t kind;
  std::uint8_t copy_kind, source_kind, target_kind, flags;
  std::uint64_t bytes, start, end;
  std::uint32_t device, context, stream;
  std::uint32_t source_device, source_context, target_device, target_context;
  std::uint32_t correlation;
  void* reserved;
  std::uint64_t graph_node;
  std::uint32_t graph;
};

GRAPHTAG_RECORD MemsetRecord {
  std::uint32_t kind, value;
  std::uint64_t bytes, start, end;
  std::uint32_t device, context, stream, correlation;
  std::uint16_t flags, memory_kind;
  std::uint32_t padding;
  void* reserved;
  std::uint64_t graph_node;
  std::uint32_t graph;
};

GRAPHTAG_RECORD ApiRecord {
  std::uint32_t kind, callback_id;
  std::uint64_t start, end;
  std::uint32_t process, thread, correlation, return_value;
};

GRAPHTAG_RECORD ExternalRecord {
  std::uint32_t kind, external_kind;
  std::uint64_t external_id;
  std::uint32_t correlation, reserved;
};

GRAPHTAG_RECORD OverheadRecord {
  std::uint32_t kind, overhead_kind, object_kind;
  std::uint32_t object[3];  // of a thread: process, thread
  std::uint64_t start, end;
};

#undef GRAPHTAG_RECORD

// CUPTI's callbacks.
using RequestFunction = void (*)(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records);
using CompleteFunction = void (*)(void* context, std::uint32_t stream, std::uint8_t* buffer, std::size_t size, std::size_t valid);

}  // namespace graphtag::vendor
