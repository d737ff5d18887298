// Annotations laid over others, key by key, remembered: there are few pairs.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <utility>

#include "model/annotation.h"

namespace graphtag {

// Unlike AnnotationTable::merge, whose inner scope lies within the outer one, both name the same thing here: where `upper` has a name or a path, its
// path alone holds.
class Overlay {
 public:
  explicit Overlay(AnnotationTable& table) : table_(table) {}

  AnnotationId lay(AnnotationId upper, AnnotationId lower);

 private:
  AnnotationTable& table_;
  boost::unordered_flat_map<std::pair<AnnotationId, AnnotationId>, AnnotationId> known_;  // upper, lower -> both
};

}  // namespace graphtag
