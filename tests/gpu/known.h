// What the test knows by itself: which work it put where, and what was open at the time. A kernel's identity is its grid, a copy's
// or a set's how many bytes it moves; graphtag looks at neither.
//
//   identity 2 + 16 * 3 + 256 * 1   grid (3, 4, 2)   or   4 * (identity + 1) bytes
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace gpu_test {

constexpr std::uint32_t kIdentities = 16 * 16 * 16;
constexpr std::uint32_t kNoIdentity = 0xffffffff;

inline dim3 grid_of(std::uint32_t identity) {
  return dim3(identity % 16 + 1, identity / 16 % 16 + 1, identity / 256 + 1);
}
inline std::uint32_t identity_of_grid(std::int32_t x, std::int32_t y, std::int32_t z) {
  const std::int32_t identity = (x - 1) + 16 * (y - 1) + 256 * (z - 1);
  const bool ours = x >= 1 && x <= 16 && y >= 1 && y <= 16 && z >= 1 && z <= 16;
  return ours ? static_cast<std::uint32_t>(identity) : kNoIdentity;
}
inline std::size_t bytes_of(std::uint32_t identity) {
  return 4 * (std::size_t{identity} + 1);
}
inline std::uint32_t identity_of_bytes(std::uint64_t bytes) {
  return bytes % 4 == 0 && bytes >= 4 && bytes / 4 <= kIdentities ? static_cast<std::uint32_t>(bytes / 4 - 1) : kNoIdentity;
}

// An annotation as the test has it: keys in the order in which they came, values as JSON text.
using Fields = std::vector<std::pair<std::string, std::string>>;

inline Fields laid_over(Fields outer, const Fields& inner) {
  for (const auto& [key, value] : inner) {
    bool found = false;
    for (auto& [known, old] : outer) {
      if (known == key) {
        old = value;
        found = true;
      }
    }
    if (!found) outer.emplace_back(key, value);
  }
  return outer;
}

inline std::string to_json(const Fields& fields) {
  std::string text = "{";
  for (const auto& [key, value] : fields) text += (text.size() > 1 ? ",\"" : "\"") + key + "\":" + value;
  return text + "}";
}

enum class Work : std::uint8_t { kernel, memcpy, memset, child, conditional, other };

struct KnownGraph {
  struct Node {
    Work work = Work::other;
    std::uint32_t identity = kNoIdentity;
    Fields own;  // what was open when the node was created
    std::vector<std::unique_ptr<KnownGraph>> bodies;
    int running_body = -1;                  // of a conditional; -1: none of them
    cudaGraphNode_t kernel_node = nullptr;  // of a plain kernel that was added by hand
  };
  std::vector<Node> nodes;
  bool has_memory = false;
  std::string features;  // that may matter to a driver: "if", "while", "switch", "child", "memory", "host"

  bool has_conditional() const {
    for (const Node& node : nodes) {
      if (node.work == Work::conditional) return true;
      for (const auto& body : node.bodies) {
        if (body->has_conditional()) return true;
      }
    }
    return false;
  }
};

// Node ids seen in records are compared with these.
struct Expected {
  Work work;
  std::uint32_t identity;
  Fields fields;
};

inline void list_expected(const KnownGraph& graph, const Fields& outer, std::vector<Expected>& all) {
  for (const KnownGraph::Node& node : graph.nodes) {
    const Fields fields = laid_over(outer, node.own);
    if (node.work == Work::kernel || node.work == Work::memcpy || node.work == Work::memset) {
      all.push_back({node.work, node.identity, fields});
    } else if (node.work == Work::child) {
      list_expected(*node.bodies[0], fields, all);
    } else if (node.work == Work::conditional && node.running_body >= 0) {
      list_expected(*node.bodies[static_cast<std::size_t>(node.running_body)], fields, all);
    }
  }
}

}  // namespace gpu_test
