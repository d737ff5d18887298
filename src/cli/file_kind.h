// Annotation file or trace: told apart by the first bytes.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"

namespace graphtag::cli {

// Whether the file starts like an annotation file. Errors: it cannot be read, or twice (a pipe); it is empty, or like neither.
Result<bool> looks_like_annotations(const std::string& path);

// Refuses (invalid_argument) an annotation file among `traces`: -a takes one file each time. What else is wrong with a trace its reader says.
Result<void> refuse_annotations(const std::vector<std::string>& traces);

}  // namespace graphtag::cli
