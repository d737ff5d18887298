// The ids of CUDA graphs, as distinct types.
//
//   node id, 64 bits, as CUPTI writes it:   | graph id or exec id : 32 | local id : 32 |
//   node 7 of exec graph 3                  0x0000'0003'0000'0007 = 12884901895
//
// Graphs (templates) and exec graphs draw their ids from one counter of the process that starts at 1 and never comes back, so an id means one
// of them for good. Local ids count up in a graph from 0, in creation order, and are never reused in it.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace graphtag {

// A template graph's id, or an exec graph's: what stands in the upper half of a node id.
struct GraphId {
  std::uint32_t value = 0;  // 0: no graph
  auto operator<=>(const GraphId&) const = default;
};

// A node's number in its graph: what stands in the lower half of a node id.
struct LocalId {
  std::uint32_t value = 0;
  auto operator<=>(const LocalId&) const = default;
};

struct NodeId {
  std::uint64_t value = 0;
  constexpr NodeId() = default;
  constexpr explicit NodeId(std::uint64_t v) : value(v) {}
  constexpr NodeId(GraphId graph, LocalId local) : value(std::uint64_t{graph.value} << 32 | local.value) {}
  constexpr GraphId graph() const { return {static_cast<std::uint32_t>(value >> 32)}; }
  constexpr LocalId local() const { return {static_cast<std::uint32_t>(value)}; }
  auto operator<=>(const NodeId&) const = default;
};

// splitmix64's finaliser: node ids share their low bits, so a hash map needs them mixed.
constexpr std::uint64_t mix_bits(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

}  // namespace graphtag

template <>
struct std::hash<graphtag::NodeId> {
  std::size_t operator()(graphtag::NodeId id) const noexcept { return graphtag::mix_bits(id.value); }
};
template <>
struct std::hash<graphtag::GraphId> {
  std::size_t operator()(graphtag::GraphId id) const noexcept { return graphtag::mix_bits(id.value); }
};
