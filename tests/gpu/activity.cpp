#include "activity.h"

#include <cupti.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "known.h"

namespace gpu_test {
namespace {

constexpr std::size_t kBufferBytes = 8 << 20;

std::mutex mutex;
std::vector<Record> records;  // guarded by mutex
std::uint64_t dropped = 0;    // likewise

void check(CUptiResult result, const char* what) {
  if (result == CUPTI_SUCCESS) return;
  const char* text = "";
  cuptiGetResultString(result, &text);
  std::fprintf(stderr, "%s: %s\n", what, text);
  std::exit(2);
}

void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, kBufferBytes));
  *size = *buffer == nullptr ? 0 : kBufferBytes;
  *max_records = 0;
}

void keep(const CUpti_Activity* activity) {
  switch (activity->kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
      const auto* kernel = reinterpret_cast<const CUpti_ActivityKernel10*>(activity);
      const bool ours = std::strstr(kernel->name, "plain_kernel") != nullptr ||
                        std::strstr(kernel->name, "last_round") != nullptr ||
                        std::strstr(kernel->name, "launch_behind") != nullptr;
      const std::uint32_t identity = identity_of_grid(kernel->gridX, kernel->gridY, kernel->gridZ);
      records.push_back({ours ? RecordKind::kernel : RecordKind::drivers_own, kernel->graphNodeId, kernel->correlationId,
                         identity, kernel->start, kernel->end});
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
      const auto* copy = reinterpret_cast<const CUpti_ActivityMemcpy6*>(activity);
      records.push_back(
          {RecordKind::memcpy, copy->graphNodeId, copy->correlationId, identity_of_bytes(copy->bytes), copy->start, copy->end});
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMSET: {
      const auto* set = reinterpret_cast<const CUpti_ActivityMemset4*>(activity);
      records.push_back(
          {RecordKind::memset, set->graphNodeId, set->correlationId, identity_of_bytes(set->bytes), set->start, set->end});
      break;
    }
    default:
      break;
  }
}

void CUPTIAPI take_buffer(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  const std::lock_guard lock(mutex);
  CUpti_Activity* activity = nullptr;
  while (cuptiActivityGetNextRecord(buffer, valid, &activity) == CUPTI_SUCCESS) keep(activity);
  std::size_t lost = 0;
  if (cuptiActivityGetNumDroppedRecords(context, stream, &lost) == CUPTI_SUCCESS) dropped += lost;
  std::free(buffer);
}

}  // namespace

void start_activity() {
  check(cuptiActivityRegisterCallbacks(give_buffer, take_buffer), "cuptiActivityRegisterCallbacks");
  for (const CUpti_ActivityKind kind :
       {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET}) {
    check(cuptiActivityEnable(kind), "cuptiActivityEnable");
  }
}

std::vector<Record> take_records() {
  check(cuptiActivityFlushAll(0), "cuptiActivityFlushAll");
  const std::lock_guard lock(mutex);
  std::vector<Record> taken;
  taken.swap(records);
  return taken;
}

std::uint64_t dropped_records() {
  const std::lock_guard lock(mutex);
  return dropped;
}

}  // namespace gpu_test
