// The smallest pieces of JSON's grammar (RFC 8259), read from text that goes on after them or ends in a byte that no token has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/utf8.h"

namespace graphtag::kineto {

// Arrays and objects within each other, the event itself counted: beyond, an event is not read.
constexpr int kMaxNesting = 64;

constexpr bool is_space(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}
constexpr bool is_digit(char c) {
  return static_cast<unsigned char>(c - '0') < 10;
}

// The first byte at or behind `i` that is no whitespace; text.size() if there is none.
inline std::size_t skip_space(std::string_view text, std::size_t i) {
  while (i < text.size() && is_space(text[i])) ++i;
  return i;
}

struct Number {
  const char* end = nullptr;  // behind its last byte; null if no number begins here
  bool integer = false;       // no fraction, no exponent
};

// The longest JSON number at `p`; a byte that continues no number must follow within the memory.
inline Number scan_number(const char* p) {
  if (*p == '-') ++p;
  if (*p == '0') {
    ++p;
  } else {
    if (!is_digit(*p)) return {};
    do ++p;
    while (is_digit(*p));
  }
  Number number{p, true};
  if (*p == '.') {
    ++p;
    if (!is_digit(*p)) return {};
    do ++p;
    while (is_digit(*p));
    number = {p, false};
  }
  if (*p == 'e' || *p == 'E') {
    ++p;
    if (*p == '+' || *p == '-') ++p;
    if (!is_digit(*p)) return {};
    do ++p;
    while (is_digit(*p));
    number = {p, false};
  }
  return number;
}

// Whether a JSON integer fits neither int64_t nor uint64_t.
inline bool beyond_64_bits(std::string_view integer) {
  const bool negative = integer.front() == '-';
  if (negative) integer.remove_prefix(1);
  const std::string_view largest = negative ? "9223372036854775808" : "18446744073709551615";
  return integer.size() > largest.size() || (integer.size() == largest.size() && integer > largest);
}

// Length of the escape at the backslash `text[i]`: 2, 6, or 12 for a pair of surrogates; 0 if JSON has none such, or it is half a pair.
inline std::size_t escape_length(std::string_view text, std::size_t i) {
  if (i + 1 >= text.size()) return 0;
  switch (text[i + 1]) {
    case '"':
    case '\\':
    case '/':
    case 'b':
    case 'f':
    case 'n':
    case 'r':
    case 't':
      return 2;
    case 'u':
      break;
    default:
      return 0;
  }
  const std::int32_t unit = hex4(text, i + 2);
  if (unit < 0) return 0;
  if (unit < 0xD800 || unit > 0xDFFF) return 6;
  if (unit >= 0xDC00 || text.substr(i + 6, 2) != "\\u") return 0;
  const std::int32_t low = hex4(text, i + 8);
  return low >= 0xDC00 && low <= 0xDFFF ? 12 : 0;
}

// Whether every escape in the inside of a string is one of JSON's.
inline bool escapes_are_valid(std::string_view inside) {
  for (std::size_t i = inside.find('\\'); i != std::string_view::npos;) {
    const std::size_t length = escape_length(inside, i);
    if (length == 0) return false;
    i = inside.find('\\', i + length);
  }
  return true;
}

}  // namespace graphtag::kineto
