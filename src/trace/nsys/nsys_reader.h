// SQLite exports of Nsight Systems (nsys export --type sqlite), export schemas 3.10 to 3.28: tables and columns that are missing are done without.
//
// The events of one process, in the order of their start. Kernels, copies and memsets of CUDA graphs are named by the NVTX ranges that were open
// when their nodes were created (node_names.h). Event::offset is the number of the row.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/error.h"
#include "trace/event.h"
#include "trace/reader.h"

namespace graphtag {

// Errors: no export; GPU work of several processes and no options.process, or none of that one; graphs recorded as a whole; damaged.
Result<void> read_nsys(const std::string& path, EventVisitor& visitor, const ReadOptions& options, ReadResult& result);

}  // namespace graphtag
