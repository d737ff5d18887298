// libgraphtag_guard.so: stands before CUPTI in a process (LD_PRELOAD), so that a recording can end before a profiler of the program's own starts,
// which CUPTI would refuse else.
//
//   libtorch_cpu.so ── cuptiSubscribe ──▶ here ── make_way() ──▶ the recording ends, CUPTI is free
//                                          └───── cuptiSubscribe ──▶ the libcupti.so that libtorch_cpu.so is linked with
//
// It lies in each process of a run, of which most know nothing of CUDA: it does nothing until it is called, needs the C library alone, and keeps no memory.
// graphtag itself calls CUPTI by address, which does not come through here; so does whoever looks functions up with dlsym.
#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <cstdint>
#include <cstring>

#include "base/guard_protocol.h"

// A program of another C library (musl), or with an older glibc of its own, would not start where one of these or its version is not there: so they may be
// absent, and have the versions of when they lay in libdl. No CUDA is there either.
#pragma weak dladdr1
#pragma weak dlclose
#pragma weak dl_iterate_phdr
#pragma weak dlopen
#pragma weak dlsym
#if defined(__x86_64__)
__asm__(".symver dladdr1, dladdr1@GLIBC_2.3.3");
__asm__(".symver dlclose, dlclose@GLIBC_2.2.5");
__asm__(".symver dlopen, dlopen@GLIBC_2.2.5");
__asm__(".symver dlsym, dlsym@GLIBC_2.2.5");
#elif defined(__aarch64__)
__asm__(".symver dladdr1, dladdr1@GLIBC_2.17");
__asm__(".symver dlclose, dlclose@GLIBC_2.17");
__asm__(".symver dlopen, dlopen@GLIBC_2.17");
__asm__(".symver dlsym, dlsym@GLIBC_2.17");
#endif

namespace {

bool has_loader() {
  return dladdr1 != nullptr && dlclose != nullptr && dl_iterate_phdr != nullptr && dlopen != nullptr && dlsym != nullptr;
}

constexpr std::int32_t kNotInitialized = 15;  // CUPTI_ERROR_NOT_INITIALIZED

std::atomic<graphtag::guard::MakeWay> make_way{nullptr};

bool is_cupti(const char* path) {
  const char* slash = path == nullptr ? nullptr : std::strrchr(path, '/');
  const char* name = slash == nullptr ? path : slash + 1;
  constexpr char kName[] = "libcupti.so";
  return name != nullptr && std::strncmp(name, kName, sizeof kName - 1) == 0;
}

// The object of the process that an address lies in; null: none, as for code that was made at run time.
const link_map* object_of(const void* address) {
  Dl_info info;
  void* object = nullptr;
  return dladdr1(address, &info, &object, RTLD_DL_LINKMAP) != 0 ? static_cast<const link_map*>(object) : nullptr;
}

bool is_cupti(const link_map* object) {
  return object != nullptr && is_cupti(object->l_name);
}

// What the object at `path`, or something that it is linked with, has under this name. What was preloaded is not looked at.
void* find_in(const char* path, const char* name) {
  void* handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return nullptr;
  void* function = dlsym(handle, name);
  dlclose(handle);  // it was in the process before, and stays
  return function;
}

int note_cupti(dl_phdr_info* info, std::size_t, void* path) {
  if (!is_cupti(info->dlpi_name)) return 0;
  *static_cast<const char**>(path) = info->dlpi_name;
  return 1;
}

// What `caller` would have got without us. Of two copies of CUPTI it is the caller's own, which the version of the name would have decided.
void* find_behind(const link_map* caller, const char* name) {
  const link_map* const self = object_of(reinterpret_cast<const void*>(&find_behind));
  const auto unless_ours = [&](void* function) { return object_of(function) == self ? nullptr : function; };
  void* const next = unless_ours(dlsym(RTLD_NEXT, name));
  if (next != nullptr && !is_cupti(object_of(next))) return next;  // another one that stands before CUPTI
  // The program itself has no name, and what it is linked with comes next.
  if (caller != nullptr && caller->l_name[0] != '\0') {
    if (void* const own = unless_ours(find_in(caller->l_name, name))) return own;
  }
  if (next != nullptr) return next;
  // A caller that is linked with nothing: it jumped here on behalf of another one.
  const char* path = nullptr;
  dl_iterate_phdr(&note_cupti, &path);
  return path == nullptr ? nullptr : find_in(path, name);
}

// The real function, once CUPTI is free for it (unless CUPTI itself calls, which has nothing to do with the program); null if there is none.
template <typename Function>
Function let_through(const char* name, const void* called_from) {
  if (!has_loader()) return nullptr;
  const link_map* const caller = object_of(called_from);
  void* const real = find_behind(caller, name);
  const bool is_own_call = caller == object_of(real) && is_cupti(caller);
  if (real != nullptr && !is_own_call) {
    if (const graphtag::guard::MakeWay make = make_way.load(std::memory_order_acquire)) make();
  }
  return reinterpret_cast<Function>(real);
}

}  // namespace

// With CUPTI's signatures, CUDA 12.0 to 13.2.
#pragma GCC visibility push(default)
extern "C" {

void graphtag_guard_watch(graphtag::guard::MakeWay function) {
  make_way.store(function, std::memory_order_release);
}

std::int32_t cuptiSubscribe(void** subscriber, void* callback, void* user) {
  const auto real = let_through<std::int32_t (*)(void**, void*, void*)>("cuptiSubscribe", __builtin_return_address(0));
  return real == nullptr ? kNotInitialized : real(subscriber, callback, user);
}

std::int32_t cuptiSubscribe_v2(void** subscriber, void* callback, void* user, void* parameters) {
  const auto real = let_through<std::int32_t (*)(void**, void*, void*, void*)>("cuptiSubscribe_v2", __builtin_return_address(0));
  return real == nullptr ? kNotInitialized : real(subscriber, callback, user, parameters);
}

// Of one that takes the records without a subscription.
std::int32_t cuptiActivityRegisterCallbacks(void* request, void* complete) {
  const auto real = let_through<std::int32_t (*)(void*, void*)>("cuptiActivityRegisterCallbacks", __builtin_return_address(0));
  return real == nullptr ? kNotInitialized : real(request, complete);
}
}
#pragma GCC visibility pop
