// A second tool behind us: the library that NVTX_INJECTION64_PATH named before `graphtag run` put ours there. It gets every NVTX call
// that we get, with its own handles in the place of ours.
//
//   program's NVTX ──▶ our function ──▶ Chain ──▶ the other tool's function
//                 ◀── our handles         ◀── its handles, kept beside ours
//
// To the other tool we look like the program: it asks our export table for the places of function pointers, and writes into ours.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <forward_list>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "inject/names.h"
#include "inject/nvtx_abi.h"

namespace graphtag::inject {

constexpr std::size_t kChainedRangesMax = 262'144;  // open at once

class Chain {
 public:
  // Loads the library at `path` and has it initialise itself for one NVTX of the process. False, with nothing changed: it cannot
  // be loaded, is no NVTX tool, is ours, or refuses.
  bool attach(const char* path, nvtx::GetExportTable program, nvtx::InitializeInjection ours);
  bool exists() const noexcept { return exists_.load(std::memory_order_acquire); }

  // What the other tool wants to be called for; null: it does not.
  template <typename Function>
  Function core(nvtx::Core place) const noexcept {
    return reinterpret_cast<Function>(core_[static_cast<unsigned>(place)]);
  }
  template <typename Function>
  Function core2(nvtx::Core2 place) const noexcept {
    return reinterpret_cast<Function>(core2_[static_cast<unsigned>(place)]);
  }
  template <typename Function>
  Function sync_user_create() const noexcept {
    return reinterpret_cast<Function>(sync_user_create_);
  }

  // `given` with its registered string replaced by the other tool's.
  static nvtx::EventAttributes translate(const nvtx::EventAttributes* given);

  // The other tool's number of a range that we know as `ours`.
  void remember(nvtx::RangeId ours, nvtx::RangeId other);
  nvtx::RangeId take(nvtx::RangeId ours);

  // Around a fork().
  void lock_for_fork() noexcept { mutex_.lock(); }
  void unlock_after_fork() noexcept { mutex_.unlock(); }

 private:
  static const void* export_table(std::uint32_t table_id);
  nvtx::FunctionPlaces keep(std::vector<nvtx::FunctionPointer*> places);
  static int get_module_functions(std::int32_t module, nvtx::FunctionPlaces* places, unsigned* size);

  std::atomic<bool> exists_{false};
  std::array<nvtx::FunctionPointer, nvtx::kCorePlaces> core_{};
  std::array<nvtx::FunctionPointer, nvtx::kCore2Places> core2_{};
  nvtx::FunctionPointer sync_user_create_ = nullptr;

  std::mutex mutex_;  // of what follows
  // Lists that the other tool was given, and may keep: three for each NVTX of the process.
  std::forward_list<std::vector<nvtx::FunctionPointer*>> places_;
  std::unordered_map<nvtx::RangeId, nvtx::RangeId> ranges_;  // ours -> the other tool's, of open ranges
};

}  // namespace graphtag::inject
