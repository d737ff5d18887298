// What one thread remembers of the registry it used last, so that it needs no lock that other threads take.
#pragma once

#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "model/annotation.h"
#include "model/ids.h"
#include "registry/graph_log.h"

namespace graphtag {

struct ThreadCache {
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>{}(text); }
  };

  std::uint64_t owner = 0;                                        // a registry's number; none has 0
  std::array<std::shared_ptr<GraphLog>, 8> graphs;                // by the low bits of the id; null or a graph met lately
  boost::unordered_flat_map<std::uint64_t, AnnotationId> merged;  // outer << 32 | inner -> merged
  boost::unordered_flat_map<std::string, AnnotationId, TextHash, std::equal_to<>> names;  // name -> id of {"name": name}

  std::shared_ptr<GraphLog>& slot(GraphId id) { return graphs[id.value % graphs.size()]; }
};

// Beyond so many entries a table of the cache is emptied and filled anew.
constexpr std::size_t kThreadCacheEntries = 65536;

// This thread's cache, emptied if it was another registry's. Null where there is no memory for it, and in a thread that is ending:
// everything works without it, with more locks.
ThreadCache* thread_cache(std::uint64_t owner) noexcept;

}  // namespace graphtag
