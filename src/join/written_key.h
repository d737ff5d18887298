// Under which key an annotation's value stands in args where the profiler has taken its own.
//
//   args {"grid": [8,1,1]}, annotation {"grid": 5}      ->  "annotation.grid": 5
//   and with an "annotation.grid" of somebody's there   ->  "annotation.annotation.grid": 5
//
// A longer key that is an annotation's own key is passed over, so that the way back is unambiguous.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "join/member_shapes.h"

namespace graphtag {

using KeySet = std::unordered_set<std::string>;

inline constexpr std::string_view kKeyPrefix = "annotation.";
inline std::string prefixed(std::string_view key) {
  return std::string(kKeyPrefix) + std::string(key);
}

// The key of these args that holds `key` of an annotation: its longest form that is there, or `key` itself. `keys`: of all annotations.
std::string written_key(const MemberShape& shape, const std::string& key, const KeySet& keys);

// The way back: those of `candidates` whose written_key() is `written`, a key of these args. Linear where args and candidates are many.
std::vector<std::string> keys_written_as(const MemberShape& shape, const std::string& written, const KeySet& candidates,
                                         const KeySet& keys);

}  // namespace graphtag
