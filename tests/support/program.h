// A program over FakeCuda, with a plain model of what each of its nodes is to be called: it merges JSON objects anew for every node,
// and walks graphs for every replay. What the recorder says must be the same.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "capture/recorder.h"
#include "registry/registry.h"
#include "tests/fake/fake_cuda.h"
#include "tests/support/worker.h"

namespace graphtag {

// `inner` laid over `outer`, key by key.
inline Json laid_over(Json outer, const Json& inner) {
  for (const auto& [key, value] : inner.items()) outer[key] = value;
  return outer;
}

// What a test knows of a graph. Bodies are shared with nobody: copies copy them.
struct PlainGraph {
  struct Node {
    NodeHandle handle = nullptr;
    NodeType type = NodeType::kernel;
    std::uint64_t tag = 0;
    Json annotation = Json::object();
    std::vector<std::unique_ptr<PlainGraph>> bodies;
  };
  GraphHandle handle = nullptr;
  std::vector<Node> nodes;

  bool has_conditional() const {
    for (const Node& node : nodes) {
      if (node.type == NodeType::conditional) return true;
      for (const auto& body : node.bodies) {
        if (body->has_conditional()) return true;
      }
    }
    return false;
  }
  // A copy, without handles.
  std::unique_ptr<PlainGraph> copy() const {
    auto graph = std::make_unique<PlainGraph>();
    for (const Node& node : nodes) {
      Node& made = graph->nodes.emplace_back();
      made.type = node.type;
      made.tag = node.tag;
      made.annotation = node.annotation;
      for (const auto& body : node.bodies) made.bodies.push_back(body->copy());
    }
    return graph;
  }
};

// Objects are equal whatever the order of their keys.
inline nlohmann::json sorted(const Json& object) {
  return nlohmann::json::parse(object.dump());
}

struct PlainRecord {
  std::uint64_t tag = 0;
  Json annotation;
  bool operator==(const PlainRecord& other) const { return tag == other.tag && sorted(annotation) == sorted(other.annotation); }
  friend void PrintTo(const PlainRecord& record, std::ostream* out) { *out << record.tag << ": " << record.annotation.dump(); }
};

inline bool makes_record(NodeType type) {
  return type == NodeType::kernel || type == NodeType::memcpy || type == NodeType::memset;
}

// The records of a replay in which every body runs, in creation order, nested ones at their holder's place.
inline void list_records(const PlainGraph& graph, const Json& outer, std::vector<PlainRecord>& records) {
  for (const PlainGraph::Node& node : graph.nodes) {
    const Json annotation = laid_over(outer, node.annotation);
    if (makes_record(node.type)) records.push_back({node.tag, annotation});
    for (const auto& body : node.bodies) list_records(*body, annotation, records);
  }
}
inline std::vector<PlainRecord> list_records(const PlainGraph& graph) {
  std::vector<PlainRecord> records;
  list_records(graph, Json::object(), records);
  return records;
}

// A recorder over a fake, and what it says of replays.
struct Recording {
  explicit Recording(fake::Options options = {}, bool numbering_checked = true)
      : cuda(options), recorder(cuda.driver(), registry, numbering_checked, &active_windows) {}

  WindowId open(ObserverChoice observer = ObserverChoice::automatic, std::vector<StreamHandle> streams = {},
                bool all_streams = false) {
    WindowId window = WindowId::none;
    EXPECT_EQ(recorder.open_window({observer, all_streams, streams}, window), RecordStatus::ok);
    return window;
  }
  void close(WindowId window) { EXPECT_EQ(recorder.close_window(window), RecordStatus::ok); }

  void begin(const char* name) { EXPECT_EQ(recorder.begin_scope(registry.name(name)), RecordStatus::ok); }
  void begin(const Json& object) { EXPECT_EQ(recorder.begin_scope(registry.annotation(object).value()), RecordStatus::ok); }
  void end() { EXPECT_EQ(recorder.end_scope(), RecordStatus::ok); }

  Json object_of(NodeId node) const { return *registry[registry.resolve(node).annotation].object; }
  NodeId id_of(NodeHandle node) {
    NodeId id;
    EXPECT_TRUE(cuda.driver().node_id(node, id).ok());
    return id;
  }
  GraphId id_of(GraphHandle graph) {
    GraphId id;
    EXPECT_TRUE(cuda.driver().graph_id(graph, id).ok());
    return id;
  }
  GraphId id_of(ExecHandle exec) {
    GraphId id;
    EXPECT_TRUE(cuda.driver().exec_id(exec, id).ok());
    return id;
  }

  // What the records of a replay are called.
  std::vector<PlainRecord> replay(ExecHandle exec) {
    std::vector<PlainRecord> records;
    for (const fake::Record& record : cuda.replay(exec)) records.push_back({record.tag, object_of(record.id)});
    return records;
  }
  // tag -> "name" of the record's annotation; "" where there is none.
  std::map<std::uint64_t, std::string> names(ExecHandle exec) {
    std::map<std::uint64_t, std::string> names;
    for (const PlainRecord& record : replay(exec)) names[record.tag] = record.annotation.value("name", "");
    return names;
  }

  fake::FakeCuda cuda;
  Registry registry;
  std::uint32_t active_windows = 0;
  Recorder recorder;
};

using Names = std::map<std::uint64_t, std::string>;

}  // namespace graphtag
