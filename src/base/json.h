// The JSON values that users put into annotations: null, bool, 64-bit integers, double, string, array, object. Key order is kept.
// This is for small texts; traces are read by trace/.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/error.h"

namespace graphtag {

using Json = nlohmann::ordered_json;

struct JsonLimits {
  std::size_t bytes = std::size_t{256} << 20;
  int nesting = 64;                            // of arrays and objects
  std::size_t values = std::size_t{16} << 20;  // in all: a value takes up to 80 bytes of memory, but 3 of text
};

// Parses one JSON text (a leading byte order mark is passed over). Strings must be UTF-8; integers beyond 64 bits are an error,
// not a rounded double. `file` goes into the error, whose offset is in bytes.
Result<Json> parse_json(std::string_view text, const std::string& file = {}, const JsonLimits& limits = {});

// One line, no spaces, UTF-8 (not escaped), keys in their order, doubles so that they read back the same. NaN and infinities
// become null.
std::string dump_json(const Json& value);

// The same text for equal values whatever the order of their keys: what values are compared and interned by. 1 and 1.0 differ,
// and so do true and 1.
std::string canonical_json(const Json& value);

}  // namespace graphtag
