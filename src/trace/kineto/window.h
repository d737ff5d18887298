// The part of a stream that is in memory: from the first byte that was not dealt with yet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/error.h"
#include "trace/byte_stream.h"

namespace graphtag::kineto {

class Window {
 public:
  // Zeros that lie behind view(), for code that reads in blocks.
  static constexpr std::size_t kPadding = 64;

  Window(ByteSource& source, std::size_t usual_bytes);

  std::string_view view() const { return {bytes_.get() + begin_, end_ - begin_}; }
  // Where view() begins in the stream.
  std::uint64_t offset() const { return offset_; }
  // view() is all that is left.
  bool at_end() const { return source_ended_; }
  void consume(std::size_t count) {
    begin_ += count;
    offset_ += count;
  }
  // Adds to view(): as much as the usual size takes, at least a byte unless at_end(). Moves its bytes; grows if they fill the usual size already.
  Result<void> more();
  // The byte that lies behind the first `size` of view().
  char& byte_at(std::size_t size) { return bytes_[begin_ + size]; }

 private:
  void make_room();

  ByteSource& source_;
  const std::size_t usual_bytes_;
  std::size_t capacity_ = 0;
  std::unique_ptr<char[]> bytes_;  // capacity_ + kPadding
  std::size_t begin_ = 0, end_ = 0;
  std::uint64_t offset_ = 0;
  bool source_ended_ = false;
};

}  // namespace graphtag::kineto
