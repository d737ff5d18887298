#include "trace/kineto/array_end.h"

#include <algorithm>

#include "trace/kineto/scan.h"

namespace graphtag::kineto {
namespace {

constexpr std::size_t kScannedMax = 256 * kArrayEndBytes;  // of all tries, which made input could let run to the end each

// Behind the string at `text[i]`; text.size() if it has no end.
std::size_t skip_string(std::string_view text, std::size_t i) {
  for (++i; i < text.size() && text[i] != '"'; ++i) {
    if (text[i] == '\\') ++i;
  }
  return std::min(i + 1, text.size());
}

bool key_at(std::string_view text, std::size_t i) {
  if (i >= text.size() || text[i] != '"') return false;
  i = skip_space(text, skip_string(text, i));
  return i < text.size() && text[i] == ':';
}

// Whether the outermost object ends where the text does. Moves `i` to where that was clear.
bool object_ends(std::string_view text, std::size_t& i) {
  for (std::size_t depth = 0; i < text.size();) {
    switch (text[i]) {
      case '"':
        i = skip_string(text, i);
        continue;
      case '{':
      case '[':
        ++depth;
        break;
      case '}':
      case ']':
        if (depth-- == 0) return text[i] == '}' && skip_space(text, i + 1) == text.size();
        break;
      default:
        break;
    }
    ++i;
  }
  return false;
}

}  // namespace

std::optional<std::size_t> array_end(std::string_view last, bool bare_array) {
  std::size_t scanned = 0;
  for (std::size_t i = last.find(']'); i != std::string_view::npos && scanned < kScannedMax; i = last.find(']', i + 1)) {
    std::size_t before = i;
    while (before > 0 && is_space(last[before - 1])) --before;
    if (before == 0 || last[before - 1] != '}') continue;
    const std::size_t behind = skip_space(last, i + 1);
    if (behind == last.size()) return i;
    if (bare_array || (last[behind] != '}' && (last[behind] != ',' || !key_at(last, skip_space(last, behind + 1))))) continue;
    std::size_t stop = behind;
    if (object_ends(last, stop)) return i;
    scanned += stop - behind;
  }
  return std::nullopt;
}

}  // namespace graphtag::kineto
