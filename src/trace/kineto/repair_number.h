// What writers put where JSON wants a number.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace graphtag::kineto {

enum class NumberRepair : std::uint8_t {
  none,          // a number of JSON
  rewritten,     // "+1", "01", ".5", "1.", "1e"
  not_a_number,  // NaN, Infinity: null
  impossible,
};

// Appends the token, or what it was meant to be, to `out`.
NumberRepair repair_number(std::string_view token, std::string& out);

}  // namespace graphtag::kineto
