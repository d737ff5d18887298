// The ways in which pickles write strings.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace graphtag {

// False for overlong forms, surrogates and what lies beyond U+10FFFF, too.
bool is_utf8(std::string_view text);

// UNICODE's argument as UTF-8: Latin-1 with \\uXXXX and \\UXXXXXXXX; a backslash before anything else stands for itself. Nothing for code points that
// do not exist, surrogates included.
std::optional<std::string> unescape_pickle_unicode(std::string_view text);

// STRING's argument, a Python 2 literal in quotes, as bytes. Nothing if it is none.
std::optional<std::string> unescape_pickle_string(std::string_view text);

}  // namespace graphtag
