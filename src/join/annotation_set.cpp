#include "join/annotation_set.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <nlohmann/json.hpp>
#include <unordered_set>

namespace graphtag {
namespace {

constexpr std::size_t kResolvedKept = std::size_t{1} << 18;  // about 8 MiB

bool path_says_more(const Annotation& annotation) {
  return annotation.path.size() > 1 || (annotation.path.size() == 1 && annotation.path[0] != annotation.name);
}

}  // namespace

struct AnnotationSet::State {
  struct Source {
    std::shared_ptr<const AnnotationFile> file;
    std::vector<AnnotationId> ids;  // the file's annotation id -> this set's
  };
  std::vector<Source> sources;
  std::vector<AnnotationInput> inputs;
  std::vector<std::string> keys;
  AnnotationTable annotations;
  boost::unordered_flat_map<NodeId, Resolution, std::hash<NodeId>> resolved;  // node id -> what the sources say

  Resolution look_up(NodeId id) const;
};

AnnotationSet::AnnotationSet() : state_(std::make_unique<State>()) {}
AnnotationSet::~AnnotationSet() = default;
AnnotationSet::AnnotationSet(AnnotationSet&&) noexcept = default;
AnnotationSet& AnnotationSet::operator=(AnnotationSet&&) noexcept = default;

AnnotationSet::AnnotationSet(const std::vector<const AnnotationSource*>& sources, const std::vector<std::string>& more_keys)
    : AnnotationSet() {
  std::unordered_set<std::string> seen;
  bool paths = false;
  for (const AnnotationSource* source : sources) {
    const AnnotationTable& theirs = source->file->annotations;
    State::Source& ours = state_->sources.emplace_back(State::Source{source->file, {}});
    state_->inputs.push_back(source->input);
    for (std::size_t i = 0; i < theirs.size(); ++i) {
      const Annotation& annotation = theirs[static_cast<AnnotationId>(i)];
      for (const auto& item : annotation.object->items()) {
        if (seen.insert(item.key()).second) state_->keys.push_back(item.key());
      }
      paths = paths || path_says_more(annotation);
      // What one table holds another takes: its limits are the same.
      const Result<AnnotationId> id = state_->annotations.intern(Json(*annotation.object), annotation.path);
      ours.ids.push_back(id ? *id : AnnotationId::none);
    }
  }
  if (paths && seen.insert("graphtag.path").second) state_->keys.emplace_back("graphtag.path");
  for (const std::string& key : more_keys) {
    if (seen.insert(key).second) state_->keys.push_back(key);
  }
}

bool AnnotationSet::empty() const {
  return state_->sources.empty();
}
const std::vector<AnnotationInput>& AnnotationSet::inputs() const {
  return state_->inputs;
}
const std::vector<std::string>& AnnotationSet::keys() const {
  return state_->keys;
}
AnnotationTable& AnnotationSet::annotations() {
  return state_->annotations;
}
const AnnotationTable& AnnotationSet::annotations() const {
  return state_->annotations;
}

// The last annotation wins; where there is none, the last file that at least knows the graph says why.
Resolution AnnotationSet::State::look_up(NodeId id) const {
  Resolution result;
  for (auto source = sources.rbegin(); source != sources.rend(); ++source) {
    Resolution found = source->file->resolve(id);
    if (is_provenance(found.origin)) {
      found.annotation = source->ids[static_cast<std::size_t>(found.annotation)];
      return found;
    }
    if (result.origin == Origin::unknown_graph) result = found;
  }
  return result;
}

Resolution AnnotationSet::resolve(NodeId id) const {
  auto& resolved = state_->resolved;
  if (const auto found = resolved.find(id); found != resolved.end()) return found->second;
  const Resolution resolution = state_->look_up(id);
  if (resolved.size() >= kResolvedKept) resolved.clear();
  resolved.emplace(id, resolution);
  return resolution;
}

const GraphRecord* AnnotationSet::graph_of(GraphId id) const {
  for (auto source = state_->sources.rbegin(); source != state_->sources.rend(); ++source) {
    if (const GraphRecord* graph = source->file->graph_of(id)) return graph;
  }
  return nullptr;
}

}  // namespace graphtag
