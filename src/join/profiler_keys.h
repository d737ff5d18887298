// The keys that profilers write into the args of GPU events in graphs: what is not among them came from an annotation.
#pragma once

#include <string_view>

#include "trace/event.h"

namespace graphtag {

// Whether Kineto or Cuspy write `key` into the args of a graphed event of this kind. The metadata of collectives ("Collective name", "dtype") is
// not among them: Kineto writes it for eager NCCL kernels alone, and in a graph it is an annotation.
bool is_profiler_key(EventKind kind, std::string_view key);

}  // namespace graphtag
