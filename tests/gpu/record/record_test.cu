// Recordings on a GPU: as many kernel records as were launched, each with the name that was open when its node was created, or, outside graphs, when it
// was launched; what was dropped is counted.
//
// usage: record_test million|tiny|threads|flush|again|exit FOLDER
//
//   million   a graph of 700 nodes, replayed until a million kernels have run
//   tiny      the same, shorter, with two buffers of 4 KiB: records + dropped = launched
//   threads   4 threads: captured graphs, a conditional graph, eager kernels between
//   flush     a program that never synchronises: what of it is in the file after each second
//   again     two recordings, and work between them that is in neither
//   exit      a process that exits with its recording open
//
// A kernel's identity is its grid. Ends with 0 if all is right, 1 if not, 2 if CUDA or graphtag refused something, 77 where there is no GPU.
#include <cuda_runtime.h>
#include <graphtag/graphtag.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "../checked_calls.h"
#include "recorded_file.h"

namespace gpu_test {
namespace {

constexpr int kNodes = 700;
constexpr int kNodesARegion = 7;

__global__ void work() {}
__global__ void wait_cycles(long long cycles) {
  for (const long long end = clock64() + cycles; clock64() < end;) {
  }
}

// What a kernel of this grid is to be called, and how often it was launched.
struct Known {
  std::string name;
  std::uint64_t launches = 0;
};
using Book = std::map<std::vector<std::int64_t>, Known>;  // grid -> what is known of it

dim3 grid(int node, int thread, int kind) {
  return dim3(static_cast<unsigned>(node % 64 + 1), static_cast<unsigned>(node / 64 + 1 + 16 * kind),
              static_cast<unsigned>(thread + 1));
}
std::vector<std::int64_t> key(const dim3& grid) {
  return {grid.x, grid.y, grid.z};
}

// Captures `nodes` kernels in regions of kNodesARegion within a layer.
cudaGraph_t capture(cudaStream_t stream, int nodes, int thread, Book& book) {
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  check(gt_scope_begin_name("model", GT_NUL), "scope");
  for (int node = 0; node < nodes; ++node) {
    const std::string name = "layer" + std::to_string(node / kNodesARegion) + ".thread" + std::to_string(thread);
    if (node % kNodesARegion == 0) check(gt_scope_begin_name(name.c_str(), GT_NUL), "scope");
    const dim3 size = grid(node, thread, 0);
    work<<<size, 1, 0, stream>>>();
    book[key(size)].name = name;
    if (node % kNodesARegion == kNodesARegion - 1 || node == nodes - 1) check(gt_scope_end(), "scope");
  }
  check(gt_scope_end(), "scope");
  cudaGraph_t graph = nullptr;
  check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
  return graph;
}

cudaGraphExec_t instantiate(cudaGraph_t graph) {
  // Two threads that instantiate while activity is traced lock each other out inside CUPTI and the driver (driver 580).
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  cudaGraphExec_t exec = nullptr;
  check(cudaGraphInstantiate(&exec, graph, 0), "cudaGraphInstantiate");
  return exec;
}

gt_recording begin(const std::string& path, std::uint32_t buffer_count, std::uint32_t buffer_bytes) {
  gt_record_options options{};
  options.size = sizeof options;
  options.flags = GT_RECORD_ANNOTATIONS;
  options.buffer_count = buffer_count;
  options.buffer_bytes = buffer_bytes;
  options.path = path.data();
  options.path_length = path.size();
  gt_recording recording{};
  check(gt_record_begin(&options, &recording), "gt_record_begin");
  return recording;
}

gt_record_stats end(gt_recording recording) {
  gt_record_stats stats{};
  stats.size = sizeof stats;
  const auto start = std::chrono::steady_clock::now();
  check(gt_record_end(recording, &stats), "gt_record_end");
  const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  std::printf(
      "state %u kernels %llu memcpys %llu memsets %llu api %llu overheads %llu; in graphs %llu named %llu, other named %llu\n",
      stats.state, (unsigned long long)stats.kernels, (unsigned long long)stats.memcpys, (unsigned long long)stats.memsets,
      (unsigned long long)stats.api_calls, (unsigned long long)stats.overheads, (unsigned long long)stats.graph_operations,
      (unsigned long long)stats.graph_named, (unsigned long long)stats.other_named);
  std::printf("bad times %llu dropped %llu refused %llu kept %llu unknown %llu lost %llu; %llu bytes; ended in %.0f ms\n",
              (unsigned long long)stats.bad_times, (unsigned long long)stats.dropped_by_cupti,
              (unsigned long long)stats.buffers_refused, (unsigned long long)stats.buffers_kept,
              (unsigned long long)stats.records_unknown, (unsigned long long)stats.records_lost,
              (unsigned long long)stats.bytes_written, ms);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("peak memory %ld MiB\n", usage.ru_maxrss / 1024);
  return stats;
}

// Compares the file with the book. `dropped`: that many may be missing.
bool compare(const std::string& path, const Book& book, std::uint64_t dropped) {
  const RecordedFile file(path);
  std::map<std::vector<std::int64_t>, std::uint64_t> seen;
  std::uint64_t wrong_name = 0, unknown = 0, bad = 0;
  std::map<std::string, std::uint64_t> origins;
  for (const Recorded& operation : file.operations) {
    if (operation.category != "kernel") continue;
    bad += operation.bad_time ? 1 : 0;
    const auto known = book.find(operation.grid);
    if (known == book.end()) {
      ++unknown;
      std::printf("a kernel that was not launched: %s\n", operation.function.c_str());
      continue;
    }
    ++seen[operation.grid];
    ++origins[operation.node_id == 0 ? "outside graphs" : operation.origin];
    if (operation.name != known->second.name && wrong_name++ < 10) {
      std::printf("grid %lld %lld %lld is called '%s' (%s), must be '%s'\n", (long long)operation.grid[0],
                  (long long)operation.grid[1], (long long)operation.grid[2], operation.name.c_str(), operation.origin.c_str(),
                  known->second.name.c_str());
    }
  }
  std::uint64_t launched = 0, missing = 0, too_many = 0, records = 0;
  for (const auto& [size, known] : book) {
    const std::uint64_t count = seen[size];
    launched += known.launches;
    records += count;
    if (count < known.launches) missing += known.launches - count;
    if (count > known.launches) too_many += count - known.launches;
  }
  for (const auto& [origin, count] : origins) std::printf("%s: %llu\n", origin.c_str(), (unsigned long long)count);
  std::printf("launched %llu, records %llu, missing %llu, too many %llu, wrongly named %llu, unknown %llu, bad times %llu\n",
              (unsigned long long)launched, (unsigned long long)records, (unsigned long long)missing,
              (unsigned long long)too_many, (unsigned long long)wrong_name, (unsigned long long)unknown, (unsigned long long)bad);
  const bool right = missing <= dropped && too_many == 0 && wrong_name == 0 && unknown == 0 && bad == 0 &&
                     file.instants.count("graphtag.end") == 1;
  std::printf("%s\n", right ? "PASSED" : "FAILED");
  return right;
}

int million(const std::string& path, int replays, std::uint32_t buffer_count, std::uint32_t buffer_bytes) {
  const gt_recording recording = begin(path, buffer_count, buffer_bytes);
  Book book;
  cudaStream_t stream = nullptr;
  check(cudaStreamCreate(&stream), "cudaStreamCreate");
  const cudaGraph_t graph = capture(stream, kNodes, 0, book);
  const cudaGraphExec_t exec = instantiate(graph);
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < replays; ++i) {
    check(cudaGraphLaunch(exec, stream), "cudaGraphLaunch");
    if (i % 10 == 9) check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  }
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  for (auto& [size, known] : book) known.launches = static_cast<std::uint64_t>(replays);
  std::printf("%d kernels in %.2f s\n", replays * kNodes, seconds);
  const gt_record_stats stats = end(recording);
  const std::uint64_t launched = static_cast<std::uint64_t>(replays) * kNodes;
  bool right = compare(path, book, stats.dropped_by_cupti);
  if (stats.kernels + stats.dropped_by_cupti < launched || (stats.dropped_by_cupti == 0 && stats.kernels != launched)) {
    std::printf("FAILED: kernels and drops do not add up to %llu\n", (unsigned long long)launched);
    right = false;
  }
  return right ? 0 : 1;
}

// One of the threads: a captured graph, one with a conditional, and kernels outside graphs, many times.
void run_thread(int thread, Book& book) {
  constexpr int kReplays = 200, kPlain = 50, kBody = 5, kEager = 8;
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  const cudaGraphExec_t plain = instantiate(capture(stream, kPlain, thread, book));

  cudaGraph_t graph = nullptr;
  check(cudaGraphCreate(&graph, 0), "cudaGraphCreate");
  cudaGraphConditionalHandle handle{};
  check(cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault), "conditional handle");
  cudaGraphNodeParams params{};
  params.type = cudaGraphNodeTypeConditional;
  params.conditional.handle = handle;
  params.conditional.type = cudaGraphCondTypeIf;
  params.conditional.size = 1;
  cudaGraphNode_t node = nullptr;
  check(gt_scope_begin_name("branch", GT_NUL), "scope");
  check(cudaGraphAddNode(&node, graph, nullptr, nullptr, 0, &params), "add conditional");
  check(gt_scope_end(), "scope");
  const std::string body_name = "body.thread" + std::to_string(thread);
  check(gt_scope_begin_name(body_name.c_str(), GT_NUL), "scope");
  check(cudaStreamBeginCaptureToGraph(stream, params.conditional.phGraph_out[0], nullptr, nullptr, 0,
                                      cudaStreamCaptureModeThreadLocal),
        "cudaStreamBeginCaptureToGraph");
  for (int i = 0; i < kBody; ++i) {
    const dim3 size = grid(i, thread, 1);
    work<<<size, 1, 0, stream>>>();
    book[key(size)].name = body_name;
  }
  cudaGraph_t same = nullptr;
  check(cudaStreamEndCapture(stream, &same), "cudaStreamEndCapture");
  check(gt_scope_end(), "scope");
  const cudaGraphExec_t conditional = instantiate(graph);

  for (int i = 0; i < kReplays; ++i) {
    check(cudaGraphLaunch(plain, stream), "cudaGraphLaunch");
    check(cudaGraphLaunch(conditional, stream), "cudaGraphLaunch");
    const std::string name = "eager" + std::to_string(i % kEager);
    check(gt_scope_begin_name(name.c_str(), GT_NUL), "scope");
    const dim3 size = grid(i % kEager, thread, 2);
    work<<<size, 1, 0, stream>>>();
    check(gt_scope_end(), "scope");
    book[key(size)].name = name;
    ++book[key(size)].launches;
    const dim3 outside = grid(0, thread, 3);
    work<<<outside, 1, 0, stream>>>();
    ++book[key(outside)].launches;
    if (i % 20 == 0) check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  }
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  for (int i = 0; i < kPlain; ++i) book[key(grid(i, thread, 0))].launches = kReplays;
  for (int i = 0; i < kBody; ++i) book[key(grid(i, thread, 1))].launches = kReplays;
}

int threads(const std::string& path) {
  constexpr int kThreads = 4;
  const gt_recording recording = begin(path, 0, 0);
  std::vector<Book> books(kThreads);
  std::vector<std::thread> running;
  for (int i = 0; i < kThreads; ++i) running.emplace_back([&books, i] { run_thread(i, books[i]); });
  for (std::thread& thread : running) thread.join();
  end(recording);
  Book book;
  for (const Book& part : books) book.insert(part.begin(), part.end());
  return compare(path, book, 0) ? 0 : 1;
}

// How much of what was launched stands in the file at the end of each second, while the GPU is never idle.
int flush(const std::string& path) {
  const gt_recording recording = begin(path, 0, 0);
  cudaStream_t stream = nullptr;
  check(cudaStreamCreate(&stream), "cudaStreamCreate");
  std::uint64_t launched = 0;
  cudaEvent_t before[2];
  for (cudaEvent_t& event : before) check(cudaEventCreate(&event), "cudaEventCreate");
  const auto start = std::chrono::steady_clock::now();
  for (int second = 1; second <= 4; ++second) {
    while (std::chrono::steady_clock::now() - start < std::chrono::seconds(second)) {
      // About a hundred kernels a second, two of them always waiting.
      wait_cycles<<<1, 1, 0, stream>>>(18'000'000);
      check(cudaEventRecord(before[launched % 2], stream), "cudaEventRecord");
      ++launched;
      check(cudaEventSynchronize(before[launched % 2]), "cudaEventSynchronize");
    }
    gt_record_stats stats{};
    stats.size = sizeof stats;
    check(gt_record_stats_get(recording, &stats), "gt_record_stats_get");
    std::printf("after %d s: launched %llu, read %llu\n", second, (unsigned long long)launched,
                (unsigned long long)stats.kernels);
  }
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  const gt_record_stats stats = end(recording);
  return stats.kernels == launched ? 0 : 1;
}

// Each kernel ran within the range that the host drew around its launch and the wait for it, and each call lies on this thread.
bool check_host(const std::string& path) {
  const RecordedFile file(path);
  const auto range = std::find_if(file.host.begin(), file.host.end(), [](const Recorded& r) { return r.function == "replays"; });
  if (range == file.host.end()) {
    std::printf("FAILED: no range\n");
    return false;
  }
  std::uint64_t outside = 0, elsewhere = 0, calls = 0;
  std::int64_t first_ns = INT64_MAX, last_ns = INT64_MAX;
  for (const Recorded& kernel : file.operations) {
    const auto behind = static_cast<std::int64_t>(kernel.start_ns - range->start_ns);
    const auto before = static_cast<std::int64_t>(range->end_ns - kernel.end_ns);
    first_ns = std::min(first_ns, behind);
    last_ns = std::min(last_ns, before);
    outside += behind < 0 || before < 0 ? 1 : 0;
  }
  for (const Recorded& call : file.host) {
    if (call.category != "cuda_runtime" && call.category != "cuda_driver") continue;
    ++calls;
    elsewhere += file.thread_of(call) == static_cast<std::uint64_t>(gettid()) ? 0 : 1;
  }
  std::printf(
      "the first kernel starts %lld ns behind the range's start, the last ends %lld ns before its end; %llu outside of it\n",
      (long long)first_ns, (long long)last_ns, (unsigned long long)outside);
  std::printf("%llu calls, %llu not on the thread that made them\n", (unsigned long long)calls, (unsigned long long)elsewhere);
  const bool right = outside == 0 && elsewhere == 0 && calls > 0;
  std::printf("%s\n", right ? "PASSED" : "FAILED");
  return right;
}

int again(const std::string& folder) {
  constexpr int kReplays = 100, kSmall = 70;
  cudaStream_t stream = nullptr;
  check(cudaStreamCreate(&stream), "cudaStreamCreate");
  Book book;
  cudaGraphExec_t exec = nullptr;
  bool right = true;
  for (int round = 0; round < 2; ++round) {
    const std::string path = folder + "/again" + std::to_string(round) + ".pftrace";
    const gt_recording recording = begin(path, 0, 0);
    // Captured in the first one, and named in both.
    if (exec == nullptr) exec = instantiate(capture(stream, kSmall, 0, book));
    for (auto& [size, known] : book) known.launches = kReplays;
    gt_range range{};
    range.size = sizeof range;
    range.text = "replays";
    range.text_length = GT_NUL;
    range.start_ns = gt_record_now();
    for (int i = 0; i < kReplays; ++i) check(cudaGraphLaunch(exec, stream), "cudaGraphLaunch");
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    range.end_ns = gt_record_now();
    check(gt_record_range(&range), "gt_record_range");
    end(recording);
    right = compare(path, book, 0) && right;
    right = check_host(path) && right;
    for (int i = 0; i < 50; ++i) check(cudaGraphLaunch(exec, stream), "cudaGraphLaunch");
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  }
  return right ? 0 : 1;
}

// Never ends its recording, nor waits for the GPU's last work but by exiting.
[[noreturn]] void leave(const std::string& path, int replays) {
  begin(path, 0, 0);
  Book book;
  cudaStream_t stream = nullptr;
  check(cudaStreamCreate(&stream), "cudaStreamCreate");
  const cudaGraphExec_t exec = instantiate(capture(stream, kNodes, 0, book));
  for (int i = 0; i < replays; ++i) check(cudaGraphLaunch(exec, stream), "cudaGraphLaunch");
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  std::exit(0);
}

int at_exit(const char* self, const std::string& folder) {
  constexpr int kReplays = 20;
  const std::string command = std::string("'") + self + "' leave '" + folder + "'";
  if (std::system(command.c_str()) != 0) {
    std::printf("FAILED: %s\n", command.c_str());
    return 1;
  }
  Book book;
  for (int node = 0; node < kNodes; ++node) {
    book[key(grid(node, 0, 0))] = {"layer" + std::to_string(node / kNodesARegion) + ".thread0", kReplays};
  }
  return compare(folder + "/leave.pftrace", book, 0) ? 0 : 1;
}

int main_of(const char* self, const std::string& what, const std::string& folder) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::printf("skipped: no GPU\n");
    return 77;
  }
  const std::string path = folder + "/" + what + ".pftrace";
  if (what == "million") return million(path, 1000000 / kNodes + 1, 0, 0);
  if (what == "tiny") return million(path, 200, 2, 4096);
  if (what == "threads") return threads(path);
  if (what == "flush") return flush(path);
  if (what == "again") return again(folder);
  if (what == "leave") leave(path, 20);
  if (what == "exit") return at_exit(self, folder);
  std::fprintf(stderr, "record_test: million, tiny, threads, flush, again or exit\n");
  return 2;
}

}  // namespace
}  // namespace gpu_test

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: record_test million|tiny|threads|flush|again|exit FOLDER\n");
    return 2;
  }
  try {
    return gpu_test::main_of(argv[0], argv[1], argv[2]);
  } catch (const std::exception& error) {
    std::printf("FAILED: the file cannot be read: %s\n", error.what());
    return 1;
  }
}
