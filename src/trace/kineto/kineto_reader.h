// Chrome JSON as Kineto and Cuspy (torch.profiler's back ends) write it: an object with "traceEvents", or a bare array; clean or dirty.
//
// Windows of complete events go through simdjson; a window that it refuses is read again event by event, by a plain reader that repairs what
// it can. Both give the same events for the same bytes.
#pragma once

#include <cstddef>
#include <string>

#include "base/error.h"
#include "trace/byte_stream.h"
#include "trace/event.h"
#include "trace/reader.h"

namespace graphtag {

struct KinetoOptions {
  bool fast = true;                                      // false: the plain reader alone, for tests
  std::size_t window_bytes = std::size_t{512} << 10;     // how much is looked at at once
  std::size_t event_limit_bytes = std::size_t{8} << 20;  // an event or member beyond is left out
};

// Reads to the end. `path` is for errors. Errors: not JSON, or JSON without events.
Result<void> read_kineto(ByteSource& source, const std::string& path, EventVisitor& visitor, ReadResult& result,
                         const KinetoOptions& options = {});

}  // namespace graphtag
