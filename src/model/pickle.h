// Python pickles, protocols 0 to 5, as plain values. Nothing is imported, called or built from a class: the reader knows None, booleans, integers,
// floats, strings, lists, tuples and dicts, and an empty collections.OrderedDict() or collections.defaultdict(list | dict | int), which are dicts.
//
//   {7: [{'name': 'a'}]}     dict  #0: 7, list #1        containers are numbered and may be shared: a pickle says
//                            list  #1: dict #2           "that dict again" instead of writing it twice
//                            dict  #2: 'name', 'a'
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace graphtag {

enum class PickleKind : std::uint8_t { none, boolean, integer, unsigned_integer, floating, string, list, tuple, dict, global };

// 16 bytes. Strings lie in the pickle's content or in Pickle::unescaped; containers in Pickle::containers.
struct PickleValue {
  union {
    bool boolean;
    std::int64_t integer = 0;
    std::uint64_t unsigned_integer;  // beyond the range of `integer`
    double floating;
    const char* text;
    std::uint64_t offset;  // global: of the opcode that named it
  };
  std::uint32_t index = 0;  // string: length in bytes; list, tuple, dict: index of the container; global: which
  PickleKind kind = PickleKind::none;

  bool is_container() const { return kind == PickleKind::list || kind == PickleKind::tuple || kind == PickleKind::dict; }
};

// Valid as long as the content it was read from. Containers may hold themselves: bound the depth.
struct Pickle {
  PickleValue root;
  std::vector<std::vector<PickleValue>>
      containers;  // a dict's: key, value, key, value; of a key that comes twice the later counts
  std::deque<std::string> unescaped;
  std::size_t size_bytes = 0;  // up to and with STOP

  std::span<const PickleValue> items(const PickleValue& container) const { return containers[container.index]; }
  static std::string_view text(const PickleValue& string) { return {string.text, string.index}; }
};

// Errors: `refused` for an opcode or a global that could run code or make anything else than the values above, with the opcode's name and offset;
// `too_large` for integers beyond 64 bits and more than 8 Mi containers or 32 Mi values in them; `malformed` for all that breaks the format, strings
// that are not UTF-8 included.
Result<Pickle> read_pickle(std::string_view content, const std::string& file);

}  // namespace graphtag
