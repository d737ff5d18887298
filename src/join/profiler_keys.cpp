#include "join/profiler_keys.h"

#include <algorithm>
#include <array>

namespace graphtag {
namespace {

// From traces of both back ends and the metadata fields that Kineto names.
constexpr std::array<std::string_view, 13> kEveryKind = {
    "External id", "Ev Idx",        "Record function id", "device", "context", "stream",      "correlation",
    "graph id",    "graph node id", "priority",           "queued", "channel", "channel_type"};

constexpr std::array<std::string_view, 8> kKernel = {
    "registers per thread",      "shared memory", "blocks per SM", "warps per SM", "grid", "block",
    "est. achieved occupancy %", "occupancy"};

constexpr std::array<std::string_view, 14> kCopy = {"bytes",      "memory bandwidth (GB/s)",
                                                    "copy kind",  "src kind",
                                                    "dst kind",   "flags",
                                                    "value",      "memory kind",
                                                    "fromDevice", "inDevice",
                                                    "toDevice",   "fromContext",
                                                    "inContext",  "toContext"};

template <std::size_t N>
bool holds(const std::array<std::string_view, N>& keys, std::string_view key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

}  // namespace

bool is_profiler_key(EventKind kind, std::string_view key) {
  return holds(kEveryKind, key) || (kind == EventKind::kernel ? holds(kKernel, key) : holds(kCopy, key));
}

}  // namespace graphtag
