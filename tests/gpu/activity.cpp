#include "activity.h"

#include <cupti.h>

#include <cstring>

#include "activity_rows.h"
#include "checked_cupti_calls.h"
#include "known.h"

namespace gpu_test {
namespace {

void append(const CUpti_Activity* activity, std::vector<Record>& records) {
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

using Records = ActivityRows<Record, append>;

}  // namespace

void start_activity() {
  check(Records::start(), "CUPTI's activity");
}

std::vector<Record> take_records() {
  check(cuptiActivityFlushAll(0), "cuptiActivityFlushAll");
  return Records::take();
}

std::uint64_t dropped_records() {
  return Records::dropped();
}

}  // namespace gpu_test
