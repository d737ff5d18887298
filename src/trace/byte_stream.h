// Bytes in and out of files, plain or gzip. (De)compression runs on a thread of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "trace/problems.h"

namespace graphtag {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Fills at most `capacity` bytes; 0 at the end. Any split of the content into reads must give the same answer upstream.
  virtual Result<std::size_t> read(char* buffer, std::size_t capacity) = 0;
  // Progress in the file as it lies on disk: bytes consumed so far. Callable from another thread.
  virtual std::uint64_t consumed_bytes() const = 0;
};

// Opens a file, gzip or not by content: several members, zeros after the last one. A damaged or cut gzip stream ends early, with
// a problem noted; only a file that cannot be opened or gives nothing at all is an error.
struct OpenedSource {
  std::unique_ptr<ByteSource> source;
  std::uint64_t size_bytes = 0;  // on disk
  bool gzip = false;
};
Result<OpenedSource> open_source(const std::string& path, Problems& problems);

// Content in memory, given out in the chunk sizes of `chunks` in turn (all at once if empty): for tests and fuzzing.
std::unique_ptr<ByteSource> memory_source(std::string_view content, std::span<const std::size_t> chunks = {});
// Reads another source ahead, on a thread of its own.
std::unique_ptr<ByteSource> read_ahead_source(std::unique_ptr<ByteSource> input);
// Decompresses another source. `path` is for errors. Problems are added by read(), on the caller's thread.
std::unique_ptr<ByteSource> gzip_source(std::unique_ptr<ByteSource> compressed, Problems& problems, std::string path = {});

class ByteSink {
 public:
  virtual ~ByteSink() = default;
  virtual Result<void> write(std::string_view bytes) = 0;
  // Everything is in the file when this succeeds. Without it the file does not appear.
  virtual Result<void> finish() = 0;
};

// A sink that makes `path` appear whole or not at all; gzip (one member) if asked.
Result<std::unique_ptr<ByteSink>> open_sink(const std::string& path, bool gzip);
// Compresses into another sink.
std::unique_ptr<ByteSink> gzip_sink(std::unique_ptr<ByteSink> compressed);
// Appends to a string: for tests.
std::unique_ptr<ByteSink> string_sink(std::string& out);

}  // namespace graphtag
