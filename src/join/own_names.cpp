#include "join/own_names.h"

#include <nlohmann/json.hpp>

namespace graphtag {

void OwnNames::begin(const TraceInfo& info) {
  if (info.annotations == table_) return;
  table_ = info.annotations;
  ids_.clear();
}

AnnotationId OwnNames::to_set(AnnotationId own) {
  const auto index = static_cast<std::size_t>(own);
  if (index >= table_->size()) return AnnotationId::none;
  if (ids_.size() <= index) ids_.resize(table_->size());
  AnnotationId& id = ids_[index];
  if (id == AnnotationId::none && own != AnnotationId::none) {
    const Annotation& annotation = (*table_)[own];
    // What one table holds another takes: its limits are the same.
    const Result<AnnotationId> interned = set_.annotations().intern(Json(*annotation.object), annotation.path);
    if (interned) id = *interned;
  }
  return id;
}

Resolution OwnNames::resolve(const Event& event) {
  const bool graphed = event.graph_id != 0;
  Resolution files{AnnotationId::none, Origin::no_node_id};
  if (graphed && event.has_node_id)
    files = set_.empty() ? Resolution{AnnotationId::none, Origin::no_annotations} : set_.resolve(NodeId(event.node_id));
  if (!any()) return files;
  const AnnotationId own = to_set(event.annotation);
  if (is_provenance(files.origin)) return {overlay_.lay(files.annotation, own), files.origin};
  if (is_provenance(event.origin)) return {own, event.origin};
  const bool files_know = !set_.empty() && files.origin != Origin::unknown_graph && files.origin != Origin::no_node_id;
  return files_know ? files : Resolution{AnnotationId::none, event.origin};
}

}  // namespace graphtag
