// A program that uses the false CUDA of tests/fake, does what its arguments say one by one, and knows nothing of graphtag.
//
//   cuda_program cuda push:decode graph:3 pop replay:2 exit:7
//
// cuda             starts CUDA: the driver loads what CUDA_INJECTION64_PATH names
// push:T pop start:T end mark:T     NVTX; `end` ends the range that was started first
// graph:N          a graph of N kernels, captured here
// capture:N instantiate  .. in two steps
// replay:N         launches the last graph N times
// eager:N          N kernels outside graphs
// taken            a tool takes CUPTI's records over
// plugin           loads a library that is linked with CUPTI, as `import torch` does
// subscribe[:v2]   the plug-in asks for CUPTI's subscription, and prints the answer
// subscribe_on:T   .. on T threads at once, and prints how many got it
// record report    the plug-in asks for records of kernels, and prints what it got
// sleep:MS pause   `pause` prints "ready" and sleeps for ever
// fork             the rest happens in a child, whose exit status becomes this process's
// exec             the rest happens in a new image of this process
// thread           the rest happens on another thread
// chdir:PATH exit:N _exit:N kill:N leave:PATH  `leave` makes an empty file
#include <dlfcn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "tests/fake/vendor/process_fake.h"

#ifdef GRAPHTAG_WITH_NVTX
#include <nvtx3/nvToolsExt.h>
#else
#include "tests/inject/nvtx_program.h"
#endif

using namespace graphtag;        // NOLINT(google-build-using-namespace)
using namespace graphtag::fake;  // NOLINT(google-build-using-namespace)

namespace {

#ifdef GRAPHTAG_WITH_NVTX
void push(const std::string& text) {
  nvtxRangePushA(text.c_str());
}
void pop() {
  nvtxRangePop();
}
std::uint64_t start(const std::string& text) {
  return nvtxRangeStartA(text.c_str());
}
void end(std::uint64_t id) {
  nvtxRangeEnd(id);
}
void mark(const std::string& text) {
  nvtxMarkA(text.c_str());
}
#else
// As the headers of NVTX do it: the tool is loaded at the first call.
inject::NvtxProgram& nvtx() {
  static auto* the_one = new inject::NvtxProgram([](inject::nvtx::GetExportTable tables) {
    const char* path = std::getenv("NVTX_INJECTION64_PATH");
    void* tool = path == nullptr ? nullptr : dlopen(path, RTLD_LAZY);
    const auto initialize =
        tool == nullptr ? nullptr : reinterpret_cast<inject::nvtx::InitializeInjection>(dlsym(tool, "InitializeInjectionNvtx2"));
    return initialize == nullptr ? 0 : initialize(tables);
  });
  return *the_one;
}
void push(const std::string& text) {
  nvtx().push(text.c_str());
}
void pop() {
  nvtx().pop();
}
std::uint64_t start(const std::string& text) {
  return nvtx().start(text.c_str());
}
void end(std::uint64_t id) {
  nvtx().end(id);
}
void mark(const std::string& text) {
  nvtx().mark(text.c_str());
}
#endif

struct Machine {
  GraphHandle graph = nullptr;
  ExecHandle exec = nullptr;
  std::deque<std::uint64_t> started;
  std::uint32_t correlation = 0;
};
Machine machine;

std::uint64_t now_ns() {
  std::uint64_t time = 0;
  (void)process_fake().driver().timestamp_ns(time);
  return time;
}

void start_cuda() {
  void* cuda = dlopen("libcuda.so.1", RTLD_NOW);
  // CUPTI is in the process already, as in one that links it.
  if (cuda == nullptr || dlopen("libcupti.so.13", RTLD_NOW) == nullptr) {
    std::cerr << dlerror() << '\n';
    std::exit(99);
  }
  reinterpret_cast<int (*)(unsigned)>(dlsym(cuda, "cuInit"))(0);
}

void capture(int kernels) {
  FakeCuda& cuda = process_fake();
  const StreamHandle stream = cuda.stream_create();
  cuda.begin_capture(stream);
  for (int i = 0; i < kernels; ++i) cuda.launch(stream, NodeType::kernel, static_cast<std::uint64_t>(i));
  machine.graph = cuda.end_capture(stream);
}

void instantiate() {
  machine.exec = process_fake().instantiate(machine.graph);
}

// The host's call, and its number, which the GPU's records have too.
std::uint32_t call(std::uint32_t callback_id) {
  FakeActivity::Call record;
  record.callback_id = callback_id;
  record.start_ns = now_ns();
  record.end_ns = record.start_ns + 1000;
  record.thread = static_cast<std::uint32_t>(syscall(SYS_gettid));
  record.correlation = ++machine.correlation;
  process_fake().activity().call(record);
  return record.correlation;
}

void put_kernel(const char* name, std::uint64_t node, std::uint32_t correlation) {
  FakeActivity::Kernel record;
  record.name = name;
  record.start_ns = now_ns();
  record.end_ns = record.start_ns + 500;
  record.node_id = node;
  record.correlation = correlation;
  process_fake().activity().kernel(record);
}

void replay(int times) {
  for (int i = 0; i < times; ++i) {
    const std::uint32_t correlation = call(311);  // cudaGraphLaunch
    for (const Record& record : process_fake().replay(machine.exec)) put_kernel("_Z7graphedv", record.id.value, correlation);
  }
}

void eager(int kernels) {
  for (int i = 0; i < kernels; ++i) put_kernel("_Z5eagerv", 0, call(211));  // cudaLaunchKernel
}

void* plugin_library = nullptr;

void load_plugin() {
  const auto folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  plugin_library = dlopen((folder / "libprofiler_plugin.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (plugin_library == nullptr) {
    std::cerr << dlerror() << '\n';
    std::exit(97);
  }
}

template <typename Function>
Function* plugin(const char* name) {
  return reinterpret_cast<Function*>(dlsym(plugin_library, name));
}

int subscribe(bool v2 = false) {
  void* handle = nullptr;
  return plugin<int(void**)>(v2 ? "profiler_subscribe_v2" : "profiler_subscribe")(&handle);
}

void subscribe_on(int threads) {
  std::atomic<int> succeeded{0};
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i) all.emplace_back([&] { succeeded += subscribe() == 0 ? 1 : 0; });
  for (std::thread& thread : all) thread.join();
  std::cout << "subscribed " << succeeded << std::endl;
}

void run(const std::vector<std::string>& words, std::size_t from, const char* self);

int run_in_child(const std::vector<std::string>& words, std::size_t from, const char* self) {
  const pid_t child = fork();
  if (child == 0) {
    run(words, from, self);
    std::exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void execute(const std::vector<std::string>& words, std::size_t from, const char* self) {
  std::vector<char*> arguments{const_cast<char*>(self)};
  for (std::size_t i = from; i < words.size(); ++i) arguments.push_back(const_cast<char*>(words[i].c_str()));
  arguments.push_back(nullptr);
  execv("/proc/self/exe", arguments.data());
  std::exit(98);
}

void run(const std::vector<std::string>& words, std::size_t from, const char* self) {
  for (std::size_t i = from; i < words.size(); ++i) {
    const std::string name = words[i].substr(0, words[i].find(':'));
    const std::string text = name.size() < words[i].size() ? words[i].substr(name.size() + 1) : std::string{};
    const int number = std::atoi(text.c_str());
    if (name == "fork") std::exit(run_in_child(words, i + 1, self));
    if (name == "exec") execute(words, i + 1, self);
    if (name == "thread") {
      std::thread([&] { run(words, i + 1, self); }).join();
      return;
    }
    static const std::map<std::string, std::function<void(const std::string&, int)>> kActs{
        {"cuda", [](const std::string&, int) { start_cuda(); }},
        {"push", [](const std::string& t, int) { push(t); }},
        {"pop", [](const std::string&, int) { pop(); }},
        {"start", [](const std::string& t, int) { machine.started.push_back(start(t)); }},
        {"end",
         [](const std::string&, int) {
           end(machine.started.front());
           machine.started.pop_front();
         }},
        {"mark", [](const std::string& t, int) { mark(t); }},
        {"graph",
         [](const std::string&, int n) {
           capture(n);
           instantiate();
         }},
        {"capture", [](const std::string&, int n) { capture(n); }},
        {"instantiate", [](const std::string&, int) { instantiate(); }},
        {"replay", [](const std::string&, int n) { replay(n); }},
        {"eager", [](const std::string&, int n) { eager(n); }},
        {"taken", [](const std::string&, int) { process_fake().activity().take_over(); }},
        {"plugin", [](const std::string&, int) { load_plugin(); }},
        {"subscribe", [](const std::string& t, int) { std::cout << "subscribe " << subscribe(t == "v2") << std::endl; }},
        {"subscribe_on", [](const std::string&, int n) { subscribe_on(n); }},
        {"record", [](const std::string&, int) { std::cout << "record " << plugin<int()>("profiler_record")() << std::endl; }},
        {"report", [](const std::string&, int) { plugin<void()>("profiler_report")(); }},
        {"sleep", [](const std::string&, int n) { usleep(static_cast<useconds_t>(n) * 1000); }},
        {"pause",
         [](const std::string&, int) {
           std::cout << "ready " << getpid() << std::endl;
           while (true) ::pause();
         }},
        {"chdir", [](const std::string& t, int) { std::filesystem::current_path(t); }},
        {"leave", [](const std::string& t, int) { std::ofstream{t}; }},
        {"kill", [](const std::string&, int n) { kill(getpid(), n); }},
        {"_exit", [](const std::string&, int n) { _exit(n); }},
        {"exit", [](const std::string&, int n) { std::exit(n); }},
    };
    kActs.at(name)(text, number);
  }
}

}  // namespace

int main(int argc, char** argv) {
  run({argv + 1, argv + argc}, 0, argv[0]);
}
