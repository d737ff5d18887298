// libcuda.so.1 over the process's FakeCuda: what graphtag looks up in a driver of CUDA 13.0.
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <mutex>

#include "driver/vendor.h"
#include "tests/fake/vendor/process_fake.h"

using namespace graphtag;  // NOLINT(google-build-using-namespace)

namespace {

std::int32_t to_cuda(DriverResult result) {
  return result.ok() || result.status == DriverStatus::too_small ? 0 : vendor::kCudaInvalidValue;
}
Driver driver() {
  return fake::process_fake().driver();
}

}  // namespace

extern "C" {

std::int32_t cuInit(unsigned) {
  // As the real one: a tool is loaded once, before CUDA can be used.
  static std::once_flag once;
  std::call_once(once, [] {
    const char* path = std::getenv("CUDA_INJECTION64_PATH");
    void* tool = path == nullptr ? nullptr : dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (tool == nullptr) return;
    if (const auto start = reinterpret_cast<int (*)()>(dlsym(tool, "InitializeInjection"))) (void)start();
  });
  return vendor::kCudaSuccess;
}

std::int32_t cuDriverGetVersion(int* version) {
  *version = 13000;
  return vendor::kCudaSuccess;
}

std::int32_t cuDeviceGetCount(int* count) {
  return to_cuda(driver().device_count(*count));
}

std::int32_t cuDeviceGetName(char* name, int capacity, int device) {
  return to_cuda(driver().device_name(device, name, static_cast<std::size_t>(capacity)));
}

std::int32_t cuDeviceGetUuid_v2(std::uint8_t* uuid, int device) {
  std::uint8_t bytes[16] = {};
  const std::int32_t code = to_cuda(driver().device_uuid(device, bytes));
  std::memcpy(uuid, bytes, sizeof bytes);
  return code;
}

std::int32_t cuGraphGetNodes(GraphHandle graph, NodeHandle* nodes, std::size_t* count) {
  const std::size_t capacity = *count;
  const DriverResult result = driver().graph_nodes(graph, nodes, *count);
  // The real one says how many it wrote, not how many there are.
  if (nodes != nullptr && *count > capacity) *count = capacity;
  return to_cuda(result);
}

std::int32_t cuGraphNodeGetType(NodeHandle node, NodeType* type) {
  return to_cuda(driver().node_type(node, *type));
}

std::int32_t cuGraphChildGraphNodeGetGraph(NodeHandle node, GraphHandle* graph) {
  return to_cuda(driver().child_graph(node, *graph));
}

std::int32_t cuStreamGetCaptureInfo_v2(StreamHandle stream, CaptureStatus* status, std::uint64_t* id, GraphHandle* graph,
                                       const NodeHandle** frontier, std::size_t* frontier_size) {
  CaptureInfo info;
  const std::int32_t code = to_cuda(driver().capture_info(stream, info));
  *status = info.status;
  // Like the real one, it leaves the rest alone where nothing is captured.
  if (code != 0 || info.status == CaptureStatus::none) return code;
  *id = info.capture_id;
  *graph = info.graph;
  *frontier = info.frontier;
  *frontier_size = info.frontier_size;
  return code;
}

std::int32_t cuStreamGetCaptureInfo_v3(StreamHandle stream, CaptureStatus* status, std::uint64_t* id, GraphHandle* graph,
                                       const NodeHandle** frontier, const void** edges, std::size_t* frontier_size) {
  // CUDA_ERROR_LOSSY_QUERY where edges carry data and nobody takes it.
  if (edges == nullptr) return 917;
  *edges = nullptr;
  return cuStreamGetCaptureInfo_v2(stream, status, id, graph, frontier, frontier_size);
}
}
