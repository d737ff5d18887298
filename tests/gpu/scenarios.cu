#include "scenarios.h"

#include <cuda.h>

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "activity.h"
#include "builder.h"
#include "check.h"
#include "watchdog.h"

namespace gpu_test {

static void check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  const char* text = "";
  cuGetErrorString(result, &text);
  std::fprintf(stderr, "%s: %s\n", what, text);
  std::exit(2);
}

namespace {

constexpr int kReplays = 3;

__global__ void plain_kernel() {}
__global__ void launch_behind(cudaGraphExec_t exec) {
  if (blockIdx.x + blockIdx.y + blockIdx.z == 0) cudaGraphLaunch(exec, cudaStreamGraphFireAndForget);
}

std::uint32_t next_identity = 0;
int next_name = 0;

// A kernel in a capture, under a scope of its own; with `behind`, one that launches that exec graph.
void launch(cudaStream_t stream, std::vector<Expected>& expected, cudaGraphExec_t behind = nullptr) {
  const std::string name = "scenario" + std::to_string(next_name++);
  const std::uint32_t identity = next_identity++;
  check(gt_scope_begin_name(name.data(), name.size()), "gt_scope_begin_name");
  if (behind == nullptr) {
    plain_kernel<<<grid_of(identity), 1, 0, stream>>>();
  } else {
    launch_behind<<<grid_of(identity), 1, 0, stream>>>(behind);
  }
  check(cudaGetLastError(), "kernel launch");
  check(gt_scope_end(), "gt_scope_end");
  expected.push_back({Work::kernel, identity, {{"name", "\"" + name + "\""}}});
}

struct Capture {
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  KnownExec known;

  explicit Capture(const char* features) {
    known.features = features;
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  }
  void begin() { check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), "cudaStreamBeginCapture"); }
  void end(unsigned long long flags = 0) {
    check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
    check(cudaGraphInstantiate(&known.exec, graph, flags), "cudaGraphInstantiate");
    check(gt_exec_id(known.exec, &known.id), "gt_exec_id");
  }
  void replay() {
    for (int i = 0; i < kReplays; ++i) check(cudaGraphLaunch(known.exec, stream), "cudaGraphLaunch");
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  }
};

class InWindow {
 public:
  InWindow() {
    gt_window_options options{};
    options.size = sizeof options;
    options.observer = GT_OBSERVER_CALLBACKS;
    check(gt_window_open(&options, &window_), "gt_window_open");
  }
  ~InWindow() { check(gt_window_close(window_), "gt_window_close"); }

 private:
  gt_window window_{};
};

CUcontext make_context() {
  CUcontext context = nullptr;
#if CUDA_VERSION >= 13000
  check(cuCtxCreate(&context, nullptr, 0, 0), "cuCtxCreate");
#else
  check(cuCtxCreate(&context, 0, 0), "cuCtxCreate");
#endif
  return context;
}

// Two captures in two contexts of one device grow in turns, by one thread.
std::vector<KnownExec> two_contexts() {
  check(cudaFree(nullptr), "cudaFree");
  CUcontext first = nullptr;
  check(cuCtxGetCurrent(&first), "cuCtxGetCurrent");
  const CUcontext second = make_context();
  const CUcontext contexts[] = {first, second};
  std::vector<Capture> captures;
  const InWindow window;
  for (const CUcontext context : contexts) {
    check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
    captures.emplace_back("a context of two").begin();
  }
  for (int i = 0; i < 40; ++i) {
    check(cuCtxSetCurrent(contexts[i % 2]), "cuCtxSetCurrent");
    launch(captures[i % 2].stream, captures[i % 2].known.expected);
  }
  for (int i = 0; i < 2; ++i) {
    check(cuCtxSetCurrent(contexts[i]), "cuCtxSetCurrent");
    captures[i].end();
  }
  for (int i = 0; i < 2; ++i) {
    check(cuCtxSetCurrent(contexts[i]), "cuCtxSetCurrent");
    captures[i].replay();
  }
  check(cuCtxSetCurrent(first), "cuCtxSetCurrent");
  return {captures[0].known, captures[1].known};
}

// Each device has a capture of its own; then one capture forks to every device.
std::vector<KnownExec> every_device() {
  int devices = 0;
  check(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
  std::vector<Capture> captures;
  const InWindow window;
  for (int d = 0; d < devices; ++d) {
    check(cudaSetDevice(d), "cudaSetDevice");
    captures.emplace_back("a device of several").begin();
  }
  for (int i = 0; i < 20 * devices; ++i) {
    check(cudaSetDevice(i % devices), "cudaSetDevice");
    launch(captures[i % devices].stream, captures[i % devices].known.expected);
  }
  std::vector<KnownExec> execs;
  for (int d = 0; d < devices; ++d) {
    check(cudaSetDevice(d), "cudaSetDevice");
    captures[d].end();
    captures[d].replay();
    execs.push_back(captures[d].known);
  }
  check(cudaSetDevice(0), "cudaSetDevice");
  Capture across("a graph across devices");
  across.begin();
  launch(across.stream, across.known.expected);
  for (int d = 1; d < devices; ++d) {
    cudaEvent_t event = nullptr;
    check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreate");
    check(cudaEventRecord(event, across.stream), "cudaEventRecord");
    check(cudaSetDevice(d), "cudaSetDevice");
    cudaStream_t there = nullptr;
    cudaEvent_t back = nullptr;
    check(cudaStreamCreateWithFlags(&there, cudaStreamNonBlocking), "cudaStreamCreate");
    check(cudaEventCreateWithFlags(&back, cudaEventDisableTiming), "cudaEventCreate");
    check(cudaStreamWaitEvent(there, event), "cudaStreamWaitEvent");
    launch(there, across.known.expected);
    check(cudaEventRecord(back, there), "cudaEventRecord");
    check(cudaSetDevice(0), "cudaSetDevice");
    check(cudaStreamWaitEvent(across.stream, back), "cudaStreamWaitEvent");
  }
  launch(across.stream, across.known.expected);
  across.end();
  across.replay();
  execs.push_back(across.known);
  return execs;
}

// A graph whose kernel launches another graph, from the device.
std::vector<KnownExec> launched_by_a_graph() {
  Capture inner("launched from the device"), outer("launches from the device");
  {
    const InWindow window;
    inner.begin();
    for (int i = 0; i < 5; ++i) launch(inner.stream, inner.known.expected);
    inner.end(cudaGraphInstantiateFlagDeviceLaunch);
    check(cudaGraphUpload(inner.known.exec, inner.stream), "cudaGraphUpload");
    check(cudaStreamSynchronize(inner.stream), "cudaStreamSynchronize");
    outer.begin();
    launch(outer.stream, outer.known.expected);
    launch(outer.stream, outer.known.expected, inner.known.exec);
    launch(outer.stream, outer.known.expected);
    outer.end(cudaGraphInstantiateFlagDeviceLaunch);
    check(cudaGraphUpload(outer.known.exec, outer.stream), "cudaGraphUpload");
  }
  outer.replay();
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  return {inner.known, outer.known};
}

// A graph of one window, instantiated again in a second window, and replayed after both.
std::vector<KnownExec> two_windows() {
  Capture capture("two windows");
  KnownExec again;
  {
    const InWindow window;
    capture.begin();
    for (int i = 0; i < 5; ++i) launch(capture.stream, capture.known.expected);
    capture.end();
  }
  {
    const InWindow window;
    again.features = "instantiated in a later window";
    again.expected = capture.known.expected;
    check(cudaGraphInstantiate(&again.exec, capture.graph, 0), "cudaGraphInstantiate");
    check(gt_exec_id(again.exec, &again.id), "gt_exec_id");
  }
  capture.replay();
  for (int i = 0; i < kReplays; ++i) check(cudaGraphLaunch(again.exec, capture.stream), "cudaGraphLaunch");
  check(cudaStreamSynchronize(capture.stream), "cudaStreamSynchronize");
  return {capture.known, again};
}

// An expectation that CUPTI does not meet by itself, so that only what came is judged.
enum class Records { all, those_that_come };

bool run_one(const char* name, Records wanted, const std::function<std::vector<KnownExec>()>& scenario) {
  now_doing(name);
  static_cast<void>(take_records());
  const std::vector<KnownExec> execs = scenario();
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  Totals totals;
  const std::vector<Record> records = take_records();
  check_records(records, execs, kReplays, false, totals);
  std::uint64_t right = 0, wrong = 0;
  for (std::size_t i = 0; i < kOrigins; ++i) {
    right += totals.right[i];
    wrong += totals.wrong[i];
  }
  const bool complete = wanted == Records::those_that_come || totals.missing == 0;
  const bool passed = wrong == 0 && totals.stale_named == 0 && totals.foreign == 0 && complete && right > 0;
  std::printf(
      "scenario %-24s %llu records: %llu right, %llu wrong, %llu with another graph's id, %llu of nobody, %llu missing: %s\n",
      name, static_cast<unsigned long long>(totals.records), static_cast<unsigned long long>(right),
      static_cast<unsigned long long>(wrong), static_cast<unsigned long long>(totals.stale_ids),
      static_cast<unsigned long long>(totals.foreign), static_cast<unsigned long long>(totals.missing),
      passed ? "PASSED" : "FAILED");
  return passed;
}

}  // namespace

int run_scenarios() {
  // Loads the kernels: not every driver can do so during a capture.
  cudaFuncAttributes attributes{};
  check(cudaFuncGetAttributes(&attributes, plain_kernel), "cudaFuncGetAttributes");
  check(cudaFuncGetAttributes(&attributes, launch_behind), "cudaFuncGetAttributes");
  int devices = 0;
  check(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
  bool passed = run_one("two windows", Records::all, two_windows);
  passed = run_one("two contexts", Records::all, two_contexts) && passed;
  passed = run_one("launched by a graph", Records::those_that_come, launched_by_a_graph) && passed;
  if (devices > 1) {
    passed = run_one("every device", Records::all, every_device) && passed;
  } else {
    std::printf("scenario every device: left out: this machine has one\n");
  }
  return passed ? 0 : 1;
}

void leave_open() {
  static InWindow* const window = new InWindow;
  static_cast<void>(window);
  static Capture* const capture = new Capture("left open");
  capture->begin();
  std::vector<Expected> expected;
  launch(capture->stream, expected);
  check(gt_scope_begin_name("left open", 9), "gt_scope_begin_name");
}

}  // namespace gpu_test
