// Shapes of args: the keys of an event's args in their order.
//
//   {"device": 0, "stream": 7, "grid": [1,1,1]}  ->  kernel: device, stream, grid
//
// A trace has few of them, so whatever depends on keys alone is worked out once a shape, and an event costs a comparison with the last ones.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "trace/event.h"

namespace graphtag {

struct MemberShape {
  MemberShape() = default;
  MemberShape(const MemberShape&) = delete;  // places looks into keys
  MemberShape& operator=(const MemberShape&) = delete;

  std::uint32_t id = 0;  // never used again in one table
  EventKind kind = EventKind::other;
  std::vector<std::string> keys;  // escapes resolved; index: of Event::members

  // Of keys that come twice the last counts. -1: no such key.
  int index_of(std::string_view key) const;

 private:
  friend class MemberShapes;
  std::string raw_keys;                                               // as written, one after the other
  std::vector<std::uint32_t> raw_sizes;                               // of each
  std::int32_t next = -1;                                             // another shape with the same hash
  boost::unordered_flat_map<std::string_view, std::uint32_t> places;  // key -> last place; empty while they are few
  bool is_of(const Event& event) const;
  void index_keys();
};

// Bounded: when a file has very many shapes, old ones are forgotten. A reference lives until the next call.
class MemberShapes {
 public:
  const MemberShape& of(const Event& event);

 private:
  std::deque<MemberShape> shapes_;
  boost::unordered_flat_map<std::uint64_t, std::int32_t> by_hash_;  // hash of the keys -> first shape with it
  std::size_t bytes_ = 0;                                           // of what shapes_ holds
  std::int32_t last_ = -1;
  std::uint32_t next_id_ = 0;
};

}  // namespace graphtag
