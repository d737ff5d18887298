// A profiler of the program's own, as PyTorch has one: a library that is linked with CUPTI and was loaded for itself alone.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>

#include "driver/vendor.h"
#include "driver/vendor_activity.h"

using namespace graphtag;  // NOLINT(google-build-using-namespace)

extern "C" {
std::int32_t cuptiSubscribe(void** handle, vendor::CallbackFunction callback, void* user);
std::int32_t cuptiSubscribe_v2(void** handle, vendor::CallbackFunction callback, void* user, vendor::SubscriberParams* params);
std::int32_t cuptiEnableCallback(std::uint32_t enable, void* handle, std::uint32_t domain, std::uint32_t callback_id);
std::int32_t cuptiActivityRegisterCallbacks(vendor::RequestFunction request, vendor::CompleteFunction complete);
std::int32_t cuptiActivityEnable(std::uint32_t number);
std::int32_t cuptiActivityFlushAll(std::uint32_t flag);
std::int32_t cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t valid_bytes, const RawRecord** record);
}

namespace {

std::mutex mutex;  // of what follows
std::set<std::uint8_t*> given;
int kernels = 0, foreign_buffers = 0;
std::atomic<int> callbacks{0};

void on_callback(void*, std::uint32_t, std::uint32_t, const void*) {
  ++callbacks;
}

void request(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records) {
  *size = 65536;
  *max_records = 0;
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, *size));
  const std::lock_guard lock(mutex);
  given.insert(*buffer);
}

void complete(void*, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  const std::lock_guard lock(mutex);
  if (given.erase(buffer) == 0) {
    ++foreign_buffers;
    return;
  }
  const RawRecord* record = nullptr;
  while (cuptiActivityGetNextRecord(buffer, valid, &record) == vendor::kCuptiSuccess) {
    std::uint32_t kind = 0;  // the head of every record
    std::memcpy(&kind, record, sizeof kind);
    if (kind == vendor::kActivityNumbers[0]) ++kernels;
  }
  std::free(buffer);
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

// These return CUPTI's answer.
int profiler_subscribe(void** handle) {
  const int answer = cuptiSubscribe(handle, on_callback, nullptr);
  if (answer == 0)
    cuptiEnableCallback(1, *handle, vendor::kResourceDomain, vendor::kCallbackIds[4]);  // of each node that is made
  return answer;
}

int profiler_subscribe_v2(void** handle) {
  vendor::SubscriberParams params{sizeof(vendor::SubscriberParams), "plug-in", nullptr, 0};
  return cuptiSubscribe_v2(handle, on_callback, nullptr, &params);
}

// As the last thing that it does, so that CUPTI returns to the caller's caller.
int profiler_subscribe_by_jump(void** handle) {
  return cuptiSubscribe(handle, on_callback, nullptr);
}

int profiler_record() {
  const int answer = cuptiActivityRegisterCallbacks(request, complete);
  return answer != 0 ? answer : cuptiActivityEnable(vendor::kActivityNumbers[0]);
}

void profiler_report() {
  cuptiActivityFlushAll(vendor::kFlushForced);
  const std::lock_guard lock(mutex);
  std::printf("profiler: %d kernels, %d nodes, %d foreign buffers\n", kernels, callbacks.load(), foreign_buffers);
  std::fflush(stdout);
}
}
#pragma GCC visibility pop
