// What tests of the join share: annotation sources and traces made by hand.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "join/annotate.h"
#include "join/annotation_set.h"

namespace graphtag::testing {

// A folder that goes away with the test.
class TempFolder {
 public:
  TempFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "graphtag-test-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  ~TempFolder() { std::filesystem::remove_all(path_); }

  std::string path(std::string_view name) const { return path_ + "/" + std::string(name); }
  // Writes a file and returns its path.
  std::string write(std::string_view name, std::string_view content) const {
    EXPECT_TRUE(write_file(path(name), content).ok());
    return path(name);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// node id -> annotation as JSON text; every graph that has one is known, its other nodes were outside every scope.
using Nodes = std::map<std::uint64_t, std::string>;

constexpr std::uint64_t node(std::uint64_t graph, std::uint64_t local) {
  return graph << 32 | local;
}

inline AnnotationSource make_source(const Nodes& nodes, const std::string& name = "run.pkl") {
  AnnotationSource source;
  source.input = {name, std::string(64, 'a') + name};
  source.file->path = name;
  for (const auto& [id, text] : nodes) {
    const NodeId key(id);
    if (source.file->graphs.empty() || source.file->graphs.back().id != key.graph()) {
      GraphRecord graph;
      graph.id = key.graph();
      graph.runs.push_back({LocalId{0}, AnnotationId::none, Origin::outside_scope});
      source.file->graphs.push_back(std::move(graph));
    }
    std::vector<Run>& runs = source.file->graphs.back().runs;
    if (runs.back().first == key.local()) runs.pop_back();
    const Result<Json> object = parse_json(text);
    EXPECT_TRUE(object.ok()) << text;
    const Result<AnnotationId> annotation = source.file->annotations.intern(*object);
    EXPECT_TRUE(annotation.ok()) << text;
    runs.push_back({key.local(), *annotation, Origin::callback});
    runs.push_back({LocalId{key.local().value + 1}, AnnotationId::none, Origin::outside_scope});
  }
  return source;
}

inline std::vector<AnnotationSource> make_sources(const Nodes& nodes) {
  std::vector<AnnotationSource> sources;
  sources.push_back(make_source(nodes));
  return sources;
}

// A kernel as Kineto writes it. `args`: members after the usual ones, with a comma before each.
struct KernelText {
  int pid = 0;
  int tid = 7;
  std::string ts = "10.000";
  std::string dur = "2.500";
  std::uint64_t correlation = 1;
  std::uint64_t graph = 2;
  std::uint64_t local = 0;
  std::string args = {};
  std::string name = "k";

  std::string text() const {
    const std::string stream = std::to_string(tid);
    return R"({"ph": "X", "cat": "kernel", "name": ")" + name + R"(", "pid": )" + std::to_string(pid) + R"(, "tid": )" + stream +
           R"(, "ts": )" + ts + R"(, "dur": )" + dur + R"(, "args": {"device": )" + std::to_string(pid) + R"(, "stream": )" +
           stream + R"(, "correlation": )" + std::to_string(correlation) + R"(, "grid": [8, 1, 1], "graph id": )" +
           std::to_string(graph) + R"(, "graph node id": )" + std::to_string(graph == 0 ? 0 : node(graph, local)) + args + "}}";
  }
};

inline std::string flow_end_text(int pid, int tid, const std::string& ts, std::uint64_t correlation) {
  return R"({"ph": "f", "id": )" + std::to_string(correlation) + R"(, "pid": )" + std::to_string(pid) + R"(, "tid": )" +
         std::to_string(tid) + R"(, "ts": )" + ts + R"(, "cat": "ac2g", "name": "ac2g", "bp": "e"})";
}

// A trace object with these events; `before` and `after`: members, each with a comma behind or before it.
inline std::string trace_text(const std::vector<std::string>& events, const std::string& before = R"("schemaVersion": 1,)",
                              const std::string& after = "") {
  std::string text = "{" + before + "\n\"traceEvents\": [";
  for (std::size_t i = 0; i < events.size(); ++i) text += (i == 0 ? "\n" : ",\n") + events[i];
  return text + "\n]" + after + "}";
}

}  // namespace graphtag::testing
