// What recording costs a decode-like loop: a graph of 700 kernels, replayed and waited for, as often as it goes.
//
// usage: record_cost bare|discard|record|record-no-api|all [STEPS]
//
//   bare           nothing watches
//   discard        a minimal CUPTI client: the same kinds of activity as a recording, buffers of 8 MiB that are thrown away as they come
//   discard-node   the same without API records
//   record         gt_record_begin with its defaults
//   record-no-api  without CUDA calls
//   all            each of them in a process of its own, three times in turn; prints the ratios of their best medians
#include <cuda_runtime.h>
#include <cupti.h>
#include <graphtag/graphtag.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "../../tests/gpu/checked_calls.h"
#include "../../tests/gpu/checked_cupti_calls.h"

namespace {

using gpu_test::check;

constexpr int kNodes = 700;

__global__ void work(float* data) {
  data[blockIdx.x * blockDim.x + threadIdx.x] += 1;
}

void CUPTIAPI give(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records) {
  *size = 8 << 20;
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, *size));
  *max_records = 0;
}
void CUPTIAPI take(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t) {
  std::free(buffer);
}

void start_discarding(bool api) {
  std::vector<CUpti_ActivityKind> kinds = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                                           CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_OVERHEAD};
  if (api) {
    for (const CUpti_ActivityKind kind :
         {CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION}) {
      kinds.push_back(kind);
    }
  }
  check(cuptiActivityRegisterCallbacks(give, take), "cuptiActivityRegisterCallbacks");
  for (const CUpti_ActivityKind kind : kinds) check(cuptiActivityEnable(kind), "cuptiActivityEnable");
}

long peak_kib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

// Prints "MEDIAN_US PEAK_KIB".
int measure(const std::string& mode, int steps, const std::string& folder) {
  check(cudaFree(nullptr), "cudaFree");
  gt_recording recording{};
  const std::string path = folder + "/record_cost.pftrace";
  if (mode.rfind("discard", 0) == 0) start_discarding(mode == "discard");
  if (mode.rfind("record", 0) == 0) {
    gt_record_options options{};
    options.size = sizeof options;
    options.path = path.data();
    options.path_length = path.size();
    options.flags = mode == "record" ? 0 : GT_RECORD_NO_API;
    check(gt_record_begin(&options, &recording), "gt_record_begin");
  }
  float* data = nullptr;
  check(cudaMalloc(&data, 132 * 256 * sizeof *data), "cudaMalloc");
  cudaStream_t stream = nullptr;
  check(cudaStreamCreate(&stream), "cudaStreamCreate");
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "cudaStreamBeginCapture");
  for (int i = 0; i < kNodes; ++i) {
    if (i % 10 == 0) gt_enter_name(("layer" + std::to_string(i / 10)).c_str());
    work<<<132, 256, 0, stream>>>(data);
    if (i % 10 == 9) gt_leave();
  }
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
  check(cudaGraphInstantiate(&exec, graph, 0), "cudaGraphInstantiate");
  std::vector<double> times;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < steps; ++i) {
    const auto start = std::chrono::steady_clock::now();
    check(cudaGraphLaunch(exec, stream), "cudaGraphLaunch");
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    times.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
  }
  const double mean = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count() / steps;
  std::sort(times.begin(), times.end());
  unsigned long long kernels = 0, dropped = 0;
  if (recording.value != 0) {
    gt_record_stats stats{};
    stats.size = sizeof stats;
    check(gt_record_end(recording, &stats), "gt_record_end");
    kernels = stats.kernels;
    dropped = stats.dropped_by_cupti;
    unlink(path.c_str());
  }
  if (mode.rfind("discard", 0) == 0) check(cuptiActivityFlushAll(1), "cuptiActivityFlushAll");
  std::printf("%.1f %.1f %ld %llu %llu\n", times[times.size() / 2], mean, peak_kib(), kernels, dropped);
  return 0;
}

struct Measured {
  double median_us = 1e30, mean_us = 1e30;
  long peak_kib = 0;
  unsigned long long kernels = 0, dropped = 0;
};

Measured run(const char* self, const std::string& mode, int steps) {
  const std::string command = std::string("'") + self + "' " + mode + " " + std::to_string(steps);
  std::FILE* pipe = popen(command.c_str(), "r");
  Measured measured;
  if (pipe == nullptr || std::fscanf(pipe, "%lf %lf %ld %llu %llu", &measured.median_us, &measured.mean_us, &measured.peak_kib,
                                     &measured.kernels, &measured.dropped) != 5) {
    std::fprintf(stderr, "%s failed\n", command.c_str());
    std::exit(2);
  }
  pclose(pipe);
  return measured;
}

int compare(const char* self, int steps) {
  const std::vector<std::string> modes = {"bare", "discard", "discard-node", "record", "record-no-api"};
  std::map<std::string, Measured> best;
  for (int round = 0; round < 3; ++round) {
    for (const std::string& mode : modes) {
      const Measured now = run(self, mode, steps);
      Measured& known = best[mode];
      if (now.median_us < known.median_us) known.median_us = now.median_us;
      if (now.mean_us < known.mean_us) known.mean_us = now.mean_us;
      known.peak_kib = std::max(known.peak_kib, now.peak_kib);
      known.kernels = now.kernels;
      known.dropped = std::max(known.dropped, now.dropped);
    }
  }
  std::printf("a graph of %d kernels, %d steps, best of 3\n", kNodes, steps);
  std::printf("%-14s %10s %10s %8s %8s %9s %9s %8s\n", "", "median us", "mean us", "/ bare", "/ client", "peak MiB", "kernels",
              "dropped");
  for (const std::string& mode : modes) {
    const Measured& m = best[mode];
    const Measured& client = best[mode == "record-no-api" ? "discard-node" : "discard"];
    std::printf("%-14s %10.1f %10.1f %8.3f %8.3f %9ld %9llu %8llu\n", mode.c_str(), m.median_us, m.mean_us,
                m.mean_us / best["bare"].mean_us, m.mean_us / client.mean_us, m.peak_kib / 1024, m.kernels, m.dropped);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: record_cost bare|discard|discard-node|record|record-no-api|all [STEPS]\n");
    return 2;
  }
  const int steps = argc > 2 ? std::atoi(argv[2]) : 1000;
  const char* temporary = std::getenv("TMPDIR");
  if (std::strcmp(argv[1], "all") == 0) return compare(argv[0], steps);
  return measure(argv[1], steps, temporary == nullptr ? "/tmp" : temporary);
}
