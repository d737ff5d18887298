// What the tests of the registry share: a registry, short ways to fill it, and answers as text.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "registry/registry.h"

namespace graphtag {

constexpr GraphId kGraph{3}, kChild{4}, kBody{5}, kExec{10}, kOther{11};

inline NodeId node(GraphId graph, std::uint32_t local) {
  return {graph, LocalId{local}};
}

class RegistryTest : public testing::Test {
 protected:
  // Local ids [first, first + count) of `graph` in the scope `name`; "" is outside every scope.
  void nodes(GraphId graph, std::uint32_t first, std::uint32_t count, const std::string& name) {
    const AnnotationId annotation = name.empty() ? AnnotationId::none : registry.name(name);
    for (std::uint32_t i = 0; i < count; ++i) registry.node_created(node(graph, first + i), annotation);
  }
  // "outer/inner (callback)", or the reason.
  std::string resolved(NodeId id, std::optional<std::int64_t> start_ns = {}) {
    const Resolution resolution = registry.resolve(id, start_ns);
    return describe(registry[resolution.annotation], resolution.origin);
  }
  static std::string describe(const Annotation& annotation, Origin origin) {
    if (annotation.path.empty()) return std::string(to_string(origin));
    std::string text;
    for (const std::string& entry : annotation.path) text += (text.empty() ? "" : "/") + entry;
    return text + " (" + std::string(to_string(origin)) + ")";
  }
  AnnotationFile snapshot(bool live_only = false) {
    Result<AnnotationFile> file = registry.snapshot(live_only);
    EXPECT_TRUE(file);
    return std::move(file).value();
  }
  static std::vector<std::uint32_t> exec_ids(const AnnotationFile& file) {
    std::vector<std::uint32_t> ids;
    for (const ExecRecord& record : file.execs) ids.push_back(record.id.value);
    return ids;
  }
  static std::vector<std::uint32_t> graph_ids(const AnnotationFile& file) {
    std::vector<std::uint32_t> ids;
    for (const GraphRecord& record : file.graphs) ids.push_back(record.id.value);
    return ids;
  }

  Registry registry;
};

}  // namespace graphtag
