#include "inject/chain.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace graphtag::inject {
namespace {

// Only while a tool initialises itself on this thread.
thread_local Chain* attaching = nullptr;
thread_local nvtx::GetExportTable program_tables = nullptr;

const nvtx::CallbacksTable* program_callbacks() {
  return program_tables == nullptr ? nullptr : static_cast<const nvtx::CallbacksTable*>(program_tables(nvtx::kCallbacksTable));
}

// These the other tool may have from the program's NVTX directly: we do not listen to them, and they name no domain.
constexpr bool is_direct(nvtx::Core place) {
  return place == nvtx::Core::name_os_thread_a || place == nvtx::Core::name_os_thread_w;
}
constexpr bool is_direct(nvtx::Core2 place) {
  return place == nvtx::Core2::resource_destroy || place == nvtx::Core2::initialize;
}

template <typename Place, std::size_t N>
std::vector<nvtx::FunctionPointer*> places_of(std::array<nvtx::FunctionPointer, N>& ours, nvtx::FunctionPlaces program,
                                              unsigned program_size) {
  std::vector<nvtx::FunctionPointer*> places(N + 1, nullptr);
  for (unsigned i = 1; i < std::min<unsigned>(program_size, N); ++i) {
    places[i] = is_direct(static_cast<Place>(i)) ? program[i] : &ours[i];
  }
  return places;
}

}  // namespace

int Chain::get_module_functions(std::int32_t module, nvtx::FunctionPlaces* places, unsigned* size) {
  const nvtx::CallbacksTable* program = program_callbacks();
  if (attaching == nullptr || program == nullptr) return 0;
  nvtx::FunctionPlaces found = nullptr;
  unsigned count = 0;
  if (program->get_module_functions(module, &found, &count) == 0 || found == nullptr) return 0;
  switch (static_cast<nvtx::Module>(module)) {
    case nvtx::Module::core:
      found = attaching->keep(places_of<nvtx::Core>(attaching->core_, found, count));
      count = std::min(count, nvtx::kCorePlaces);
      break;
    case nvtx::Module::core2:
      found = attaching->keep(places_of<nvtx::Core2>(attaching->core2_, found, count));
      count = std::min(count, nvtx::kCore2Places);
      break;
    case nvtx::Module::sync: {
      std::vector<nvtx::FunctionPointer*> mixed(found, found + count);
      mixed.push_back(nullptr);
      if (count > nvtx::kSyncUserCreate) mixed[nvtx::kSyncUserCreate] = &attaching->sync_user_create_;
      found = attaching->keep(std::move(mixed));
      break;
    }
    default:
      break;
  }
  if (places != nullptr) *places = found;
  if (size != nullptr) *size = count;
  return 1;
}

nvtx::FunctionPlaces Chain::keep(std::vector<nvtx::FunctionPointer*> places) {
  const std::lock_guard lock(mutex_);
  return places_.emplace_front(std::move(places)).data();
}

const void* Chain::export_table(std::uint32_t table_id) {
  static const nvtx::CallbacksTable kTable{sizeof(nvtx::CallbacksTable), &Chain::get_module_functions};
  if (table_id == nvtx::kCallbacksTable) return &kTable;
  return program_tables == nullptr ? nullptr : program_tables(table_id);
}

bool Chain::attach(const char* path, nvtx::GetExportTable program, nvtx::InitializeInjection ours) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return false;
  const auto initialize = reinterpret_cast<nvtx::InitializeInjection>(dlsym(library, "InitializeInjectionNvtx2"));
  if (initialize == nullptr || initialize == ours) return false;
  attaching = this;
  program_tables = program;
  const bool attached = initialize(&Chain::export_table) != 0;
  attaching = nullptr;
  program_tables = nullptr;
  if (attached) exists_.store(true, std::memory_order_release);
  return attached;
}

nvtx::EventAttributes Chain::translate(const nvtx::EventAttributes* given) {
  nvtx::EventAttributes whole{};
  if (given == nullptr) return whole;
  std::memcpy(&whole, given, std::min<std::size_t>(given->size, sizeof whole));
  whole.size = std::min<std::uint16_t>(given->size, sizeof whole);
  if (whole.message_type == nvtx::MessageType::registered && whole.message.registered != nullptr)
    whole.message.registered = static_cast<const RegisteredString*>(whole.message.registered)->other.load();
  return whole;
}

void Chain::remember(nvtx::RangeId ours, nvtx::RangeId other) {
  const std::lock_guard lock(mutex_);
  if (ranges_.size() < kChainedRangesMax) ranges_[ours] = other;
}

nvtx::RangeId Chain::take(nvtx::RangeId ours) {
  const std::lock_guard lock(mutex_);
  const auto found = ranges_.find(ours);
  if (found == ranges_.end()) return 0;
  const nvtx::RangeId other = found->second;
  ranges_.erase(found);
  return other;
}

}  // namespace graphtag::inject
