#include "model/annotation_file.h"

#include <algorithm>
#include <array>

namespace graphtag {
namespace {

constexpr std::array<std::string_view, 14> kOriginNames = {
    "callback",
    "boundary",
    "boundary-approximate",
    "modelled",
    "updated",
    "outside-scope",
    "outside-scope-approximate",
    "captured-before-start",
    "unlinked-body",
    "stale-id",
    "unknown-graph",
    "no-node-id",
    "no-annotations",
    "graph-level-trace",
};
static_assert(kOriginNames.size() == static_cast<std::size_t>(Origin::graph_level_trace) + 1);

template <typename Record>
const Record* find_by_id(const std::vector<Record>& records, GraphId id) {
  const auto found = std::lower_bound(records.begin(), records.end(), id, [](const Record& r, GraphId i) { return r.id < i; });
  return found != records.end() && found->id == id ? &*found : nullptr;
}

// The last run that begins at `local` or before; null before the first.
const Run* find_run(const std::vector<Run>& runs, LocalId local) {
  const auto after = std::upper_bound(runs.begin(), runs.end(), local, [](LocalId l, const Run& run) { return l < run.first; });
  return after == runs.begin() ? nullptr : &*std::prev(after);
}

// A node that was seen, but outside every scope, is as good as one before the first run.
Resolution resolution_of(const Run* run) {
  if (run == nullptr) return {AnnotationId::none, Origin::outside_scope};
  if (run->annotation == AnnotationId::none && is_provenance(run->origin)) return {AnnotationId::none, Origin::outside_scope};
  return {run->annotation, run->origin};
}

}  // namespace

std::string_view to_string(Origin origin) {
  return kOriginNames[static_cast<std::size_t>(origin)];
}

std::optional<Origin> origin_from_string(std::string_view text) {
  const auto found = std::find(kOriginNames.begin(), kOriginNames.end(), text);
  if (found == kOriginNames.end()) return {};
  return static_cast<Origin>(found - kOriginNames.begin());
}

const GraphRecord* AnnotationFile::find_graph(GraphId id) const {
  return find_by_id(graphs, id);
}

const ExecRecord* AnnotationFile::find_exec(GraphId id) const {
  return find_by_id(execs, id);
}

const GraphRecord* AnnotationFile::graph_of(GraphId id) const {
  const ExecRecord* exec = find_exec(id);
  if (exec == nullptr) return find_graph(id);
  return exec->template_graph == GraphId{} ? nullptr : find_graph(exec->template_graph);
}

Resolution AnnotationFile::resolve(NodeId id) const {
  const ExecRecord* exec = find_exec(id.graph());
  if (exec != nullptr) {
    const Run* override_run = find_run(exec->overrides, id.local());
    if (override_run != nullptr && override_run->first == id.local()) return resolution_of(override_run);
    if (id.local().value >= exec->template_ids) return resolution_of(find_run(exec->placement, id.local()));
  }
  const GraphRecord* graph = graph_of(id.graph());
  if (graph == nullptr) return {AnnotationId::none, Origin::unknown_graph};
  return resolution_of(find_run(graph->runs, id.local()));
}

}  // namespace graphtag
