// Finds libcuda and CUPTI, their functions, and whether they answer.
#include <dlfcn.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "driver/library_search.h"
#include "driver/real_state.h"
#include "driver/vendor.h"

namespace graphtag {
namespace {

// Opens `name` (a path or a soname): the mapped copy if there is one.
void* open_library(const std::string& name, LibraryFacts& facts) {
  void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  facts.was_mapped = handle != nullptr;
  if (handle == nullptr) handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  const char* words = handle == nullptr ? dlerror() : nullptr;
  facts.tried.push_back(words == nullptr ? name : words);
  return handle;
}

// The file that holds `address`.
std::string path_of(void* address) {
  Dl_info info{};
  return address != nullptr && dladdr(address, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : std::string{};
}

std::string environment_variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string{} : std::string{value};
}

}  // namespace

void RealDriver::State::set_state(Entry entry, EntryState state, std::int32_t code) {
  facts_of(entry).state = state;
  facts_of(entry).code = code;
  if (state == EntryState::refused) functions[static_cast<std::size_t>(entry)] = nullptr;
}

void RealDriver::State::look_up(Library library, void* handle) {
  for (std::size_t i = 0; i < kEntries; ++i) {
    const EntrySpec& spec = kEntrySpecs[i];
    if (spec.library != library) continue;
    functions[i] = dlsym(handle, spec.symbol);
    set_state(spec.entry, functions[i] == nullptr ? EntryState::missing : EntryState::found);
  }
}

void RealDriver::State::load() {
  for (const EntrySpec& spec : kEntrySpecs) {
    facts.entry_points.push_back(EntryPoint{spec.symbol, spec.library == Library::cuda ? "libcuda" : "libcupti", spec.purpose,
                                            spec.since, EntryState::no_library, 0});
  }
  for (const char* name : {"libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"}) {
    if (void* handle = open_library(name, facts.cuda); handle != nullptr) {
      look_up(Library::cuda, handle);
      facts.cuda.path = path_of(get<void*>(Entry::driver_get_version));
      break;
    }
  }
  if (const auto version = get<std::int32_t (*)(int*)>(Entry::driver_get_version); version != nullptr) {
    const std::int32_t code = version(&facts.cuda.version);
    set_state(Entry::driver_get_version, code == 0 ? EntryState::works : EntryState::refused, code);
  }

  const std::vector<std::string> mapped = mapped_libraries();
  std::vector<std::string> candidates;
  for (const std::string& path : mapped) {
    if (is_cupti(path)) candidates.push_back(path);
  }
  if (candidates.size() > 1) facts.cupti.others.assign(candidates.begin() + 1, candidates.end());
  // Without a driver CUPTI can do nothing: it stays out of the process.
  if (candidates.empty() && !facts.cuda.path.empty())
    candidates = cupti_candidates(facts.cuda.version, mapped, environment_variable);
  for (const std::string& candidate : candidates) {
    if (void* handle = open_library(candidate, facts.cupti); handle != nullptr) {
      look_up(Library::cupti, handle);
      facts.cupti.path = path_of(get<void*>(Entry::cupti_get_version));
      break;
    }
  }
  probe();
  judge();
}

// Calls what can be called without a trace: with null handles, which are refused before anything is looked at.
void RealDriver::State::probe() {
  if (facts.cuda.path.empty()) return;
  if (const auto count = get<std::int32_t (*)(int*)>(Entry::device_get_count); count != nullptr) {
    int devices = 0;
    const std::int32_t code = count(&devices);
    if (code == vendor::kCudaSuccess || code == vendor::kCudaNotInitialized)
      set_state(Entry::device_get_count, EntryState::works);
  }
  if (const auto version = get<std::int32_t (*)(std::uint32_t*)>(Entry::cupti_get_version); version != nullptr) {
    std::uint32_t number = 0;
    const std::int32_t code = version(&number);
    facts.cupti.version = static_cast<int>(number);
    set_state(Entry::cupti_get_version, code == 0 ? EntryState::works : EntryState::refused, code);
  }
  if (const auto words = get<std::int32_t (*)(std::int32_t, const char**)>(Entry::cupti_result_string); words != nullptr) {
    const char* text = nullptr;
    const std::int32_t code = words(vendor::kCuptiSuccess, &text);
    set_state(Entry::cupti_result_string, code == 0 && text != nullptr ? EntryState::works : EntryState::refused, code);
  }
  const auto probe_id = [this](Entry entry, std::int32_t code) {
    set_state(entry, code == vendor::kCuptiInvalidParameter ? EntryState::works : EntryState::refused, code);
  };
  if (const auto id = get<std::int32_t (*)(NodeHandle, std::uint64_t*)>(Entry::cupti_node_id); id != nullptr) {
    std::uint64_t node = 0;
    probe_id(Entry::cupti_node_id, id(nullptr, &node));
  }
  std::uint32_t number = 0;
  if (const auto id = get<std::int32_t (*)(GraphHandle, std::uint32_t*)>(Entry::cupti_graph_id); id != nullptr) {
    probe_id(Entry::cupti_graph_id, id(nullptr, &number));
  }
  if (const auto id = get<std::int32_t (*)(ExecHandle, std::uint32_t*)>(Entry::cupti_exec_id); id != nullptr) {
    probe_id(Entry::cupti_exec_id, id(nullptr, &number));
  }
}

void RealDriver::State::judge() {
  const bool cuda = !facts.cuda.path.empty();
  const bool by_cupti = has(Entry::cupti_node_id) && has(Entry::cupti_graph_id);
  const bool by_driver = has(Entry::node_get_tools_id) && has(Entry::graph_get_id);
  facts.can_ask_ids = cuda && has(Entry::driver_get_version) && (by_cupti || by_driver);
  facts.can_subscribe = facts.can_ask_ids && by_cupti && has(Entry::cupti_subscribe) && has(Entry::cupti_unsubscribe) &&
                        has(Entry::cupti_enable_callback);
  facts.can_record = facts.can_subscribe && has(Entry::activity_register_callbacks) && has(Entry::activity_enable) &&
                     has(Entry::activity_disable) && has(Entry::activity_flush_all) && has(Entry::activity_next_record) &&
                     has(Entry::cupti_timestamp);
  if (facts.can_ask_ids) return;
  if (!cuda) {
    facts.unavailable = "no libcuda: install an NVIDIA driver, or start the container with its GPUs";
  } else if (!has(Entry::driver_get_version)) {
    const std::int32_t code = facts_of(Entry::driver_get_version).code;
    facts.unavailable = facts.cuda.path + (code == vendor::kCudaStubLibrary
                                               ? " is the toolkit's stub, which runs nothing: take it out of LD_LIBRARY_PATH"
                                               : " does not answer (CUDA error " + std::to_string(code) + ")");
  } else if (facts.cupti.path.empty()) {
    facts.unavailable =
        "no libcupti, which drivers older than CUDA 13.1 need: install the CUDA toolkit or the package nvidia-cuda-cupti, and "
        "name its folder "
        "in LD_LIBRARY_PATH";
  } else {
    const EntryPoint& id = facts_of(Entry::cupti_node_id);
    facts.unavailable = facts.cupti.path + (id.state == EntryState::missing
                                                ? " is too old: it has no cuptiGetGraphNodeId; take one of CUDA 12.0 or newer"
                                                : " refuses to tell node ids (CUPTI error " + std::to_string(id.code) +
                                                      "): take the one of the driver's release");
  }
}

}  // namespace graphtag
