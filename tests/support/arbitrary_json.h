// Random annotations for property tests.
#pragma once

#include <rapidcheck.h>

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "base/json.h"

namespace graphtag::testing {

// Few and short texts, so that keys and names meet often; with dots, quotes and more than ASCII.
inline rc::Gen<std::string> arbitrary_text() {
  return rc::gen::element<std::string>("name", "a", "a.b", "a.b.c", "b", "stream", "", "\"", "é\n", "\xf0\x9f\x98\x80", "x y");
}

inline rc::Gen<Json> arbitrary_scalar() {
  return rc::gen::oneOf(rc::gen::just(Json(nullptr)), rc::gen::map(rc::gen::arbitrary<bool>(), [](bool b) { return Json(b); }),
                        rc::gen::map(rc::gen::arbitrary<std::int64_t>(), [](std::int64_t i) { return Json(i); }),
                        rc::gen::element<Json>(0, 1, 1.0, true, -1, 0.5, 1e300, std::numeric_limits<std::uint64_t>::max(),
                                               std::numeric_limits<std::int64_t>::min()),
                        rc::gen::map(arbitrary_text(), [](std::string s) { return Json(std::move(s)); }));
}

inline rc::Gen<Json> arbitrary_object(int depth = 1);

inline rc::Gen<Json> arbitrary_json(int depth = 1) {
  if (depth == 0) return arbitrary_scalar();
  return rc::gen::oneOf(
      arbitrary_scalar(), arbitrary_scalar(), arbitrary_object(depth - 1),
      rc::gen::map(rc::gen::container<std::vector<Json>>(arbitrary_json(depth - 1)), [](const std::vector<Json>& items) {
        Json array = Json::array();
        for (const Json& item : items) array.push_back(item);
        return array;
      }));
}

inline rc::Gen<Json> arbitrary_object(int depth) {
  return rc::gen::map(
      rc::gen::container<std::vector<std::pair<std::string, Json>>>(rc::gen::pair(arbitrary_text(), arbitrary_json(depth))),
      [](const std::vector<std::pair<std::string, Json>>& members) {
        Json object = Json::object();
        for (const auto& [key, value] : members) object[key] = value;
        return object;
      });
}

}  // namespace graphtag::testing
