#include "join/ambiguous_sources.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace graphtag {
namespace {

// Of many files that agree not every node is compared: about a second's worth is.
constexpr std::uint64_t kComparisons = std::uint64_t{1} << 22;

bool is_nameless(const AnnotationSource& source) {
  const Producer& producer = source.file->producer;
  return source.from_folder && producer.host.empty() && !producer.pid && !producer.rank;
}

// The ids of a graph or exec graph at which its annotation may become another.
std::vector<NodeId> edges_of(const AnnotationFile& file, GraphId id) {
  std::vector<NodeId> edges;
  const auto add = [&](const std::vector<Run>& runs) {
    for (const Run& run : runs) edges.emplace_back(id, run.first);
  };
  if (const GraphRecord* graph = file.graph_of(id)) add(graph->runs);
  if (const ExecRecord* exec = file.find_exec(id)) {
    add(exec->placement);
    add(exec->overrides);
  }
  return edges;
}

bool name_differently(const AnnotationFile& a, const AnnotationFile& b, NodeId id) {
  const Resolution in_a = a.resolve(id), in_b = b.resolve(id);
  if (!is_provenance(in_a.origin) || !is_provenance(in_b.origin)) return false;
  const Annotation &of_a = a.annotations[in_a.annotation], &of_b = b.annotations[in_b.annotation];
  return of_a.path != of_b.path || *of_a.object != *of_b.object;
}

}  // namespace

std::optional<std::string> ambiguity_of(const std::vector<const AnnotationSource*>& fitting) {
  std::map<GraphId, std::vector<const AnnotationSource*>> knowing;  // graph or exec graph -> the files that know it
  std::set<std::string> contents;
  for (const AnnotationSource* source : fitting) {
    if (!is_nameless(*source) || !contents.insert(source->input.sha256).second) continue;
    for (const GraphRecord& graph : source->file->graphs) knowing[graph.id].push_back(source);
    for (const ExecRecord& exec : source->file->execs) knowing[exec.id].push_back(source);
  }
  std::uint64_t compared = 0;
  for (const auto& [graph, sources] : knowing) {
    for (std::size_t later = 1; later < sources.size(); ++later) {
      for (std::size_t earlier = 0; earlier < later; ++earlier) {
        const AnnotationFile &a = *sources[earlier]->file, &b = *sources[later]->file;
        std::vector<NodeId> edges = edges_of(a, graph);
        const std::vector<NodeId> more = edges_of(b, graph);
        edges.insert(edges.end(), more.begin(), more.end());
        const auto found = std::find_if(edges.begin(), edges.end(), [&](NodeId id) { return name_differently(a, b, id); });
        if (found != edges.end()) {
          return "the annotation files " + sources[earlier]->input.name + " and " + sources[later]->input.name +
                 " do not say whose they are (host, process id or rank), and give node " + std::to_string(found->value) +
                 " different names: those of the last file are used; instead of the folder, name this trace's own file with -a";
        }
        compared += edges.size();
        if (compared > kComparisons) return {};
      }
    }
  }
  return {};
}

}  // namespace graphtag
