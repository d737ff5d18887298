// Reads a trace of any known format.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

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
  // Of files with several processes: read this one. For other files it is an error (invalid_argument).
  std::optional<std::int64_t> process;
  // Tell TraceInfo::annotation_keys also where that takes a pass of its own over the file.
  bool survey = false;
};

// Whether a file that begins like this is a trace of one of the formats that are not text.
bool begins_like_a_binary_trace(std::string_view start);

// Errors: the file cannot be read, or is no trace (says what it seems to be instead).
Result<ReadResult> read_trace(const std::string& path, EventVisitor& visitor, const ReadOptions& options = {});

}  // namespace graphtag
