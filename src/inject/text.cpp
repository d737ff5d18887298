#include "inject/text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "base/utf8.h"

namespace graphtag::inject {
namespace {

// The whole characters in the first kTextBytesMax bytes.
std::size_t cut_length(std::string_view text) {
  std::size_t end = kTextBytesMax;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return end;
}

void cut(Text& text) {
  if (text.utf8.size() <= kTextBytesMax) return;
  text.utf8.resize(cut_length(text.utf8));
  text.cut = true;
}

}  // namespace

Text text_of(std::string_view bytes) {
  Text text;
  text.utf8.reserve(bytes.size());
  for (std::size_t i = 0; i < bytes.size() && text.utf8.size() <= kTextBytesMax;) {
    const std::size_t length = utf8_length(bytes, i);
    if (length == 0) {
      text.utf8 += kReplacementCharacter;
      text.mended = true;
      ++i;
    } else {
      text.utf8.append(bytes, i, length);
      i += length;
    }
  }
  cut(text);
  return text;
}

std::string_view bounded_view(const char* bytes) {
  // Three more, so that a character that is cut off by the bound is not taken for a broken one.
  return bytes == nullptr ? std::string_view{} : std::string_view(bytes, strnlen(bytes, kTextBytesMax + 4));
}

Text text_of(const char* bytes) {
  return text_of(bounded_view(bytes));
}

Text text_of(const wchar_t* wide) {
  static_assert(sizeof(wchar_t) == 4);
  Text text;
  if (wide == nullptr) return text;
  for (; *wide != L'\0' && text.utf8.size() <= kTextBytesMax; ++wide) {
    const auto code = static_cast<std::uint32_t>(*wide);
    if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) {
      text.utf8 += kReplacementCharacter;
      text.mended = true;
    } else {
      append_utf8(text.utf8, code);
    }
  }
  cut(text);
  return text;
}

void append_json_string(std::string& out, std::string_view text) {
  constexpr char kDigits[] = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20) {
      out += "\\u00";
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    } else {
      out += c;
    }
  }
  out += '"';
}

void append_json_number(std::string& out, double number) {
  if (std::isnan(number)) {
    out += "\"NaN\"";
  } else if (std::isinf(number)) {
    out += number > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  } else {
    std::array<char, 32> digits{};
    const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), number);
    const std::string_view written(digits.data(), static_cast<std::size_t>(end - digits.data()));
    out += written;
    // 5.0 stays a double.
    if (written.find_first_of(".e") == std::string_view::npos) out += ".0";
  }
}

}  // namespace graphtag::inject
