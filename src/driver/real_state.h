// The real driver's state: what was found, and the one subscription. For this folder alone.
#pragma once

#include <array>
#include <atomic>

#include "driver/entry_points.h"
#include "driver/instantiation_turns.h"
#include "driver/real_driver.h"

namespace graphtag {

struct RealDriver::State {
  std::array<void*, kEntries> functions{};  // Entry -> address, or null
  DriverFacts facts;
  std::atomic<GraphObserver*> observer{nullptr};
  std::atomic<void*> subscriber{nullptr};  // CUPTI's handle; one at a time
  std::atomic<void*> of_parent{nullptr};   // in a child of fork(): its parent's, which CUPTI has here too until it is given back

  // Of activity (real_activity.cpp).
  std::atomic<ActivityBuffers*> buffers{nullptr};
  std::atomic<std::uint64_t> dropped{0};  // since start()
  ActivityKinds enabled_kinds;            // whoever starts and stops; so are the next two
  std::uint32_t thread_ids_before = 0;
  bool changed_thread_ids = false;
  InstantiationTurns turns;  // open while activity is traced

  // The entry point as a function of this signature, or null.
  template <typename Function>
  Function get(Entry entry) const {
    return reinterpret_cast<Function>(functions[static_cast<std::size_t>(entry)]);
  }
  bool has(Entry entry) const { return functions[static_cast<std::size_t>(entry)] != nullptr; }
  EntryPoint& facts_of(Entry entry) { return facts.entry_points[static_cast<std::size_t>(entry)]; }

  // Finds the libraries and their functions, and tries them (library_load.cpp).
  void load();
  // In a child of fork(): the parent's observer is told nothing here, and no other thread is inside anything. Calls nothing of CUPTI's.
  void start_anew() noexcept;
  // Gives the parent's subscription back, as CUPTI has room for one.
  void release_parents() noexcept;

 private:
  void look_up(Library library, void* handle);
  void probe();
  void judge();
  void set_state(Entry entry, EntryState state, std::int32_t code = 0);
};

inline RealDriver::State& state_of(void* self) {
  return *static_cast<RealDriver::State*>(self);
}
constexpr DriverResult kMissing{DriverStatus::missing, 0};  // what a driver without the entry point answers
DriverResult from_cupti(std::int32_t code);

// The functions of a Driver whose self is a RealDriver::State (real_calls.cpp).
extern const DriverTable kRealTable;
extern const ActivityTable kRealActivityTable;

}  // namespace graphtag
