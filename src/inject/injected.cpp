#include "inject/injected.h"

#include <dlfcn.h>
#include <pthread.h>

#include <cstdlib>

#include "base/guard_protocol.h"

extern "C" {
__attribute__((visibility("default"))) int InitializeInjection() noexcept;
__attribute__((visibility("default"))) int InitializeInjectionNvtx2(graphtag::inject::nvtx::GetExportTable program) noexcept;
}

namespace graphtag::inject {
namespace {

std::atomic<Injected*> the_one{nullptr};

void at_exit() {
  the_one.load()->session.load()->finish();
}

void make_way() {
  the_one.load()->session.load()->make_way();
}

// Nothing where the guard was not preloaded.
void watch_other_profilers() {
  if (const auto watch = reinterpret_cast<guard::Watch>(dlsym(RTLD_DEFAULT, guard::kWatch))) watch(&make_way);
}

void before_fork() {
  Injected& self = *the_one.load();
  // In the order in which a range takes them.
  self.ranges.lock_for_fork();
  self.names.lock_for_fork();
  self.chain.lock_for_fork();
}

void after_fork() {
  Injected& self = *the_one.load();
  self.chain.unlock_after_fork();
  self.names.unlock_after_fork();
  self.ranges.unlock_after_fork();
}

void in_child() {
  after_fork();
  Injected& self = *the_one.load();
  self.names.start_anew();
  self.ranges.start_anew();
  self.control.leave();
  // The parent's may be locked for good.
  if (auto* fresh = new (std::nothrow) Session(self.options, self.control, self.names, self.ranges, &at_exit))
    self.session = fresh;
}

}  // namespace

Injected::Injected(Options read)
    : options(std::move(read)),
      control(options.control),
      names(options.domains),
      session(new Session(options, control, names, ranges, &at_exit)) {}

Injected* injected() noexcept {
  if (Injected* known = the_one.load(std::memory_order_acquire)) return known;
  try {
    auto* made = new Injected(read_options(std::getenv));
    Injected* known = nullptr;
    if (!the_one.compare_exchange_strong(known, made)) {
      delete made;
      return known;
    }
    pthread_atfork(&before_fork, &after_fork, &in_child);
    return made;
  } catch (...) {
    return nullptr;
  }
}

void Injected::cuda_started() {
  watch_other_profilers();
  session.load()->start();
  if (options.next_cuda.empty()) return;
  void* library = dlopen(options.next_cuda.c_str(), RTLD_NOW | RTLD_LOCAL);
  const auto next = library == nullptr ? nullptr : reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection"));
  if (next == nullptr) return control.next_failed();
  if (next != &InitializeInjection) (void)next();
}

void Injected::nvtx_started(nvtx::GetExportTable program) {
  const bool chained = !options.next_nvtx.empty() && chain.attach(options.next_nvtx.c_str(), program, &InitializeInjectionNvtx2);
  if (!options.next_nvtx.empty() && !chained) control.next_failed();
  if (attach_to_nvtx(program, chained)) control.nvtx_started();
}

}  // namespace graphtag::inject

// Called by libcuda while CUDA starts, on the thread that starts it.
int InitializeInjection() noexcept {
  try {
    if (auto* self = graphtag::inject::injected()) self->cuda_started();
  } catch (...) {
    // Then nothing is recorded; the program goes on.
  }
  return 1;
}

// Called by each NVTX of the process at its first call. 0 would have it unload us.
int InitializeInjectionNvtx2(graphtag::inject::nvtx::GetExportTable program) noexcept {
  try {
    if (auto* self = graphtag::inject::injected(); self != nullptr && program != nullptr) self->nvtx_started(program);
  } catch (...) {
    // The same.
  }
  return 1;
}
