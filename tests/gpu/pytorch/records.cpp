// CUPTI's activity records of a process, for tests in Python: a shared library that records.py builds and calls through ctypes. It shares nothing
// with graphtag, and leaves libcupti's symbols to the copy that PyTorch has loaded.
#include <cupti.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "../activity_rows.h"

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

void append(const CUpti_Activity* activity, std::vector<Row>& rows) {
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

using Records = gpu_test::ActivityRows<Row, append>;

}  // namespace

extern "C" {

// Each returns 0, or the CUptiResult of what failed.
int records_start() {
  return Records::start();
}

int records_stop() {
  return Records::stop();
}

int records_flush() {
  return cuptiActivityFlushAll(0);
}

// Copies up to `capacity` rows out, and forgets all; returns how many there were. With capacity 0 none is forgotten.
std::size_t records_take(Row* out, std::size_t capacity) {
  if (capacity == 0) return Records::size();
  const std::vector<Row> rows = Records::take();
  std::copy_n(rows.begin(), std::min(rows.size(), capacity), out);
  return rows.size();
}

std::uint64_t records_dropped() {
  return Records::dropped();
}

}  // extern "C"
