#include "trace/perfetto/packet_stream.h"

#include <algorithm>

namespace graphtag::perfetto {
namespace {

constexpr char kPacketTag = 0x0a;  // field 1, with a length
constexpr std::size_t kReadBytes = std::size_t{256} << 10;
constexpr std::size_t kHeadBytes = 11;  // a tag and the longest length

}  // namespace

Result<bool> PacketStream::look_ahead(std::size_t size) {
  while (buffer_.size() - begin_ < size && !at_end_) {
    buffer_.erase(0, begin_);
    begin_ = 0;
    const std::size_t had = buffer_.size();
    buffer_.resize(std::max(had + kReadBytes, size));
    const Result<std::size_t> got = source_.read(buffer_.data() + had, buffer_.size() - had);
    buffer_.resize(had + (got ? *got : 0));
    if (!got) return got.error();
    at_end_ = *got == 0;
  }
  return buffer_.size() - begin_ >= size;
}

void PacketStream::consume(std::size_t size) {
  begin_ += size;
  offset_ += size;
}

// False if the file ends before.
Result<bool> PacketStream::skip(std::uint64_t size) {
  while (size > 0) {
    const Result<bool> more = look_ahead(1);
    if (!more) return more.error();
    if (!*more) return false;
    const auto part = static_cast<std::size_t>(std::min<std::uint64_t>(size, buffer_.size() - begin_));
    consume(part);
    size -= part;
  }
  return true;
}

Result<std::optional<std::string_view>> PacketStream::next() {
  const std::optional<std::string_view> none;
  for (;;) {
    if (cut_ || garbage_) return none;
    packet_offset_ = offset_;
    if (const Result<bool> head = look_ahead(kHeadBytes); !head) return head.error();
    const std::string_view view = std::string_view(buffer_).substr(begin_);
    if (view.empty()) return none;
    if (view[0] != kPacketTag) {
      garbage_ = true;
      return none;
    }
    std::uint64_t size = 0;
    std::size_t at = 1;
    bool whole = false;
    for (int shift = 0; at < view.size() && shift < 64 && !whole; shift += 7) {
      const auto byte = static_cast<unsigned char>(view[at++]);
      size |= std::uint64_t{byte & 0x7fU} << shift;
      whole = (byte & 0x80) == 0;
    }
    if (!whole) {
      (view.size() < kHeadBytes ? cut_ : garbage_) = true;
      return none;
    }
    consume(at);
    if (size > limit_bytes_) {
      const Result<bool> skipped = skip(size);
      if (!skipped) return skipped.error();
      cut_ = !*skipped;
      if (*skipped) ++passed_over_;
      continue;
    }
    const Result<bool> there = look_ahead(static_cast<std::size_t>(size));
    if (!there) return there.error();
    if (!*there) {
      consume(buffer_.size() - begin_);
      cut_ = true;
      return none;
    }
    const std::string_view packet = std::string_view(buffer_).substr(begin_, static_cast<std::size_t>(size));
    consume(static_cast<std::size_t>(size));
    return std::optional(packet);
  }
}

}  // namespace graphtag::perfetto
