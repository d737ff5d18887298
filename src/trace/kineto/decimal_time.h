// Decimal microseconds to integer nanoseconds, exactly.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace graphtag::kineto {

// `number` is a JSON number in microseconds; what lies below a nanosecond is rounded, halves away from zero. Nothing if the result does not
// fit. "5171545680343.6905" -> 5171545680343691
std::optional<std::int64_t> nanoseconds(std::string_view number);

}  // namespace graphtag::kineto
