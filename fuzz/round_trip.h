// What holds for every annotation file that was read, whatever its bytes were.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

#include "model/annotation_file.h"

namespace graphtag {

// Written and read again it is the same file, and its nodes resolve.
inline void check_round_trip(const AnnotationFile& file) {
  const std::string text = write_annotation_file(file);
  const auto back = parse_annotation_file(text, "written");
  if (!back) {
    std::fprintf(stderr, "%s\n%s\n", back.error().to_string().c_str(), text.c_str());
    std::abort();
  }
  if (write_annotation_file(*back) != text) std::abort();
  for (const GraphRecord& graph : file.graphs) {
    for (const Run& run : graph.runs) {
      const NodeId node(graph.id, run.first);
      const Resolution before = file.resolve(node), after = back->resolve(node);
      if (before.annotation != after.annotation || before.origin != after.origin) std::abort();
      if ((before.annotation == AnnotationId::none) == is_provenance(before.origin)) std::abort();
    }
  }
}

}  // namespace graphtag
