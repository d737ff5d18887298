// CUPTI's activity records of a process, for tests in Python: a shared library that records.py builds and calls through ctypes. It shares nothing
// with graphtag, and leaves libcupti's symbols to the copy that PyTorch has loaded.
#include <cupti.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <vector>

namespace {

struct Row {
  std::uint64_t node_id;  // 0 outside graphs
  std::uint64_t start_ns;
  std::uint64_t end_ns;
  std::uint64_t bytes;  // of copies and sets
  std::uint32_t kind;   // 0 kernel, 1 memcpy, 2 memset
  std::uint32_t correlation;
  std::uint32_t stream;
  std::uint32_t grid[3];
  char name[400];  // mangled; cut, and ends in 0
};
static_assert(sizeof(Row) == 456);

constexpr std::size_t kBufferBytes = 8 << 20;

std::mutex mutex;
std::vector<Row> rows;      // guarded by mutex
std::uint64_t dropped = 0;  // likewise

void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, kBufferBytes));
  *size = *buffer == nullptr ? 0 : kBufferBytes;
  *max_records = 0;
}

template <typename Activity>
Row common(std::uint32_t kind, const Activity& activity) {
  Row row{};
  row.node_id = activity.graphNodeId;
  row.start_ns = activity.start;
  row.end_ns = activity.end;
  row.kind = kind;
  row.correlation = activity.correlationId;
  row.stream = activity.streamId;
  return row;
}

void keep(const CUpti_Activity* activity) {
  switch (activity->kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
      const auto& kernel = *reinterpret_cast<const CUpti_ActivityKernel9*>(activity);
      Row row = common(0, kernel);
      row.grid[0] = static_cast<std::uint32_t>(kernel.gridX);
      row.grid[1] = static_cast<std::uint32_t>(kernel.gridY);
      row.grid[2] = static_cast<std::uint32_t>(kernel.gridZ);
      std::snprintf(row.name, sizeof row.name, "%s", kernel.name);
      rows.push_back(row);
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
      const auto& copy = *reinterpret_cast<const CUpti_ActivityMemcpy5*>(activity);
      Row row = common(1, copy);
      row.bytes = copy.bytes;
      rows.push_back(row);
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMSET: {
      const auto& set = *reinterpret_cast<const CUpti_ActivityMemset4*>(activity);
      Row row = common(2, set);
      row.bytes = set.bytes;
      rows.push_back(row);
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

constexpr CUpti_ActivityKind kKinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                                         CUPTI_ACTIVITY_KIND_MEMSET};

}  // namespace

extern "C" {

// Each returns 0, or the CUptiResult of what failed.
int records_start() {
  if (const CUptiResult result = cuptiActivityRegisterCallbacks(give_buffer, take_buffer)) return result;
  for (const CUpti_ActivityKind kind : kKinds) {
    if (const CUptiResult result = cuptiActivityEnable(kind)) return result;
  }
  return 0;
}

int records_stop() {
  for (const CUpti_ActivityKind kind : kKinds) {
    if (const CUptiResult result = cuptiActivityDisable(kind)) return result;
  }
  return 0;
}

int records_flush() {
  return cuptiActivityFlushAll(0);
}

// Copies up to `capacity` rows out, and forgets all; returns how many there were. With capacity 0 none is forgotten.
std::size_t records_take(Row* out, std::size_t capacity) {
  const std::lock_guard lock(mutex);
  const std::size_t count = rows.size();
  if (capacity == 0) return count;
  for (std::size_t i = 0; i < count && i < capacity; ++i) out[i] = rows[i];
  rows.clear();
  return count;
}

std::uint64_t records_dropped() {
  const std::lock_guard lock(mutex);
  return dropped;
}

}  // extern "C"
