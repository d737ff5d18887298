// The keys that profilers write into the args of GPU events in graphs: what is not among them came from an annotation.
#pragma once

#include <string_view>

#include "trace/event.h"

namespace graphtag {

// Whether Kineto or Cuspy write `key` into the args of a graphed event of this kind. The metadata of collectives ("Collective name", "dtype") is
// not among them: Kineto writes it for eager NCCL kernels alone, and in a graph it is an annotation.
bool is_profiler_key(EventKind kind, std::string_view key);

// What graphtag writes itself: the lane that an annotation asks for, and the stream of an operation that was moved to one.
inline constexpr std::string_view kAnnotatedStream = "annotated_stream";
inline constexpr std::string_view kOriginalStream = "original_stream";

// Whether an annotation's key never stands in args as it is, also where the profiler has not written it: a reader could not tell whose it is.
inline bool is_reserved_key(EventKind kind, std::string_view key) {
  return key == kAnnotatedStream || key == kOriginalStream || is_profiler_key(kind, key);
}

}  // namespace graphtag
