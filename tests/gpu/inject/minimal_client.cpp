// The least that a CUPTI client can do, injected as graphtag's library is: it asks for the same records, and throws its buffers away.
#include <cupti.h>

#include <cstdlib>
#include <initializer_list>

namespace {

void request(uint8_t** buffer, size_t* size, size_t* max_records) {
  *size = size_t{1} << 20;
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(8, *size));
  *max_records = 0;
}

void complete(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t) {
  std::free(buffer);
}

}  // namespace

extern "C" int InitializeInjection() {
  cuptiActivityRegisterCallbacks(request, complete);
  for (const CUpti_ActivityKind kind :
       {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY2,
        CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_OVERHEAD}) {
    cuptiActivityEnable(kind);
  }
  std::atexit([] { cuptiActivityFlushAll(1); });
  return 1;
}
