// Random CUDA graphs on a GPU: every record of their replays must carry the annotation that was open when its node was created.
//
// usage: gpu_test [--mode callbacks|frontiers|counts|scenarios|exit] [--graphs N] [--replays N] [--threads N] [--seed N] [--seconds N]
//                 [--skip while,device,memory,host] [--keep yes]
//
// --keep yes destroys nothing until the end, so that CUPTI has no dead graph's node to take a live one for: then every id and size must be right.
//
// Ends with 0 if all is right, 1 if not, 2 if CUDA or graphtag refused something, 3 if nothing moved for 30 s, 77 (skipped) where there is no GPU.
#include <graphtag/graphtag.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "activity.h"
#include "builder.h"
#include "check.h"
#include "scenarios.h"
#include "watchdog.h"

namespace gpu_test {
namespace {

struct Settings {
  const char* mode = "callbacks";
  std::uint64_t graphs = 12000;
  int replays = 3;
  int threads = 1;
  const char* skip = "";
  bool keep = false;
  std::uint64_t seed = 1;
  double seconds = 170;  // no batch begins after this

  bool skips(const char* what) const { return std::strstr(skip, what) != nullptr; }
  Options options() const { return {boundary(), all_streams(), skips("while"), skips("device"), skips("memory"), skips("host")}; }
  bool boundary() const { return std::strcmp(mode, "callbacks") != 0; }
  bool all_streams() const { return std::strcmp(mode, "frontiers") == 0; }
};

// One thread of the program: builds graphs, keeps them until the batch was checked.
class Program {
 public:
  Program(const Settings& settings, int number, int threads)
      : settings_(settings),
        share_(kIdentities / static_cast<std::uint32_t>(threads)),
        number_(static_cast<std::uint32_t>(number)) {
    ledger_.next_name = std::uint64_t{number_} << 40;
    thread_.run([&] { builder_ = std::make_unique<Builder>(settings.seed * 1000 + number_, settings.options(), ledger_); });
  }
  ~Program() {
    thread_.run([&] { builder_.reset(); });
  }

  void name_streams(gt_window window) {
    thread_.run([&] {
      for (const cudaStream_t stream : builder_->streams()) check(gt_window_add_stream(window, stream), "gt_window_add_stream");
    });
  }
  void build_batch();
  void replay() {
    thread_.run([&] {
      for (const KnownExec& exec : execs_) {
        now_doing("replay", exec.features);
        for (int i = 0; i < settings_.replays; ++i) {
          check(cudaGraphLaunch(exec.exec, builder_->launch_stream()), "cudaGraphLaunch");
        }
        check(cudaStreamSynchronize(builder_->launch_stream()), "cudaStreamSynchronize");
      }
    });
  }
  void end_batch() {
    if (!settings_.keep) destroy_batch();
    execs_.clear();
    graphs_.clear();
  }
  const std::vector<KnownExec>& execs() const { return execs_; }
  const Totals& totals() const { return totals_; }

 private:
  void destroy_batch() {
    thread_.run([&] {
      for (const KnownExec& exec : execs_) {
        now_doing("cudaGraphExecDestroy", exec.features);
        destroy(exec);
      }
      now_doing("cudaGraphDestroy");
      for (const cudaGraph_t graph : graphs_) check(cudaGraphDestroy(graph), "cudaGraphDestroy");
    });
  }
  void build_one();
  // False: CUDA refused the graph.
  bool instantiate(cudaGraph_t graph, std::vector<Expected> expected, const std::string& features);
  void update(KnownExec& exec, std::uint64_t shape);
  void destroy(const KnownExec& exec);
  void keep_or_destroy(cudaGraph_t graph);

  const Settings& settings_;
  const std::uint32_t share_, number_;
  Ledger ledger_;
  Totals totals_;
  std::vector<KnownExec> execs_;
  std::vector<cudaGraph_t> graphs_;
  std::unique_ptr<Builder> builder_;
  graphtag::Worker thread_;
};

void Program::build_batch() {
  ledger_.next_identity = number_ * share_;
  ledger_.end = ledger_.next_identity + share_;
  thread_.run([&] {
    while (!ledger_.is_full()) build_one();
  });
}

bool Program::instantiate(cudaGraph_t graph, std::vector<Expected> expected, const std::string& features) {
  std::mt19937_64& random = builder_->random();
  KnownExec made;
  const bool for_device = random() % 10 == 0 && !settings_.skips("device");
  made.features = features + (for_device ? " device" : "");
  now_doing("cudaGraphInstantiate", made.features);
  // Two threads that instantiate while activity is traced lock each other out inside CUPTI and the driver (seen on driver 580, with no frame of
  // graphtag on either stack).
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  cudaError_t error = cudaGraphInstantiate(&made.exec, graph, for_device ? cudaGraphInstantiateFlagDeviceLaunch : 0);
  if (error != cudaSuccess && for_device) {
    // Not every kind of node may be launched from the device.
    ++totals_.refused_instantiations;
    static_cast<void>(cudaGetLastError());
    error = cudaGraphInstantiate(&made.exec, graph, 0);
  }
  if (error != cudaSuccess) {
    // A few random graphs are refused, for combinations of nodes that CUDA does not take; the report says how many.
    ++totals_.refused_instantiations;
    static_cast<void>(cudaGetLastError());
    return false;
  }
  if (settings_.boundary()) check(gt_link_exec(made.exec, graph), "gt_link_exec");
  check(gt_exec_id(made.exec, &made.id), "gt_exec_id");
  now_doing("cudaGraphUpload", made.features);
  if (for_device || random() % 5 == 0) check(cudaGraphUpload(made.exec, builder_->launch_stream()), "cudaGraphUpload");
  made.expected = std::move(expected);
  ++totals_.execs;
  execs_.push_back(std::move(made));
  return true;
}

void Program::update(KnownExec& exec, std::uint64_t shape) {
  Builder::Built next = builder_->build(shape);
  ++totals_.graphs;
  now_doing("cudaGraphExecUpdate", next.known.features);
  cudaGraphExecUpdateResultInfo info{};
  if (cudaGraphExecUpdate(exec.exec, next.graph, &info) == cudaSuccess) {
    ++totals_.updates;
    exec.instantiated = std::move(exec.expected);
    exec.expected.clear();
    list_expected(next.known, {}, exec.expected);
    if (settings_.boundary()) check(gt_link_exec(exec.exec, next.graph), "gt_link_exec");
  } else {
    // Some of its nodes are changed then, so nobody knows what it runs.
    ++totals_.failed_updates;
    static_cast<void>(cudaGetLastError());
    destroy(exec);
    execs_.erase(execs_.begin() + (&exec - execs_.data()));
  }
  keep_or_destroy(next.graph);
}

void Program::destroy(const KnownExec& exec) {
  if (settings_.keep) return;
  // No callback tells the boundary observer.
  if (settings_.boundary()) check(gt_destroyed(exec.id), "gt_destroyed");
  check(cudaGraphExecDestroy(exec.exec), "cudaGraphExecDestroy");
}

void Program::keep_or_destroy(cudaGraph_t graph) {
  if (builder_->random()() % 2 == 0 && !settings_.keep) {
    check(cudaGraphDestroy(graph), "cudaGraphDestroy");
  } else {
    graphs_.push_back(graph);
  }
}

void Program::build_one() {
  std::mt19937_64& random = builder_->random();
  if (random() % 20 == 0) {
    now_doing("a capture that fails");
    builder_->fail_capture();
    ++totals_.failed_captures;
  }
  const std::uint64_t shape = random();
  now_doing("build", std::to_string(shape));
  Builder::Built built = builder_->build(shape);
  ++totals_.graphs;
  std::vector<Expected> expected;
  list_expected(built.known, {}, expected);
  const bool plain = !built.known.has_conditional() && !built.known.has_memory;
  const std::size_t first = execs_.size();
  if (!instantiate(built.graph, expected, built.known.features)) {
    keep_or_destroy(built.graph);
    return;
  }
  if (plain && random() % 3 == 0) instantiate(built.graph, expected, built.known.features);
  if (plain && random() % 6 == 0) {
    now_doing("cudaGraphClone", built.known.features);
    cudaGraph_t clone = nullptr;
    check(cudaGraphClone(&clone, built.graph), "cudaGraphClone");
    ++totals_.graphs;
    ++totals_.clones;
    Expected added;
    builder_->add_plain_kernel(clone, added);
    std::vector<Expected> more = expected;
    more.push_back(added);
    instantiate(clone, std::move(more), built.known.features + " clone");
    keep_or_destroy(clone);
  }
  cudaGraphNode_t kernel = nullptr;
  std::uint32_t old_identity = 0;
  for (const KnownGraph::Node& node : built.known.nodes) {
    if (node.kernel_node != nullptr) {
      kernel = node.kernel_node;
      old_identity = node.identity;
    }
  }
  if (kernel != nullptr && random() % 4 == 0) {
    const std::uint32_t identity = builder_->set_identity(execs_[first].exec, kernel);
    for (Expected& node : execs_[first].expected) {
      if (node.work == Work::kernel && node.identity == old_identity) node.identity = identity;
    }
    ++totals_.node_updates;
  } else if (plain && random() % 3 == 0) {
    update(execs_[first], shape);
  }
  keep_or_destroy(built.graph);
}

gt_window open_window(const Settings& settings, std::vector<std::unique_ptr<Program>>& programs) {
  gt_window_options options{};
  options.size = sizeof options;
  options.observer = settings.boundary() ? GT_OBSERVER_BOUNDARY : GT_OBSERVER_CALLBACKS;
  options.flags = settings.all_streams() ? GT_WINDOW_ALL_STREAMS : 0;
  gt_window window{};
  check(gt_window_open(&options, &window), "gt_window_open");
  if (settings.boundary()) {
    for (const auto& program : programs) program->name_streams(window);
  }
  return window;
}

int report(const Settings& settings, const Totals& totals, double seconds) {
  const auto print = [](const char* name, std::uint64_t value) {
    std::printf("  %-28s %llu\n", name, static_cast<unsigned long long>(value));
  };
  std::printf("gpu_test mode=%s threads=%d seed=%llu replays=%d: %.1f s\n", settings.mode, settings.threads,
              static_cast<unsigned long long>(settings.seed), settings.replays, seconds);
  print("graphs", totals.graphs);
  print("exec graphs", totals.execs);
  print("clones", totals.clones);
  print("exec updates", totals.updates);
  print("exec updates refused", totals.failed_updates);
  print("single-node updates", totals.node_updates);
  print("captures that failed", totals.failed_captures);
  print("instantiations refused", totals.refused_instantiations);
  print("records", totals.records);
  std::uint64_t bad = totals.stale_named + totals.foreign + totals.missing + (totals.records == 0 ? 1 : 0);
  if (settings.keep) bad += totals.stale_ids + totals.mis_sized;
  for (std::size_t i = 0; i < kOrigins; ++i) {
    if (totals.right[i] + totals.wrong[i] == 0) continue;
    const auto origin = static_cast<gt_origin>(i);
    std::printf("  %-28s %llu right, %llu wrong\n", gt_origin_name(origin), static_cast<unsigned long long>(totals.right[i]),
                static_cast<unsigned long long>(totals.wrong[i]));
    if (!may_be_wrong(origin, settings.boundary())) bad += totals.wrong[i];
  }
  print("records with a dead graph's id", totals.stale_ids);
  print("  of these, named (must be 0)", totals.stale_named);
  print("records of nobody (must be 0)", totals.foreign);
  print("done by the driver's kernels", totals.drivers_own);
  print("copies of a wrong size", totals.mis_sized);
  print("records missing (must be 0)", totals.missing);
  print("sets that make no record", totals.unrecorded_sets);
  print("records dropped by CUPTI", dropped_records());
  gt_counters counters{};
  counters.size = sizeof counters;
  if (gt_counters_get(&counters) == GT_OK) print("graphtag: failures", counters.failures);
  std::printf("%s\n", bad == 0 ? "PASSED" : "FAILED");
  return bad == 0 ? 0 : 1;
}

int run(const Settings& settings) {
  const auto begin = std::chrono::steady_clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
  start_watchdog(30);
  start_activity();
  std::vector<std::unique_ptr<Program>> programs;
  for (int i = 0; i < settings.threads; ++i) programs.push_back(std::make_unique<Program>(settings, i, settings.threads));
  Totals totals;
  std::uint64_t graphs = 0;
  double told = 0;
  while (graphs < settings.graphs && elapsed() < settings.seconds) {
    now_doing("open a window");
    gt_window window = open_window(settings, programs);
    now_doing("wait for the builders");
    std::vector<std::thread> threads;
    for (const auto& program : programs) threads.emplace_back([&program] { program->build_batch(); });
    for (std::thread& thread : threads) thread.join();
    now_doing("close a window");
    check(gt_window_close(window), "gt_window_close");

    now_doing("wait for the replays");
    std::vector<KnownExec> execs;
    for (const auto& program : programs) {
      program->replay();
      execs.insert(execs.end(), program->execs().begin(), program->execs().end());
    }
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    now_doing("flush and check the records");
    check_records(take_records(), execs, settings.replays, settings.boundary(), totals);

    now_doing("open a window to destroy");
    window = open_window(settings, programs);
    now_doing("wait for the destructions");
    for (const auto& program : programs) program->end_batch();
    check(gt_window_close(window), "gt_window_close");
    graphs = 0;
    for (const auto& program : programs) graphs += program->totals().graphs;
    if (elapsed() > told + 2) {
      told = elapsed();
      std::printf("  %.0f s: %llu graphs, %llu records\n", told, static_cast<unsigned long long>(graphs),
                  static_cast<unsigned long long>(totals.records));
      std::fflush(stdout);
    }
  }
  for (const auto& program : programs) totals.add(program->totals());
  return report(settings, totals, elapsed());
}

}  // namespace
}  // namespace gpu_test

int main(int argc, char** argv) {
  gpu_test::Settings settings;
  for (int i = 1; i + 1 < argc; i += 2) {
    const char* value = argv[i + 1];
    if (std::strcmp(argv[i], "--mode") == 0)
      settings.mode = value;
    else if (std::strcmp(argv[i], "--graphs") == 0)
      settings.graphs = std::strtoull(value, nullptr, 10);
    else if (std::strcmp(argv[i], "--replays") == 0)
      settings.replays = std::atoi(value);
    else if (std::strcmp(argv[i], "--threads") == 0)
      settings.threads = std::atoi(value);
    else if (std::strcmp(argv[i], "--seed") == 0)
      settings.seed = std::strtoull(value, nullptr, 10);
    else if (std::strcmp(argv[i], "--seconds") == 0)
      settings.seconds = std::atof(value);
    else if (std::strcmp(argv[i], "--keep") == 0)
      settings.keep = std::strcmp(value, "yes") == 0;
    else if (std::strcmp(argv[i], "--skip") == 0)
      settings.skip = value;
    else {
      std::fprintf(stderr, "gpu_test: unknown option %s\n", argv[i]);
      return 2;
    }
  }
  const bool known_mode = std::strcmp(settings.mode, "callbacks") == 0 || std::strcmp(settings.mode, "frontiers") == 0 ||
                          std::strcmp(settings.mode, "counts") == 0 || std::strcmp(settings.mode, "scenarios") == 0 ||
                          std::strcmp(settings.mode, "exit") == 0;
  if (!known_mode || settings.threads < 1 || settings.threads > 3 || settings.replays < 1) {
    std::fprintf(stderr,
                 "gpu_test: --mode is callbacks, frontiers, counts, scenarios or exit; --threads 1 to 3; --replays at least 1\n");
    return 2;
  }
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::printf("gpu_test: skipped: no GPU (%s)\n", cudaGetErrorString(cudaGetLastError()));
    return 77;
  }
  if (std::strcmp(settings.mode, "scenarios") == 0) {
    gpu_test::start_watchdog(30);
    gpu_test::start_activity();
    return gpu_test::run_scenarios();
  }
  if (std::strcmp(settings.mode, "exit") == 0) {
    gpu_test::start_watchdog(30);
    gpu_test::leave_open();
    return 0;
  }
  return gpu_test::run(settings);
}
