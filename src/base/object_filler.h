// JSON objects of many keys, filled in linear time.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <string>

#include "base/json.h"

namespace graphtag {

// Fills a JSON object member by member. The library's own operator[] looks through all members, which for the million keys of a
// large or hostile file would never end. The object must outlive the filler and must not be changed by others meanwhile.
class ObjectFiller {
 public:
  explicit ObjectFiller(Json& object) : object_(&object) {}

  // Of a key that comes twice, the first place and the last value count. The reference holds until the next call.
  Json& set(const std::string& key, Json value);

 private:
  Json* object_;
  boost::unordered_flat_map<std::string, std::size_t> places_;  // key -> place among the members; empty while they are few
};

}  // namespace graphtag
