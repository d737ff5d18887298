// Captures a small decode step with scopes, replays it, and prints for each kernel which region it belongs to and how long it took.
//
//   nvcc -arch=native -std=c++20 decode.cu -lgraphtag -lcupti -o decode && ./decode
//
// A profiler would write such records to a file, and `graphtag annotate` join them; here the program reads them from CUPTI itself.
#include <cuda_runtime.h>
#include <cupti.h>

#include <cstdio>
#include <cstdlib>
#include <graphtag/graphtag.hpp>
#include <string>
#include <vector>

__global__ void attention(float* x, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) x[i] = x[i] * 0.5f + 1.0f;
}
__global__ void mlp(float* x, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    x[i] = x[i] > 0.0f ? x[i] : 0.01f * x[i];
}

#if CUPTI_API_VERSION >= 130000
using KernelRecord = CUpti_ActivityKernel10;
#else
using KernelRecord = CUpti_ActivityKernel9;
#endif

struct Kernel {
  std::string name;
  std::uint64_t node_id, start_ns, end_ns;
};
std::vector<Kernel> kernels;

void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records) {
  *size = 1 << 20;
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, *size));
  *max_records = 0;
}
void CUPTIAPI take_buffer(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  for (CUpti_Activity* record = nullptr; cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS;) {
    const auto* kernel = reinterpret_cast<const KernelRecord*>(record);
    if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
      kernels.push_back({kernel->name, kernel->graphNodeId, kernel->start, kernel->end});
    }
  }
  std::free(buffer);
}

int main() {
  std::string why;
  if (!gt::available(gt::Observer::automatic, why)) {
    std::printf("decode: skipped: %s\n", why.c_str());
    return 77;
  }
  constexpr int kSize = 1 << 22;
  float* x = nullptr;
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  if (cudaMalloc(&x, kSize * sizeof(float)) != cudaSuccess) return std::printf("decode: skipped: no GPU\n"), 77;
  cudaMemset(x, 0, kSize * sizeof(float));
  cudaStreamCreate(&stream);

  gt::Window window;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  for (int layer = 0; layer < 2; ++layer) {
    const std::string name = "layers." + std::to_string(layer);
    const gt::Scope whole{gt::Annotation(name)};
    {
      const gt::Scope scope{"attention"};
      attention<<<132, 256, 0, stream>>>(x, kSize);
    }
    const gt::Scope scope{"mlp"};
    mlp<<<132, 256, 0, stream>>>(x, kSize);
  }
  cudaStreamEndCapture(stream, &graph);
  cudaGraphInstantiate(&exec, graph, 0);
  window.close();  // before the profiler begins

  cuptiActivityRegisterCallbacks(give_buffer, take_buffer);
  cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  for (int i = 0; i < 3; ++i) cudaGraphLaunch(exec, stream);
  cudaStreamSynchronize(stream);
  cuptiActivityFlushAll(0);
  for (const Kernel& kernel : kernels) {
    gt_resolution found{};
    found.size = sizeof found;
    char region[256] = "-";
    std::size_t length = 0;
    if (gt_resolve(kernel.node_id, GT_NOW, &found) == GT_OK) {
      gt_annotation_json(found.annotation, GT_JSON_PATH, region, sizeof region, &length);
    }
    std::printf("%-24s %-64s %8.2f us\n", kernel.name.c_str(), region, (kernel.end_ns - kernel.start_ns) / 1e3);
  }
  return kernels.size() == 12 ? 0 : 1;
}
