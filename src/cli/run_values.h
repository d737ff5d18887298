// Values of the options of `graphtag run`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace graphtag::cli {

// "10" or "10s" -> 10 000; also "500ms", "2m", "1h", and fractions.
std::optional<std::int64_t> parse_duration_ms(const std::string& text);

// "500M" -> 524 288 000; K, M, G and T are powers of 1024, a bare number is bytes.
std::optional<std::uint64_t> parse_size_bytes(const std::string& text);

struct Buffers {
  std::uint32_t count = 0;  // 0: as usual
  std::uint32_t bytes = 0;  // of each; 0: as usual
};
// "64" or "64x4M".
std::optional<Buffers> parse_buffers(const std::string& text);

}  // namespace graphtag::cli
