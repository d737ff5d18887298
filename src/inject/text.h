// Texts of the program, which may be anything, as UTF-8 of bounded length.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace graphtag::inject {

constexpr std::size_t kTextBytesMax = 4096;

struct Text {
  std::string utf8;
  bool mended = false;  // what is not UTF-8 became U+FFFD
  bool cut = false;     // it was longer than kTextBytesMax; the cut is between characters
};

// A null pointer is an empty text.
Text text_of(std::string_view bytes);
Text text_of(const char* bytes);
Text text_of(const wchar_t* wide);  // UTF-32

// Of a NUL-terminated text, as much as text_of() could need: reads no further. Null is empty.
std::string_view bounded_view(const char* bytes);

// `text` (UTF-8) as a JSON string, quotes included.
void append_json_string(std::string& out, std::string_view text);
// A JSON number that reads back the same; NaN and infinities, which JSON lacks, as the strings "NaN", "Infinity", "-Infinity".
void append_json_number(std::string& out, double number);

}  // namespace graphtag::inject
