// The version that files, --version and reports name.
#pragma once

#include <string_view>

namespace graphtag {

inline constexpr std::string_view kVersion = "0.1.0";  // as in CMakeLists.txt

}  // namespace graphtag
