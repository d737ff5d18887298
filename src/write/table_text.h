// Text of files in a terminal: names may hold anything.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace graphtag {

struct Printable {
  bool utf8 = true;               // else what is not ASCII is escaped
  bool double_backslash = false;  // so that the escapes can be undone
  bool keep_line_breaks = false;  // and tabs
};

// Control characters, characters that change the direction of text, and line separators as \n, \t, \r or \u{1b}; what is not UTF-8 as U+FFFD.
std::string printable(std::string_view text, const Printable& how = {});

// Columns of a terminal that printable text takes: East Asian wide characters and emoji 2, combining ones 0.
std::size_t display_width(std::string_view text);

// At most `width` columns wide: the middle is left out, the last component (after the last dot) is kept as far as possible.
std::string cut_middle(std::string_view text, std::size_t width, bool utf8);

}  // namespace graphtag
