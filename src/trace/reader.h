// Reads a trace of any known format.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/error.h"
#include "trace/byte_stream.h"
#include "trace/event.h"
#include "trace/problems.h"

namespace graphtag {

struct ReadResult {
  TraceInfo info;
  Problems problems;
  std::uint64_t events = 0;         // given to the visitor
  std::uint64_t content_bytes = 0;  // decompressed
};

struct ReadOptions {
  // Called now and then with bytes of the file consumed so far and the file's size.
  std::function<void(std::uint64_t consumed_bytes, std::uint64_t size_bytes)> progress;
};

// Errors: the file cannot be read, or is no trace (says what it seems to be instead).
Result<ReadResult> read_trace(const std::string& path, EventVisitor& visitor, const ReadOptions& options = {});

}  // namespace graphtag
