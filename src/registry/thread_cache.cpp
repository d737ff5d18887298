#include "registry/thread_cache.h"

#include <new>

namespace graphtag {
namespace {

// A plain pointer, so that reading it runs no constructor guard; other thread-local destructors may still call in after ours.
constinit thread_local ThreadCache* current = nullptr;
constinit thread_local bool ended = false;

struct Reaper {
  ~Reaper() {
    ended = true;
    delete current;
    current = nullptr;
  }
};

ThreadCache* renew(std::uint64_t owner) noexcept {
  if (ended) return nullptr;
  if (current == nullptr) {
    thread_local Reaper reaper;
    static_cast<void>(&reaper);
    current = new (std::nothrow) ThreadCache;
    if (current == nullptr) return nullptr;
  }
  for (auto& graph : current->graphs) graph.reset();
  current->merged.clear();
  current->names.clear();
  current->owner = owner;
  return current;
}

}  // namespace

ThreadCache* thread_cache(std::uint64_t owner) noexcept {
  if (current != nullptr && current->owner == owner) [[likely]]
    return current;
  return renew(owner);
}

}  // namespace graphtag
