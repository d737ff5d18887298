// Where the tokens of a stretch of JSON begin: simdjson's first stage.
//
//   {"a": [1]}
//   01  4 6789    strings and scalars by their first byte, and every one of {}[]:,  outside strings; behind them the text's size, 10
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace graphtag::kineto {

class TokenIndex {
 public:
  TokenIndex();
  ~TokenIndex();
  TokenIndex(const TokenIndex&) = delete;
  TokenIndex& operator=(const TokenIndex&) = delete;

  // Positions in `text`, behind them text.size(); valid until the next call. Empty if the text has none, is no UTF-8, has a raw control character
  // in a string, or a string without end. 64 bytes behind `text` must be readable.
  std::span<const std::uint32_t> find(std::string_view text);

 private:
  struct Stage;
  std::unique_ptr<Stage> stage_;
};

}  // namespace graphtag::kineto
