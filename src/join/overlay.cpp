#include "join/overlay.h"

#include <nlohmann/json.hpp>

#include "base/object_filler.h"

namespace graphtag {

AnnotationId Overlay::lay(AnnotationId upper, AnnotationId lower) {
  if (upper == AnnotationId::none) return lower;
  if (lower == AnnotationId::none) return upper;
  const auto [found, added] = known_.try_emplace({upper, lower}, upper);
  if (!added) return found->second;
  const Annotation& outer = table_[lower];
  const Annotation& inner = table_[upper];
  Json object = *outer.object;
  ObjectFiller filler(object);
  for (const auto& entry : inner.object->items()) filler.set(entry.key(), entry.value());
  // A name without a path is a region of its own: the lower path would hide it.
  const bool keeps_path = inner.path.empty() && inner.name.empty();
  const Result<AnnotationId> id = table_.intern(std::move(object), keeps_path ? outer.path : inner.path);
  if (id) found->second = *id;
  return found->second;
}

}  // namespace graphtag
