// Python's json.dump writes NaN, Infinity and -Infinity, which JSON lacks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace graphtag {

// A text with `null` in their place.
//
//   {"v": NaN, "w": -Infinity}   ->   {"v": null, "w": null     }
//          7                                  grown_at {7}: what stands behind it is a byte further on
struct NullsForNumbers {
  std::string text;
  std::uint64_t count = 0;
  std::vector<std::uint64_t> grown_at;  // where a NaN was, in the text as it came

  // Where a byte of `text` stood in the text as it came.
  std::uint64_t original_offset(std::uint64_t offset) const;
};
NullsForNumbers null_not_a_numbers(std::string_view text);

}  // namespace graphtag
