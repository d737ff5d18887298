#include "model/not_a_number.h"

namespace graphtag {

std::uint64_t NullsForNumbers::original_offset(std::uint64_t offset) const {
  std::uint64_t grown = 0;
  while (grown < grown_at.size() && grown_at[grown] + grown + 3 < offset) ++grown;
  return offset - grown;
}

NullsForNumbers null_not_a_numbers(std::string_view text) {
  NullsForNumbers result;
  result.text.reserve(text.size() + text.size() / 64);
  bool in_string = false;
  std::size_t i = 0;
  // `word` at the current place becomes null, with spaces up to its length.
  const auto replace = [&](std::string_view word) {
    if (text.substr(i, word.size()) != word) return false;
    if (word.size() < 4) result.grown_at.push_back(i);
    result.text.append("null").append(word.size() > 4 ? word.size() - 4 : 0, ' ');
    ++result.count;
    i += word.size();
    return true;
  };
  while (i < text.size()) {
    const char c = text[i];
    if (!in_string && (replace("NaN") || replace("Infinity") || replace("-Infinity"))) continue;
    if (c == '"') in_string = !in_string;
    result.text += c;
    ++i;
    if (in_string && c == '\\' && i < text.size()) result.text += text[i++];
  }
  return result;
}

}  // namespace graphtag
