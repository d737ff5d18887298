// What an annotated trace says about how it was annotated: the same in every format.
#pragma once

#include <string>
#include <string_view>

#include "join/annotate.h"

namespace graphtag {

// Top-level members of a trace that an earlier run wrote: they give way to this run's.
bool is_outcome_member(std::string_view key);

// JSON objects: the values of "graphtag" and "graphtagCoverage".
std::string describe_run(const AnnotatedTrace& trace);
std::string describe_coverage(const Coverage& coverage);

}  // namespace graphtag
