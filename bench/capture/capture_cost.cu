// What recording costs while a graph is captured, a node, beside the bare capture of the same graph in the same run; and whether its replay
// changes.
//
//   depth 1, 16     scopes open around all nodes
//   every 10        a scope begins and ends around each ten nodes, within `depth` others
//
// Prints medians of alternating rounds. The bounds are those of the project's plan: 500 ns a node with callbacks, 250 with frontiers.
#include <cuda_runtime.h>
#include <graphtag/graphtag.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

__global__ void node_kernel() {}

void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "capture_cost: %s\n", cudaGetErrorString(error));
  std::exit(2);
}
void check(gt_status status) {
  if (status == GT_OK) return;
  std::fprintf(stderr, "capture_cost: %s: %s\n", gt_status_name(status), gt_last_error());
  std::exit(2);
}

enum class Observer { none, callbacks, frontiers };

struct Variant {
  const char* name;
  Observer observer;
  int depth;       // of scopes around everything
  bool every_ten;  // and one around each ten nodes
};

constexpr Variant kVariants[] = {
    {"bare", Observer::none, 0, false},
    {"callbacks, depth 1", Observer::callbacks, 1, false},
    {"callbacks, depth 16", Observer::callbacks, 16, false},
    {"callbacks, depth 1, every 10", Observer::callbacks, 1, true},
    {"callbacks, depth 16, every 10", Observer::callbacks, 16, true},
    {"frontiers, depth 1", Observer::frontiers, 1, false},
    {"frontiers, depth 16", Observer::frontiers, 16, false},
    {"frontiers, depth 1, every 10", Observer::frontiers, 1, true},
    {"frontiers, depth 16, every 10", Observer::frontiers, 16, true},
};
constexpr std::size_t kVariantCount = sizeof kVariants / sizeof kVariants[0];

struct Times {
  double capture_ns = 0;
  double instantiate_ns = 0;
  double replay_ns = 0;
  std::size_t nodes = 0;
};

double ns_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
}

Times run(const Variant& variant, int nodes, cudaStream_t stream, const std::vector<gt_annotation>& outer,
          const std::vector<gt_annotation>& inner) {
  gt_window window{};
  if (variant.observer != Observer::none) {
    const void* const streams[] = {stream};
    gt_window_options options{};
    options.size = sizeof options;
    options.observer = variant.observer == Observer::callbacks ? GT_OBSERVER_CALLBACKS : GT_OBSERVER_BOUNDARY;
    options.flags = GT_WINDOW_ALL_STREAMS;
    options.streams = streams;
    options.stream_count = 1;
    check(gt_window_open(&options, &window));
  }
  Times times;
  cudaGraph_t graph = nullptr;
  Clock::time_point begin = Clock::now();
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  for (int i = 0; i < variant.depth; ++i) check(gt_scope_begin(outer[static_cast<std::size_t>(i)]));
  for (int i = 0; i < nodes; ++i) {
    if (variant.every_ten && i % 10 == 0) check(gt_scope_begin(inner[static_cast<std::size_t>(i / 10) % inner.size()]));
    node_kernel<<<1, 1, 0, stream>>>();
    if (variant.every_ten && i % 10 == 9) check(gt_scope_end());
  }
  for (int i = 0; i < variant.depth; ++i) check(gt_scope_end());
  check(cudaStreamEndCapture(stream, &graph));
  times.capture_ns = ns_since(begin);

  begin = Clock::now();
  cudaGraphExec_t exec = nullptr;
  check(cudaGraphInstantiate(&exec, graph, 0));
  times.instantiate_ns = ns_since(begin);
  check(cudaGraphGetNodes(graph, nullptr, &times.nodes));
  if (variant.observer != Observer::none) check(gt_window_close(window));

  check(cudaGraphUpload(exec, stream));
  check(cudaGraphLaunch(exec, stream));
  check(cudaStreamSynchronize(stream));
  constexpr int kReplays = 5;
  begin = Clock::now();
  for (int i = 0; i < kReplays; ++i) check(cudaGraphLaunch(exec, stream));
  check(cudaStreamSynchronize(stream));
  times.replay_ns = ns_since(begin) / kReplays;
  check(cudaGraphExecDestroy(exec));
  check(cudaGraphDestroy(graph));
  return times;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

std::vector<gt_annotation> annotations(const char* prefix, int count) {
  std::vector<gt_annotation> made(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    const std::string json =
        std::string("{\"name\":\"") + prefix + std::to_string(i) + "\",\"" + prefix + "\":" + std::to_string(i) + "}";
    check(gt_annotation_from_json(json.data(), json.size(), &made[static_cast<std::size_t>(i)]));
  }
  return made;
}

}  // namespace

int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::printf("capture_cost: skipped: no GPU\n");
    return 77;
  }
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  cudaFuncAttributes attributes{};
  check(cudaFuncGetAttributes(&attributes, node_kernel));
  const std::vector<gt_annotation> outer = annotations("outer", 16), inner = annotations("inner", 64);
  std::printf("%-8s %-30s %12s %12s %8s %14s %8s\n", "nodes", "variant", "ns a node", "more", "ratio", "instantiate +", "replay");
  for (const int nodes : {1000, 10000, 100000}) {
    const int rounds = nodes >= 100000 ? 3 : nodes >= 10000 ? 11 : 101;
    const int warm_up = nodes >= 10000 ? 1 : 20;
    std::vector<double> capture[kVariantCount], instantiate[kVariantCount], replay[kVariantCount];
    std::size_t counted[kVariantCount] = {};
    for (int round = -warm_up; round < rounds; ++round) {
      for (std::size_t v = 0; v < kVariantCount; ++v) {
        const Times times = run(kVariants[v], nodes, stream, outer, inner);
        counted[v] = times.nodes;
        if (round < 0) continue;
        capture[v].push_back(times.capture_ns / nodes);
        instantiate[v].push_back(times.instantiate_ns / nodes);
        replay[v].push_back(times.replay_ns);
      }
    }
    for (std::size_t v = 0; v < kVariantCount; ++v) {
      const double bare = median(capture[0]), mine = median(capture[v]);
      std::printf("%-8d %-30s %12.1f %12.1f %8.3f %14.1f %8.3f%s\n", nodes, kVariants[v].name, mine, mine - bare, mine / bare,
                  median(instantiate[v]) - median(instantiate[0]), median(replay[v]) / median(replay[0]),
                  counted[v] == counted[0] ? "" : "  NODES ADDED");
      std::fflush(stdout);
    }
  }
  return 0;
}
