// Annotation files of a folder that do not say whose they are, such as the pickles of torch: all of them fit every trace.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "join/annotation_set.h"

namespace graphtag {

// In words, for a warning: two of these sources were found in a folder, neither says its host, pid or rank, and they name one node differently. Nothing if
// there are no such two.
std::optional<std::string> ambiguity_of(const std::vector<const AnnotationSource*>& fitting);

}  // namespace graphtag
