// Who else wants to know of each node as it is created, such as for a launch stack.
#pragma once

#include "model/ids.h"

namespace graphtag {

// Runs inside CUPTI's callback, on the thread that created the node: no CUDA call, and nothing that waits for one.
using NodeHook = void (*)(NodeId node) noexcept;

}  // namespace graphtag
