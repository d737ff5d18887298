// A CUDA program with NVTX ranges that knows nothing of graphtag: threads that capture, build by hand, use child graphs and conditionals, and launch.
// Each kernel has a grid that nothing else has; the file TRUTH says what each was launched as.
//
// usage: raw_program TRUTH [THREADS ROUNDS]
//        raw_program --loop NODES SECONDS [PAUSE_US [PROGRESS]]    a decode-like loop: a graph of NODES kernels, launched for SECONDS with
//            pauses between; prints launches and ns each. PROGRESS becomes a file of one line: the launches that are finished, their Unix time in ns, the process id
#include <cuda_runtime.h>
#include <fcntl.h>
#include <nvtx3/nvToolsExt.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#define CHECK(call)                                                                                  \
  do {                                                                                               \
    const cudaError_t error = (call);                                                                \
    if (error != cudaSuccess) {                                                                      \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(error)); \
      std::exit(1);                                                                                  \
    }                                                                                                \
  } while (false)

namespace {

__global__ void inject_probe(int* sink) {
  if (threadIdx.x == 0 && blockIdx.x == 0) atomicAdd(sink, 1);
}

int* sink = nullptr;

struct Launched {
  std::string region;
  bool in_graph = false;
  int launches = 0;
};
std::mutex mutex;
std::map<unsigned, Launched> truth;  // grid -> what it is
unsigned next_grid = 1000;

// The ranges of a thread, as it knows them itself.
class Ranges {
 public:
  void push(const std::string& text) {
    nvtxRangePushA(text.c_str());
    open_.push_back(text);
  }
  void pop() {
    nvtxRangePop();
    open_.pop_back();
  }
  std::string region() const {
    std::string path;
    for (const auto& text : open_) path += (path.empty() ? "" : ".") + text;
    return path;
  }

 private:
  std::vector<std::string> open_;
};

unsigned new_grid(const std::string& region, bool in_graph) {
  const std::lock_guard lock(mutex);
  truth[next_grid] = {region, in_graph, in_graph ? 0 : 1};
  return next_grid++;
}

void count(const std::vector<unsigned>& grids, int launches) {
  const std::lock_guard lock(mutex);
  for (const unsigned grid : grids) truth[grid].launches += launches;
}

struct Work {
  cudaGraphExec_t exec = nullptr;
  std::vector<unsigned> grids;
  int launches = 0;
};

void launch(cudaStream_t stream, unsigned grid) {
  inject_probe<<<grid, 32, 0, stream>>>(sink);
  CHECK(cudaGetLastError());
}

void add_probe(Ranges& ranges, cudaStream_t stream, Work& work) {
  work.grids.push_back(new_grid(ranges.region(), true));
  launch(stream, work.grids.back());
}

// Kernels in nested ranges, a fork and a join, and a conditional whose body is captured.
Work captured(Ranges& ranges, cudaStream_t stream, cudaStream_t side) {
  Work work;
  cudaEvent_t forked, joined;
  CHECK(cudaEventCreate(&forked));
  CHECK(cudaEventCreate(&joined));
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  ranges.push("captured");
  add_probe(ranges, stream, work);
  for (int layer = 0; layer < 3; ++layer) {
    ranges.push("layer " + std::to_string(layer));
    add_probe(ranges, stream, work);
    CHECK(cudaEventRecord(forked, stream));
    CHECK(cudaStreamWaitEvent(side, forked, 0));
    ranges.push("side");
    add_probe(ranges, side, work);
    ranges.pop();
    add_probe(ranges, stream, work);
    CHECK(cudaEventRecord(joined, side));
    CHECK(cudaStreamWaitEvent(stream, joined, 0));
    ranges.pop();
  }

  ranges.push("conditional");
  cudaStreamCaptureStatus status;
  cudaGraph_t graph;
  const cudaGraphNode_t* frontier;
  size_t frontier_size;
  CHECK(cudaStreamGetCaptureInfo(stream, &status, nullptr, &graph, &frontier, nullptr, &frontier_size));
  cudaGraphConditionalHandle handle;
  CHECK(cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault));
  cudaGraphNodeParams params = {};
  params.type = cudaGraphNodeTypeConditional;
  params.conditional.handle = handle;
  params.conditional.type = cudaGraphCondTypeIf;
  params.conditional.size = 1;
  cudaGraphNode_t node;
  CHECK(cudaGraphAddNode(&node, graph, frontier, nullptr, frontier_size, &params));
  CHECK(cudaStreamUpdateCaptureDependencies(stream, &node, nullptr, 1, cudaStreamSetCaptureDependencies));
  ranges.push("body");
  cudaStream_t inner;
  CHECK(cudaStreamCreateWithFlags(&inner, cudaStreamNonBlocking));
  CHECK(cudaStreamBeginCaptureToGraph(inner, params.conditional.phGraph_out[0], nullptr, nullptr, 0,
                                      cudaStreamCaptureModeThreadLocal));
  add_probe(ranges, inner, work);
  ranges.push("deep");
  add_probe(ranges, inner, work);
  ranges.pop();
  CHECK(cudaStreamEndCapture(inner, nullptr));
  CHECK(cudaStreamDestroy(inner));
  ranges.pop();
  ranges.pop();
  add_probe(ranges, stream, work);
  ranges.pop();
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&work.exec, graph, 0));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaEventDestroy(forked));
  CHECK(cudaEventDestroy(joined));
  return work;
}

cudaGraphNode_t add_kernel(cudaGraph_t graph, unsigned grid) {
  void* arguments[] = {&sink};
  cudaKernelNodeParams params = {};
  params.func = reinterpret_cast<void*>(&inject_probe);
  params.gridDim = dim3(grid);
  params.blockDim = dim3(32);
  params.kernelParams = arguments;
  cudaGraphNode_t node;
  CHECK(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &params));
  return node;
}

// By hand, with a child graph.
Work built(Ranges& ranges) {
  Work work;
  cudaGraph_t graph, child;
  CHECK(cudaGraphCreate(&child, 0));
  ranges.push("child");
  work.grids.push_back(new_grid("built.holder." + ranges.region(), true));
  add_kernel(child, work.grids.back());
  ranges.pop();
  ranges.push("built");
  CHECK(cudaGraphCreate(&graph, 0));
  work.grids.push_back(new_grid(ranges.region(), true));
  add_kernel(graph, work.grids.back());
  ranges.push("holder");
  cudaGraphNode_t holder;
  CHECK(cudaGraphAddChildGraphNode(&holder, graph, nullptr, 0, child));
  ranges.pop();
  ranges.pop();
  CHECK(cudaGraphInstantiate(&work.exec, graph, 0));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaGraphDestroy(child));
  return work;
}

void run_thread(int number, int rounds) {
  Ranges ranges;
  cudaStream_t stream, side;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
  ranges.push("thread " + std::to_string(number));
  for (int round = 0; round < rounds; ++round) {
    std::vector<Work> works;
    works.push_back(captured(ranges, stream, side));
    ranges.pop();
    works.push_back(built(ranges));
    ranges.push("thread " + std::to_string(number));
    for (int turn = 0; turn < 5; ++turn) {
      for (Work& work : works) {
        ranges.push("launch");
        CHECK(cudaGraphLaunch(work.exec, stream));
        ranges.pop();
        ++work.launches;
      }
      ranges.push("eager");
      launch(stream, new_grid(ranges.region(), false));
      ranges.pop();
    }
    CHECK(cudaStreamSynchronize(stream));
    for (Work& work : works) {
      count(work.grids, work.launches);
      CHECK(cudaGraphExecDestroy(work.exec));
    }
  }
  ranges.pop();
  CHECK(cudaStreamDestroy(stream));
  CHECK(cudaStreamDestroy(side));
}

void write_truth(const char* path) {
  std::ofstream file(path);
  const char* separator = "{\n";
  for (const auto& [grid, launched] : truth) {
    file << separator << '"' << grid << "\": {\"region\": \"" << launched.region
         << "\", \"graph\": " << (launched.in_graph ? "true" : "false") << ", \"launches\": " << launched.launches << '}';
    separator = ",\n";
  }
  file << "}\n";
}

std::int64_t unix_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

int loop(int nodes, double seconds, int pause_us, const char* progress) {
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  nvtxRangePushA("decode");
  for (int i = 0; i < nodes; ++i) {
    nvtxRangePushA(("layers." + std::to_string(i / 10)).c_str());
    inject_probe<<<1, 32, 0, stream>>>(sink);
    nvtxRangePop();
  }
  nvtxRangePop();
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  const int out = progress == nullptr ? -1 : open(progress, O_RDWR | O_CREAT | O_TRUNC, 0644);
  const auto begin = std::chrono::steady_clock::now();
  long launches = 0;
  double taken = 0;
  while (taken < seconds) {
    nvtxRangePushA("step");
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    nvtxRangePop();
    if (pause_us > 0) usleep(static_cast<useconds_t>(pause_us));
    ++launches;
    if (out >= 0) {
      char line[64];
      const int length =
          std::snprintf(line, sizeof line, "%12ld %20lld %d\n", launches, static_cast<long long>(unix_ns()), getpid());
      if (pwrite(out, line, static_cast<size_t>(length), 0) < 0) return 1;
    }
    taken = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  std::printf("{\"launches\": %ld, \"ns_a_launch\": %.0f, \"nodes\": %d}\n", launches,
              taken * 1e9 / static_cast<double>(launches), nodes);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "--loop") == 0 && argc > 3) {
    CHECK(cudaMalloc(&sink, sizeof *sink));
    return loop(std::atoi(argv[2]), std::atof(argv[3]), argc > 4 ? std::atoi(argv[4]) : 0, argc > 5 ? argv[5] : nullptr);
  }
  if (argc < 2) return 2;
  CHECK(cudaMalloc(&sink, sizeof *sink));
  const int threads = argc > 2 ? std::atoi(argv[2]) : 4, rounds = argc > 3 ? std::atoi(argv[3]) : 50;
  std::vector<std::thread> running;
  for (int i = 0; i < threads; ++i) running.emplace_back(run_thread, i, rounds);
  for (auto& thread : running) thread.join();
  CHECK(cudaDeviceSynchronize());
  write_truth(argv[1]);
}
