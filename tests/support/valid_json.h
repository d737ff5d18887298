// Whether a text is JSON by its grammar.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace graphtag::test {

// The text with its numbers made such that a double holds them, and by the grammar as good or bad as before: digits behind an `e` become 0, of a long
// row of digits only the first stay. "1e999" -> "1e000". In strings nothing that counts changes: "\ude12" -> "\ude00" is the same half of a pair.
inline std::string with_small_numbers(std::string_view text) {
  constexpr std::size_t kDigitsMax = 200;
  std::string small;
  std::size_t digits = 0;
  bool exponent = false;
  for (const char c : text) {
    if (c >= '0' && c <= '9') {
      if (++digits <= kDigitsMax) small += exponent ? '0' : c;
      continue;
    }
    digits = 0;
    exponent = c == 'e' || c == 'E' || (exponent && (c == '+' || c == '-') && (small.back() == 'e' || small.back() == 'E'));
    small += c;
  }
  return small;
}

// By nlohmann's parser. It stops at a number that no double holds, which the grammar has: so it is given none.
inline bool valid_json(std::string_view text) {
  return nlohmann::json::accept(with_small_numbers(text));
}

}  // namespace graphtag::test
