#include "model/pickle_text.h"

#include <boost/locale/utf.hpp>
#include <charconv>
#include <cstdint>
#include <iterator>

namespace graphtag {
namespace {

void append_utf8(std::string& out, std::uint32_t code_point) {
  boost::locale::utf::utf_traits<char>::encode(code_point, std::back_inserter(out));
}

// Exactly `text` as hexadecimal.
std::optional<std::uint32_t> hexadecimal(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (text.empty() || code != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

}  // namespace

bool is_utf8(std::string_view text) {
  namespace utf = boost::locale::utf;
  for (const char* p = text.data(); p != text.data() + text.size();) {
    const utf::code_point point = utf::utf_traits<char>::decode(p, text.data() + text.size());
    if (point == utf::illegal || point == utf::incomplete) return false;
  }
  return true;
}

std::optional<std::string> unescape_pickle_unicode(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char next = i + 1 < text.size() ? text[i + 1] : '\0';
    const std::size_t digits = text[i] != '\\' ? 0 : next == 'u' ? 4 : next == 'U' ? 8 : 0;
    if (digits != 0) {
      if (text.size() - i - 2 < digits) return {};
      const auto point = hexadecimal(text.substr(i + 2, digits));
      if (!point || !boost::locale::utf::is_valid_codepoint(*point)) return {};
      append_utf8(out, *point);
      i += 1 + digits;
    } else {
      append_utf8(out, static_cast<unsigned char>(text[i]));
      if (text[i] == '\\' && next != '\0') append_utf8(out, static_cast<unsigned char>(text[++i]));
    }
  }
  return out;
}

std::optional<std::string> unescape_pickle_string(std::string_view text) {
  if (text.size() < 2 || text.front() != text.back() || (text.front() != '\'' && text.front() != '"')) return {};
  text = text.substr(1, text.size() - 2);
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    if (++i == text.size()) return {};
    constexpr std::string_view kLetters = "abfnrtv\\'\"";
    constexpr std::string_view kMeanings = "\a\b\f\n\r\t\v\\'\"";
    if (const auto letter = kLetters.find(text[i]); letter != std::string_view::npos) {
      out += kMeanings[letter];
    } else if (text[i] == 'x') {
      const auto byte = text.size() - i > 2 ? hexadecimal(text.substr(i + 1, 2)) : std::nullopt;
      if (!byte) return {};
      out += static_cast<char>(*byte);
      i += 2;
    } else if (text[i] >= '0' && text[i] <= '7') {
      unsigned byte = 0;
      std::size_t digits = 0;
      for (; digits < 3 && i + digits < text.size() && text[i + digits] >= '0' && text[i + digits] <= '7'; ++digits) {
        byte = byte * 8 + static_cast<unsigned>(text[i + digits] - '0');
      }
      out += static_cast<char>(byte);
      i += digits - 1;
    } else {
      out += '\\';
      out += text[i];
    }
  }
  return out;
}

}  // namespace graphtag
