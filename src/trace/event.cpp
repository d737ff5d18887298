#include "trace/event.h"

#include "base/utf8.h"

namespace graphtag {
namespace {

// Appends what the escape at `text[i]` (a backslash) stands for; returns its length. An escape that JSON does not have stands for
// itself, a lone surrogate for U+FFFD.
std::size_t append_escape(std::string_view text, std::size_t i, std::string& out) {
  const char kind = i + 1 < text.size() ? text[i + 1] : '\0';
  switch (kind) {
    case '"':
    case '\\':
    case '/':
      out += kind;
      return 2;
    case 'b':
      out += '\b';
      return 2;
    case 'f':
      out += '\f';
      return 2;
    case 'n':
      out += '\n';
      return 2;
    case 'r':
      out += '\r';
      return 2;
    case 't':
      out += '\t';
      return 2;
    case 'u': {
      const std::int32_t unit = hex4(text, i + 2);
      if (unit < 0) break;
      if (unit < 0xD800 || unit > 0xDFFF) {
        append_utf8(out, static_cast<std::uint32_t>(unit));
        return 6;
      }
      if (unit < 0xDC00 && text.substr(i + 6, 2) == "\\u") {
        const std::int32_t low = hex4(text, i + 8);
        if (low >= 0xDC00 && low <= 0xDFFF) {
          append_utf8(out,
                      0x10000U + (static_cast<std::uint32_t>(unit - 0xD800) << 10) + static_cast<std::uint32_t>(low - 0xDC00));
          return 12;
        }
      }
      out += kReplacementCharacter;
      return 6;
    }
    default:
      break;
  }
  out += '\\';
  return 1;
}

}  // namespace

std::string_view unescape(std::string_view token, std::string& storage) {
  if (token.size() >= 2 && token.front() == '"' && token.back() == '"') token = token.substr(1, token.size() - 2);
  std::size_t i = token.find('\\');
  if (i == std::string_view::npos) return token;
  storage.clear();
  std::size_t copied = 0;
  while (i != std::string_view::npos) {
    storage.append(token, copied, i - copied);
    copied = i + append_escape(token, i, storage);
    i = token.find('\\', copied);
  }
  storage.append(token, copied);
  return storage;
}

}  // namespace graphtag
