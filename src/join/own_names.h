// The names that a trace's reader gives itself (TraceInfo::annotations), in the table of an AnnotationSet, under what its files say.
#pragma once

#include <memory>
#include <vector>

#include "join/annotation_set.h"
#include "join/overlay.h"
#include "trace/event.h"

namespace graphtag {

class OwnNames {
 public:
  explicit OwnNames(AnnotationSet& set) : set_(set), overlay_(set.annotations()) {}

  // Before the first event.
  void begin(const TraceInfo& info);
  bool any() const { return table_ != nullptr; }

  // What a GPU operation is called: by the set's files, key by key over the trace's own name. Where neither has one, why: what the files
  // say if they know the graph, else what the trace says.
  Resolution resolve(const Event& event);

 private:
  AnnotationId to_set(AnnotationId own);

  AnnotationSet& set_;
  Overlay overlay_;
  std::shared_ptr<const AnnotationTable> table_;
  std::vector<AnnotationId> ids_;  // the trace's id -> the set's; none: not asked yet
};

}  // namespace graphtag
