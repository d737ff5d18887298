// What a trace says about itself, known before it is read in full.
#pragma once

#include <string>

#include "base/error.h"
#include "trace/event.h"
#include "trace/reader.h"

namespace graphtag {

// The members before the events; with `find_process` also TraceInfo::pid: the process of the first host slice of cuda_runtime or cuda_driver, or where
// the first 64 MiB of the trace have none, the one that is labelled "CPU". Of `options` only
// `process` and `survey` are used. Errors: as read_trace; a pipe (invalid_argument).
Result<TraceInfo> peek_trace(const std::string& trace_path, bool find_process, const ReadOptions& options = {});

}  // namespace graphtag
