// What `graphtag run` puts into LD_PRELOAD.
#pragma once

#include <optional>
#include <string>

namespace graphtag::cli {

// LD_PRELOAD with `library` before what is in `value`, where another one of its file name is left out (a run within a run). Nothing if the path of
// `library` cannot stand there: blanks and colons part its entries, and $ begins a name that the loader replaces.
std::optional<std::string> preload_first(const std::string& library, const std::string& value);

// LD_PRELOAD without a library of this file name.
std::string preload_without(const std::string& file_name, const std::string& value);

// ASAN_OPTIONS with which a program whose AddressSanitizer is a shared library starts although something was preloaded before it; what `value` says
// about that stays.
std::string sanitizer_with_preload(const std::string& value);

}  // namespace graphtag::cli
