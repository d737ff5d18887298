// Under which key an annotation's value stands in args where the profiler has taken its own.
//
//   args {"grid": [8,1,1]}, annotation {"grid": 5}      ->  "annotation.grid": 5
//   and with an "annotation.grid" of somebody's there   ->  "annotation.annotation.grid": 5
//
// A longer form that is an annotation's own key is passed over, and each of the others belongs to one key alone, so that the way back is
// unambiguous.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "join/member_shapes.h"

namespace graphtag {

using KeySet = std::unordered_set<std::string>;

inline constexpr std::string_view kKeyPrefix = "annotation.";
inline std::string prefixed(std::string_view key) {
  return std::string(kKeyPrefix) + std::string(key);
}

// Which forms are whose, among the keys of all annotations of a trace. Keys that differ in their prefixes alone take turns:
//   keys "x", "annotation.x"   ->   2 prefixes: of "x"; 3: of "annotation.x"; 4: of "x"; ..
class KeyForms {
 public:
  KeyForms() = default;
  explicit KeyForms(const KeySet& keys);

  // The next longer form of `key` after `form`: the key itself, or one of its forms.
  std::string next(std::string_view key, std::string_view form) const;
  // The key that a form is of: a key is its own first form.
  std::optional<std::string> owner(std::string_view form) const;

 private:
  struct Level {
    std::size_t prefixes = 0;  // of a key
    std::size_t turn = 0;      // whose the first form after it is: an index of levels
  };
  const std::vector<Level>* levels_of(std::string_view base) const;

  std::unordered_map<std::string, std::vector<Level>> levels_;  // what all prefixes are taken from -> its keys, ascending
};

// The key of these args that holds `key` of an annotation: its longest form that is there, or `key` itself.
std::string written_key(const MemberShape& shape, const std::string& key, const KeyForms& forms);

// The way back: the key whose written_key() is `written`, a key of these args.
std::optional<std::string> key_written_as(const MemberShape& shape, const std::string& written, const KeyForms& forms);

}  // namespace graphtag
