// Where the array of events ends, when its last event cannot be read: told by how a trace ends.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace graphtag::kineto {

// How far from a stream's end its array of events is looked for: what Kineto writes behind it takes a few hundred bytes.
constexpr std::size_t kArrayEndBytes = std::size_t{64} << 10;

// The first `}` ws `]` in the stream's last bytes behind which there is nothing, or, in an object, nothing but its further members and its `}`.
// The position of the `]`. An array within an event has the event's own `}` behind it, which is not the last.
std::optional<std::size_t> array_end(std::string_view last, bool bare_array);

}  // namespace graphtag::kineto
