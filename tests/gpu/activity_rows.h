// CUPTI's activity records of kernels, copies and sets, gathered as rows. It shares nothing with graphtag, and needs CUPTI's headers alone.
#pragma once

#include <cupti.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <utility>
#include <vector>

namespace gpu_test {

// Of the process: CUPTI has one set of callbacks. `kAppend` makes a row of a record, or none.
template <typename Row, void (*kAppend)(const CUpti_Activity*, std::vector<Row>&)>
class ActivityRows {
 public:
  static CUptiResult start() {
    if (const CUptiResult result = cuptiActivityRegisterCallbacks(give, take_back)) return result;
    return for_each_kind(cuptiActivityEnable);
  }
  static CUptiResult stop() { return for_each_kind(cuptiActivityDisable); }

  static std::size_t size() {
    const std::lock_guard lock(mutex_);
    return rows_.size();
  }
  // All rows so far, and empties them.
  static std::vector<Row> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(rows_, {});
  }
  // Records that CUPTI says it lost.
  static std::uint64_t dropped() {
    const std::lock_guard lock(mutex_);
    return dropped_;
  }

 private:
  static constexpr std::size_t kBufferBytes = std::size_t{8} << 20;

  static CUptiResult for_each_kind(CUptiResult(CUPTIAPI* call)(CUpti_ActivityKind)) {
    for (const CUpti_ActivityKind kind :
         {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET}) {
      if (const CUptiResult result = call(kind)) return result;
    }
    return CUPTI_SUCCESS;
  }

  static void CUPTIAPI give(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records) {
    *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, kBufferBytes));
    *size = *buffer == nullptr ? 0 : kBufferBytes;
    *max_records = 0;
  }

  static void CUPTIAPI take_back(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t, std::size_t valid) {
    const std::lock_guard lock(mutex_);
    CUpti_Activity* activity = nullptr;
    while (cuptiActivityGetNextRecord(buffer, valid, &activity) == CUPTI_SUCCESS) kAppend(activity, rows_);
    std::size_t lost = 0;
    if (cuptiActivityGetNumDroppedRecords(context, stream, &lost) == CUPTI_SUCCESS) dropped_ += lost;
    std::free(buffer);
  }

  static inline std::mutex mutex_;
  static inline std::vector<Row> rows_;      // guarded by mutex_
  static inline std::uint64_t dropped_ = 0;  // likewise
};

}  // namespace gpu_test
