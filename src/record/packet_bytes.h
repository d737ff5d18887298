// The bytes of protobuf messages, put together on the stack: for the packets of which there are millions. Field numbers are those of
// base/perfetto_packets.cpp.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace graphtag {

// Room for what a fixed number of fields takes at most; the caller makes sure that they fit.
template <std::size_t Capacity>
class PacketBytes {
 public:
  void clear() { size_ = 0; }
  std::string_view view() const { return {data_.data(), size_}; }
  std::size_t size() const { return size_; }

  void byte(std::uint8_t value) { data_[size_++] = static_cast<char>(value); }
  void varint(std::uint64_t value) {
    while (value >= 0x80) {
      byte(static_cast<std::uint8_t>(value | 0x80));
      value >>= 7;
    }
    byte(static_cast<std::uint8_t>(value));
  }
  void fixed64(std::uint64_t value) {
    static_assert(std::endian::native == std::endian::little);
    std::memcpy(data_.data() + size_, &value, sizeof value);
    size_ += sizeof value;
  }
  // A field of type varint.
  void field(std::uint32_t number, std::uint64_t value) {
    varint(number << 3);
    varint(value);
  }
  void field_fixed64(std::uint32_t number, std::uint64_t value) {
    varint(number << 3 | 1);
    fixed64(value);
  }
  // The head of a field of `size` bytes, which the caller puts behind it.
  void field_head(std::uint32_t number, std::size_t size) {
    varint(number << 3 | 2);
    varint(size);
  }

 private:
  std::array<char, Capacity> data_;
  std::size_t size_ = 0;
};

constexpr std::size_t varint_size(std::uint64_t value) {
  return (static_cast<std::size_t>(std::bit_width(value | 1)) + 6) / 7;
}

// Args (debug annotations) whose keys are interned, in the fixed shapes that records have. At most 24 of them.
class RecordArgs {
 public:
  std::string_view view() const { return bytes_.view(); }

  void unsigned_integer(std::uint32_t key, std::uint64_t value) { number(key, kUnsigned, value); }
  void integer(std::uint32_t key, std::int64_t value) { number(key, kInteger, static_cast<std::uint64_t>(value)); }
  void boolean(std::uint32_t key, bool value) { number(key, kBool, value ? 1 : 0); }
  void real(std::uint32_t key, double value) {
    head(key, 1 + 8);
    bytes_.field_fixed64(kDouble, std::bit_cast<std::uint64_t>(value));
  }
  void string(std::uint32_t key, std::uint32_t interned) {
    head(key, 2 + varint_size(interned));
    bytes_.field(kInternedString, interned);
  }
  void triple(std::uint32_t key, const std::int32_t (&values)[3]) {
    std::size_t size = 0;
    for (const std::int32_t value : values) size += 3 + varint_size(extended(value));
    head(key, size);
    for (const std::int32_t value : values) {
      bytes_.field_head(kArrayValue, 1 + varint_size(extended(value)));
      bytes_.field(kInteger, extended(value));
    }
  }

 private:
  static constexpr std::uint32_t kArgs = 4;  // of a TrackEvent
  static constexpr std::uint32_t kKey = 1, kBool = 2, kUnsigned = 3, kInteger = 4, kDouble = 5, kArrayValue = 12,
                                 kInternedString = 17;
  static std::uint64_t extended(std::int32_t value) { return static_cast<std::uint64_t>(std::int64_t{value}); }

  void head(std::uint32_t key, std::size_t value_size) {
    bytes_.field_head(kArgs, 1 + varint_size(key) + value_size);
    bytes_.field(kKey, key);
  }
  void number(std::uint32_t key, std::uint32_t type, std::uint64_t value) {
    head(key, 1 + varint_size(value));
    bytes_.field(type, value);
  }

  PacketBytes<1536> bytes_;
};

}  // namespace graphtag
