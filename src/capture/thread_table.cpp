#include "capture/thread_table.h"

#include <algorithm>

namespace graphtag {

struct ThreadTable::Places {
  mutable std::mutex mutex;
  std::vector<std::unique_ptr<ThreadState>> states;  // never removed, so that pointers stay good
};

namespace {

// Plain words, so that reading them runs no constructor guard; callbacks may still come on a thread after its reaper ran.
constinit thread_local std::uint64_t current_table = 0;
constinit thread_local ThreadState* current_state = nullptr;
constinit thread_local bool ended = false;

// A thread has another number in each table: the one that survives fork() gets a new one, so that no handle is its parent's.
std::uint32_t next_owner() noexcept {
  static std::atomic<std::uint32_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

// One thread's places in all tables that it met: one but in tests. Ending takes no lock: after fork() another thread, which is
// not in the child, may have held it.
struct Reaper {
  struct Place {
    std::uint64_t table;
    std::shared_ptr<void> keep_alive;
    ThreadState* state;
  };
  std::vector<Place> places;

  ~Reaper() {
    ended = true;
    current_table = 0;
    current_state = nullptr;
    for (const Place& place : places) place.state->scopes.give_back();
  }
};

Reaper& reaper() {
  thread_local Reaper instance;
  return instance;
}

std::uint64_t next_table() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

void ThreadState::start() noexcept {
  stack.clear();
  last_scope = 0;
  last_of_older_epochs = 0;
  scope_epoch = 0;
  creators = {};
  copies = {};
}

void ThreadState::note_scope(std::uint64_t serial, std::uint32_t epoch) noexcept {
  if (scope_epoch != epoch) {
    scope_epoch = epoch;
    last_of_older_epochs = serial - 1;
  }
  last_scope.store(serial, std::memory_order_relaxed);
}

bool ThreadState::is_of_older_epoch(std::uint64_t serial, std::uint32_t epoch) const noexcept {
  const std::uint64_t last = last_scope.load(std::memory_order_relaxed);
  return serial <= (scope_epoch == epoch ? last_of_older_epochs : last);
}

ThreadTable::ThreadTable() : number_(next_table()), places_(std::make_shared<Places>()) {}

ThreadState* ThreadTable::current() noexcept {
  if (current_table == number_) [[likely]]
    return current_state;
  return attach();
}

ThreadState* ThreadTable::attach() noexcept {
  if (ended) return nullptr;
  try {
    Reaper& mine = reaper();
    auto place = std::find_if(mine.places.begin(), mine.places.end(), [&](const auto& met) { return met.table == number_; });
    if (place == mine.places.end()) {
      mine.places.reserve(mine.places.size() + 1);
      const std::uint32_t owner = next_owner();
      const std::lock_guard lock(places_->mutex);
      auto free = std::find_if(places_->states.begin(), places_->states.end(),
                               [&](const auto& state) { return state->scopes.take(owner); });
      if (free == places_->states.end()) {
        places_->states.push_back(std::make_unique<ThreadState>());
        free = std::prev(places_->states.end());
        static_cast<void>((*free)->scopes.take(owner));
      }
      (*free)->start();
      mine.places.push_back({number_, places_, free->get()});
      place = std::prev(mine.places.end());
    }
    current_state = place->state;
    current_table = number_;
    return current_state;
  } catch (...) {
    return nullptr;
  }
}

std::uint32_t ThreadTable::others_open(const ThreadState& except, std::uint32_t epoch) const noexcept {
  const std::lock_guard lock(places_->mutex);
  std::uint32_t open = 0;
  for (const auto& state : places_->states) {
    if (state.get() != &except && state->scopes.has_open(epoch)) ++open;
  }
  return open;
}

ThreadState* ThreadTable::giver_of(std::uint64_t owner_bits, std::uint64_t serial) const noexcept {
  constexpr std::uint32_t kOwnerMask = (std::uint32_t{1} << 24) - 1;
  const std::lock_guard lock(places_->mutex);
  const auto found = std::find_if(places_->states.begin(), places_->states.end(), [&](const auto& state) {
    const std::uint32_t owner = state->scopes.owner();
    return owner != 0 && (owner & kOwnerMask) == owner_bits && serial != 0 &&
           serial <= state->last_scope.load(std::memory_order_relaxed);
  });
  return found == places_->states.end() ? nullptr : found->get();
}

std::uint64_t ThreadTable::nodes_seen() const noexcept {
  const std::lock_guard lock(places_->mutex);
  std::uint64_t sum = 0;
  for (const auto& state : places_->states) sum += state->nodes_seen.load(std::memory_order_relaxed);
  return sum;
}

std::uint64_t ThreadTable::scopes_begun() const noexcept {
  const std::lock_guard lock(places_->mutex);
  std::uint64_t sum = 0;
  for (const auto& state : places_->states) sum += state->scopes_begun.load(std::memory_order_relaxed);
  return sum;
}

}  // namespace graphtag
