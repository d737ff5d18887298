// The threads that a recorder has met, each with its scopes and with what the callback observer keeps of the events on it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "capture/copy_watch.h"
#include "capture/graph_book.h"
#include "capture/scope_stack.h"

namespace graphtag {

// All but `scopes` is for the thread itself.
struct ThreadState {
  ThreadScopes scopes;
  ScopeStack stack{scopes};

  // Scopes of the handle form: how many this thread opened, and how many of them before the present epoch. The first is read by all.
  std::atomic<std::uint64_t> last_scope{0};
  std::uint64_t last_of_older_epochs = 0;
  std::uint32_t scope_epoch = 0;
  void note_scope(std::uint64_t serial, std::uint32_t epoch) noexcept;
  bool is_of_older_epoch(std::uint64_t serial, std::uint32_t epoch) const noexcept;

  // Of the callback observer.
  struct CreatorCache {
    GraphId graph;
    std::uint32_t period = 0;
    ThreadKey creator;
  };
  std::array<CreatorCache, 8> creators;  // by the low bits of the graph's id
  CopyWatch copies;
  // The observer's period in which this thread instantiates a graph that holds none, or one that may; 0: it does not.
  std::uint32_t flat_period = 0, nested_period = 0;

  // Written by the thread alone, read by all.
  std::atomic<std::uint64_t> nodes_seen{0}, scopes_begun{0};

  ThreadKey key() const noexcept { return {&scopes, scopes.owner()}; }
  void start() noexcept;  // for a new thread
};

// Adds one without a locked instruction: for counters that one thread writes.
inline void count_alone(std::atomic<std::uint64_t>& count) noexcept {
  count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

class ThreadTable {
 public:
  ThreadTable();
  ThreadTable(const ThreadTable&) = delete;
  ThreadTable& operator=(const ThreadTable&) = delete;

  // The calling thread's state; null where there is no memory, and in a thread whose thread-local objects are gone. A look at one
  // thread-local word, but for a thread's first call.
  ThreadState* current() noexcept;
  // How many threads but this one have a scope open.
  std::uint32_t others_open(const ThreadState& except, std::uint32_t epoch) const noexcept;
  // Whether the thread whose number ends in `owner_bits` lives, and opened a scope with this serial number.
  bool gave_out(std::uint64_t owner_bits, std::uint64_t serial) const noexcept { return giver_of(owner_bits, serial) != nullptr; }
  // That thread's state; null if there is no such thread.
  ThreadState* giver_of(std::uint64_t owner_bits, std::uint64_t serial) const noexcept;
  std::uint64_t nodes_seen() const noexcept;
  std::uint64_t scopes_begun() const noexcept;

 private:
  struct Places;
  ThreadState* attach() noexcept;

  const std::uint64_t number_;            // of this table in the process
  const std::shared_ptr<Places> places_;  // shared with the threads, which give their places back when they end
};

}  // namespace graphtag
