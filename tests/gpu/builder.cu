#include "builder.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace gpu_test {
namespace {

constexpr int kStreams = 6;
constexpr int kDeepest = 3;
constexpr std::size_t kDeepestScopes = 6;

__global__ void plain_kernel() {}

// The condition of a while loop, so that its body runs once.
__global__ void last_round(cudaGraphConditionalHandle handle) {
  if (blockIdx.x + blockIdx.y + blockIdx.z == 0) cudaGraphSetConditional(handle, 0);
}

cudaKernelNodeParams plain_params(std::uint32_t identity) {
  cudaKernelNodeParams params{};
  params.func = reinterpret_cast<void*>(plain_kernel);
  params.gridDim = grid_of(identity);
  params.blockDim = dim3(1);
  return params;
}

}  // namespace

// --- Scopes ---

void Scopes::begin() {
  Fields fields;
  if (random_() % 4 != 0) fields.emplace_back("name", "\"s" + std::to_string(ledger_.next_name++) + "\"");
  for (std::uint64_t i = random_() % 3; i > 0; --i) {
    const std::string key = "k" + std::to_string(random_() % 4);
    fields = laid_over(fields, {{key, std::to_string(random_() % 1000)}});
  }
  if (fields.empty()) fields.emplace_back("k", "[1,{\"deep\":null}]");
  const std::string json = to_json(fields);
  gt_annotation annotation{};
  check(gt_annotation_from_json(json.data(), json.size(), &annotation), "gt_annotation_from_json");
  gt_scope handle{0};
  if (random_() % 3 == 0) {
    check(gt_scope_open(annotation, &handle), "gt_scope_open");
  } else {
    check(gt_scope_begin(annotation), "gt_scope_begin");
  }
  open_.push_back({handle, fields});
}

// Ends any of the handle form, or the innermost of the stack form.
void Scopes::end() {
  auto ended = open_.begin() + static_cast<std::ptrdiff_t>(random_() % open_.size());
  if (ended->handle.value != 0) {
    check(gt_scope_close(ended->handle), "gt_scope_close");
  } else {
    check(gt_scope_end(), "gt_scope_end");
    ended = std::find_if(open_.rbegin(), open_.rend(), [](const Open& open) { return open.handle.value == 0; }).base() - 1;
  }
  open_.erase(ended);
}

void Scopes::shuffle() {
  if (random_() % 3 != 0) return;
  const bool full = open_.size() >= kDeepestScopes;
  if (!open_.empty() && (full || random_() % 2 == 0)) {
    end();
  } else {
    begin();
  }
}

void Scopes::end_all() {
  while (!open_.empty()) end();
}

Fields Scopes::merged() const {
  Fields fields;
  for (const Open& open : open_) fields = laid_over(fields, open.fields);
  return fields;
}

// --- Builder ---

Builder::Builder(std::uint64_t seed, const Options& options, Ledger& ledger)
    : options_(options), ledger_(ledger), random_(seed), scopes_(random_, ledger), helper_scopes_(random_, ledger) {
  streams_.resize(kStreams);
  for (cudaStream_t& stream : streams_) check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  events_.resize(256);
  for (cudaEvent_t& event : events_) check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreate");
  // Loads the kernels: not every driver can do so during a capture.
  cudaFuncAttributes attributes{};
  check(cudaFuncGetAttributes(&attributes, plain_kernel), "cudaFuncGetAttributes");
  check(cudaFuncGetAttributes(&attributes, last_round), "cudaFuncGetAttributes");
  check(cudaMalloc(&memory_, 2 * bytes_of(kIdentities)), "cudaMalloc");
}

Builder::~Builder() {
  for (cudaEvent_t event : events_) cudaEventDestroy(event);
  for (cudaStream_t stream : streams_) cudaStreamDestroy(stream);
  cudaFree(memory_);
}

Fields Builder::open_now() const {
  return on_helper_ ? laid_over(scopes_.merged(), helper_scopes_.merged()) : scopes_.merged();
}

KnownGraph::Node& Builder::note(KnownGraph& known, Work work) {
  KnownGraph::Node& node = known.nodes.emplace_back();
  node.work = work;
  node.own = open_now();
  return node;
}

Builder::Built Builder::build(std::uint64_t shape) {
  shape_ = std::make_unique<std::mt19937_64>(shape);
  Built built;
  features_.clear();
  const int size = static_cast<int>(8 + pick(48));
  if (chance(60)) {
    scopes_.shuffle();
    check(cudaStreamBeginCapture(streams_[0], cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    fill_captured(built.known, 0, 0, size, true);
    check(cudaStreamEndCapture(streams_[0], &built.graph), "cudaStreamEndCapture");
  } else {
    check(cudaGraphCreate(&built.graph, 0), "cudaGraphCreate");
    fill_explicit(built.known, built.graph, 0, size, true);
  }
  scopes_.end_all();
  built.known.features = features_;
  return built;
}

void Builder::launch(KnownGraph& known, cudaStream_t stream) {
  const std::uint64_t kind = pick(10);
  const std::uint32_t identity = next_identity();
  if (kind < 7) {
    note(known, Work::kernel).identity = identity;
    plain_kernel<<<grid_of(identity), 1, 0, stream>>>();
    check(cudaGetLastError(), "kernel launch");
  } else if (kind < 8) {
    note(known, Work::memcpy).identity = identity;
    check(cudaMemcpyAsync(memory_, memory_ + bytes_of(kIdentities), bytes_of(identity), cudaMemcpyDeviceToDevice, stream),
          "memcpy");
  } else if (kind < 9) {
    note(known, Work::memset).identity = identity;
    check(cudaMemsetAsync(memory_, 1, bytes_of(identity), stream), "memset");
  } else if (!options_.skip_host) {
    features_ += " host";
    note(known, Work::other);
    check(cudaLaunchHostFunc(
              stream, [](void*) {}, nullptr),
          "cudaLaunchHostFunc");
  }
}

namespace {

// Where a capturing stream's next node goes.
struct Place {
  cudaGraph_t graph = nullptr;
  std::vector<cudaGraphNode_t> after;
};
Place place_of(cudaStream_t stream) {
  cudaStreamCaptureStatus status{};
  Place place;
  const cudaGraphNode_t* after = nullptr;
  std::size_t count = 0;
  check(cudaStreamGetCaptureInfo(stream, &status, nullptr, &place.graph, &after, nullptr, &count), "cudaStreamGetCaptureInfo");
  place.after.assign(after, after + count);
  return place;
}
void go_behind(cudaStream_t stream, cudaGraphNode_t node) {
  check(cudaStreamUpdateCaptureDependencies(stream, &node, nullptr, 1, cudaStreamSetCaptureDependencies), "update dependencies");
}

}  // namespace

std::unique_ptr<KnownGraph> Builder::make_child(int depth, cudaGraph_t* child) {
  auto known = std::make_unique<KnownGraph>();
  features_ += " child";
  check(cudaGraphCreate(child, 0), "cudaGraphCreate");
  const bool on_helper = on_helper_;
  on_helper_ = false;
  fill_explicit(*known, *child, depth, static_cast<int>(1 + pick(5)), false);
  on_helper_ = on_helper;
  return known;
}

void Builder::add_child_to_capture(KnownGraph& known, cudaStream_t stream, int depth) {
  cudaGraph_t child = nullptr;
  std::unique_ptr<KnownGraph> inside = make_child(depth + 1, &child);
  const Place place = place_of(stream);
  cudaGraphNode_t made = nullptr;
  note(known, Work::child).bodies.push_back(std::move(inside));
  check(cudaGraphAddChildGraphNode(&made, place.graph, place.after.data(), place.after.size(), child), "add child graph");
  go_behind(stream, made);
  check(cudaGraphDestroy(child), "cudaGraphDestroy");
}

void Builder::add_conditional(KnownGraph& known, cudaGraph_t graph, const std::vector<cudaGraphNode_t>& after, int depth,
                              std::size_t first_stream, cudaGraphNode_t* made) {
  std::uint64_t kind = pick(3);
  if (kind == 1 && options_.skip_while) kind = 0;
  features_ += kind == 0 ? " if" : kind == 1 ? " while" : " switch";
  const unsigned bodies = kind == 0 ? 1 + static_cast<unsigned>(pick(2)) : kind == 1 ? 1 : 1 + static_cast<unsigned>(pick(4));
  const unsigned value = static_cast<unsigned>(pick(kind == 2 ? bodies + 1 : 2));
  cudaGraphConditionalHandle handle{};
  check(cudaGraphConditionalHandleCreate(&handle, graph, value, cudaGraphCondAssignDefault), "conditional handle");
  cudaGraphNodeParams params{};
  params.type = cudaGraphNodeTypeConditional;
  params.conditional.handle = handle;
  params.conditional.type = kind == 0 ? cudaGraphCondTypeIf : kind == 1 ? cudaGraphCondTypeWhile : cudaGraphCondTypeSwitch;
  params.conditional.size = bodies;
  const std::size_t index = known.nodes.size();
  note(known, Work::conditional);
  check(cudaGraphAddNode(made, graph, after.data(), nullptr, after.size(), &params), "add conditional");
  if (options_.boundary) {
    check(gt_link_body(*made, reinterpret_cast<const void* const*>(params.conditional.phGraph_out), bodies), "gt_link_body");
  }
  if (kind == 0) {
    known.nodes[index].running_body = value != 0 ? 0 : bodies == 2 ? 1 : -1;
  } else if (kind == 1) {
    known.nodes[index].running_body = value != 0 ? 0 : -1;
  } else {
    known.nodes[index].running_body = value < bodies ? static_cast<int>(value) : -1;
  }
  for (unsigned i = 0; i < bodies; ++i) {
    auto body = std::make_unique<KnownGraph>();
    const cudaGraph_t inside = params.conditional.phGraph_out[i];
    scopes_.shuffle();
    const std::size_t stream = first_stream + 2;
    const bool capture = chance(50) && stream + 1 < streams_.size();
    if (kind == 1) {
      const std::uint32_t identity = next_identity();
      note(*body, Work::kernel).identity = identity;
      cudaGraphNode_t node = nullptr;
      void* arguments[] = {&handle};
      cudaKernelNodeParams launch_params{};
      launch_params.func = reinterpret_cast<void*>(last_round);
      launch_params.gridDim = grid_of(identity);
      launch_params.blockDim = dim3(1);
      launch_params.kernelParams = arguments;
      check(cudaGraphAddKernelNode(&node, inside, nullptr, 0, &launch_params), "add kernel");
    }
    const int size = static_cast<int>(pick(6));
    if (capture) {
      check(cudaStreamBeginCaptureToGraph(streams_[stream], inside, nullptr, nullptr, 0, cudaStreamCaptureModeThreadLocal),
            "cudaStreamBeginCaptureToGraph");
      fill_captured(*body, stream, depth + 1, size, false);
      cudaGraph_t same = nullptr;
      check(cudaStreamEndCapture(streams_[stream], &same), "cudaStreamEndCapture");
    } else {
      fill_explicit(*body, inside, depth + 1, size, true);
    }
    known.nodes[index].bodies.push_back(std::move(body));
  }
}

// Captures on streams first_stream, which began, and first_stream + 1, which may join.
void Builder::fill_captured(KnownGraph& known, std::size_t first_stream, int depth, int size, bool top) {
  const cudaStream_t origin = streams_[first_stream], side = streams_[first_stream + 1];
  bool forked = false;
  void* allocated = nullptr;
  const auto wait = [&](cudaStream_t waiting, cudaStream_t on) {
    const cudaEvent_t event = events_[next_event_++ % events_.size()];
    check(cudaEventRecord(event, on), "cudaEventRecord");
    check(cudaStreamWaitEvent(waiting, event), "cudaStreamWaitEvent");
  };
  const bool memory = top && chance(10) && !options_.skip_memory;
  for (int i = 0; i < size; ++i) {
    if (top) scopes_.shuffle();
    if (!top && random_() % 2 == 0) scopes_.shuffle();
    const cudaStream_t stream = forked && chance(50) ? side : origin;
    const std::uint64_t what = pick(100);
    if (what < 8) {
      wait(forked ? origin : side, forked ? side : origin);
      forked = !forked;
    } else if (what < 14 && depth < kDeepest) {
      add_child_to_capture(known, stream, depth);
    } else if (what < 20 && depth < kDeepest && !memory && first_stream + 3 < streams_.size()) {
      const Place place = place_of(stream);
      cudaGraphNode_t made = nullptr;
      add_conditional(known, place.graph, place.after, depth, first_stream, &made);
      go_behind(stream, made);
    } else if (what < 26 && top) {
      helper_.run([&] {
        on_helper_ = true;
        cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
        check(cudaThreadExchangeStreamCaptureMode(&mode), "capture mode");
        for (int k = 0; k < 3; ++k) {
          helper_scopes_.shuffle();
          launch(known, stream);
        }
        helper_scopes_.end_all();
        on_helper_ = false;
      });
    } else if (what < 30 && memory) {
      known.has_memory = true;
      features_ += " memory";
      note(known, Work::other);
      if (allocated == nullptr) {
        check(cudaMallocAsync(&allocated, 1024, origin), "cudaMallocAsync");
      } else {
        check(cudaFreeAsync(allocated, origin), "cudaFreeAsync");
        allocated = nullptr;
      }
    } else if (top || what % 10 != 9) {
      // Bodies take no host functions.
      if (top) {
        launch(known, stream);
      } else {
        const std::uint32_t identity = next_identity();
        note(known, Work::kernel).identity = identity;
        plain_kernel<<<grid_of(identity), 1, 0, stream>>>();
        check(cudaGetLastError(), "kernel launch");
      }
    }
  }
  if (allocated != nullptr) {
    note(known, Work::other);
    check(cudaFreeAsync(allocated, origin), "cudaFreeAsync");
  }
  if (forked) wait(origin, side);
}

void Builder::fill_explicit(KnownGraph& known, cudaGraph_t graph, int depth, int size, bool may_nest_conditionals) {
  std::vector<cudaGraphNode_t> nodes;
  std::vector<std::size_t> alive;  // index in known.nodes, beside `nodes`
  for (int i = 0; i < size; ++i) {
    scopes_.shuffle();
    std::vector<cudaGraphNode_t> after;
    if (!nodes.empty() && chance(80)) after.push_back(nodes[pick(nodes.size())]);
    if (!nodes.empty() && chance(30)) after.push_back(nodes.back());
    std::sort(after.begin(), after.end());
    after.erase(std::unique(after.begin(), after.end()), after.end());
    cudaGraphNode_t made = nullptr;
    const std::uint64_t what = pick(100);
    if (what < 60) {
      const std::uint32_t identity = next_identity();
      note(known, Work::kernel).identity = identity;
      const cudaKernelNodeParams params = plain_params(identity);
      check(cudaGraphAddKernelNode(&made, graph, after.data(), after.size(), &params), "add kernel");
      known.nodes.back().kernel_node = made;
    } else if (what < 68) {
      const std::uint32_t identity = next_identity();
      note(known, Work::memcpy).identity = identity;
      check(cudaGraphAddMemcpyNode1D(&made, graph, after.data(), after.size(), memory_, memory_ + bytes_of(kIdentities),
                                     bytes_of(identity), cudaMemcpyDeviceToDevice),
            "add memcpy");
    } else if (what < 76) {
      const std::uint32_t identity = next_identity();
      note(known, Work::memset).identity = identity;
      cudaMemsetParams params{};
      params.dst = memory_;
      params.elementSize = 1;
      params.width = bytes_of(identity);
      params.height = 1;
      check(cudaGraphAddMemsetNode(&made, graph, after.data(), after.size(), &params), "add memset");
    } else if (what < 82) {
      note(known, Work::other);
      check(cudaGraphAddEmptyNode(&made, graph, after.data(), after.size()), "add empty");
    } else if (what < 90 && depth < kDeepest) {
      cudaGraph_t child = nullptr;
      std::unique_ptr<KnownGraph> inside = make_child(depth + 1, &child);
      note(known, Work::child).bodies.push_back(std::move(inside));
      check(cudaGraphAddChildGraphNode(&made, graph, after.data(), after.size(), child), "add child graph");
      check(cudaGraphDestroy(child), "cudaGraphDestroy");
    } else if (what < 95 && may_nest_conditionals && depth < kDeepest) {
      const std::size_t first_stream = depth == 0 ? 0 : 2;
      add_conditional(known, graph, after, depth, first_stream, &made);
    } else if (what >= 95 && depth == 0 && !nodes.empty()) {
      const std::size_t victim = pick(nodes.size());
      check(cudaGraphDestroyNode(nodes[victim]), "cudaGraphDestroyNode");
      known.nodes[alive[victim]] = KnownGraph::Node{};
      nodes.erase(nodes.begin() + static_cast<std::ptrdiff_t>(victim));
      alive.erase(alive.begin() + static_cast<std::ptrdiff_t>(victim));
      continue;
    } else {
      continue;
    }
    nodes.push_back(made);
    alive.push_back(known.nodes.size() - 1);
  }
}

cudaGraphNode_t Builder::add_plain_kernel(cudaGraph_t graph, Expected& added) {
  scopes_.shuffle();
  added = {Work::kernel, next_identity(), scopes_.merged()};
  cudaGraphNode_t made = nullptr;
  const cudaKernelNodeParams params = plain_params(added.identity);
  check(cudaGraphAddKernelNode(&made, graph, nullptr, 0, &params), "add kernel");
  scopes_.end_all();
  return made;
}

std::uint32_t Builder::set_identity(cudaGraphExec_t exec, cudaGraphNode_t node) {
  scopes_.shuffle();
  const std::uint32_t identity = next_identity();
  const cudaKernelNodeParams params = plain_params(identity);
  check(cudaGraphExecKernelNodeSetParams(exec, node, &params), "cudaGraphExecKernelNodeSetParams");
  scopes_.end_all();
  return identity;
}

void Builder::fail_capture() {
  check(cudaStreamBeginCapture(streams_[0], cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  scopes_.shuffle();
  plain_kernel<<<1, 1, 0, streams_[0]>>>();
  check(cudaEventRecord(events_[0], streams_[0]), "cudaEventRecord");
  check(cudaStreamWaitEvent(streams_[1], events_[0]), "cudaStreamWaitEvent");
  plain_kernel<<<1, 1, 0, streams_[1]>>>();
  cudaGraph_t graph = nullptr;
  if (cudaStreamEndCapture(streams_[0], &graph) != cudaErrorStreamCaptureUnjoined) {
    std::fprintf(stderr, "a capture with an unjoined fork did not fail\n");
    std::exit(2);
  }
  static_cast<void>(cudaGetLastError());
  scopes_.end_all();
}

}  // namespace gpu_test
