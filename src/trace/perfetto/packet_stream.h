// The packets of a Perfetto trace, one after the other, from a stream of bytes.
//
//   file    0a 05 <5 bytes> 0a 83 01 <131 bytes> 0a 40 <12 bytes, and the file ends>
//   next()  5 bytes         131 bytes            end, and cut() is true
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "trace/byte_stream.h"

namespace graphtag::perfetto {

class PacketStream {
 public:
  // Packets beyond `limit_bytes` are passed over.
  explicit PacketStream(ByteSource& source, std::size_t limit_bytes = std::size_t{8} << 20)
      : source_(source), limit_bytes_(limit_bytes) {}

  // The next packet that is no larger than the limit; nothing at the end. Lives until the next call. Errors: the source's.
  Result<std::optional<std::string_view>> next();

  std::uint64_t offset() const { return packet_offset_; }  // where the packet begins; at the end: of what could not be read
  std::uint64_t content_bytes() const { return offset_; }  // read so far
  bool cut() const { return cut_; }                        // the file ended within a packet
  bool garbage() const { return garbage_; }                // something that is no packet stood at offset(): reading ended there
  std::uint64_t passed_over() const { return passed_over_; }  // packets beyond the limit

 private:
  Result<bool> look_ahead(std::size_t size);  // whether the file has so many more bytes
  void consume(std::size_t size);
  Result<bool> skip(std::uint64_t size);

  ByteSource& source_;
  std::size_t limit_bytes_;
  std::string buffer_;
  std::size_t begin_ = 0;     // of what is not consumed, in buffer_
  std::uint64_t offset_ = 0;  // of begin_, in the file
  std::uint64_t packet_offset_ = 0;
  std::uint64_t passed_over_ = 0;
  bool at_end_ = false;
  bool cut_ = false, garbage_ = false;
};

}  // namespace graphtag::perfetto
