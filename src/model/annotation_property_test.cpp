// The annotation table against a plain twin, and the laws of merging.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "model/annotation.h"
#include "tests/support/arbitrary_json.h"

namespace graphtag {
namespace {

using testing::arbitrary_object;
using testing::arbitrary_text;
using Path = std::vector<std::string>;

// An annotation as a plain list of members.
struct Twin {
  std::vector<std::pair<std::string, std::string>> members;  // key, value as canonical text
  Path path;
  bool operator==(const Twin&) const = default;
};

Twin twin(const Annotation& annotation) {
  Twin result;
  for (const auto& member : annotation.object->items()) result.members.emplace_back(member.key(), canonical_json(member.value()));
  result.path = annotation.path;
  return result;
}

Twin merge(const Twin& outer, const Twin& inner) {
  Twin result = outer;
  for (const auto& member : inner.members) {
    bool is_known = false;
    for (auto& known : result.members) {
      if (known.first != member.first) continue;
      known.second = member.second;
      is_known = true;
    }
    if (!is_known) result.members.push_back(member);
  }
  bool is_prefix = outer.path.size() <= inner.path.size();
  for (std::size_t i = 0; is_prefix && i < outer.path.size(); ++i) is_prefix = outer.path[i] == inner.path[i];
  if (is_prefix) result.path.clear();
  for (const std::string& name : inner.path) result.path.push_back(name);
  return result;
}

Twin sorted(Twin value) {
  std::sort(value.members.begin(), value.members.end());
  return value;
}

AnnotationId arbitrary_entry(AnnotationTable& table) {
  Json object = *arbitrary_object();
  return *table.intern(std::move(object), *rc::gen::container<Path>(arbitrary_text()));
}

// Key order is kept by the first of equal annotations that a table meets, so merged ones are compared without it.
RC_GTEST_PROP(AnnotationTable, MergesAsThePlainTwin, ()) {
  AnnotationTable table;
  std::vector<AnnotationId> ids = {AnnotationId::none};
  for (int i = 0; i < 4; ++i) ids.push_back(arbitrary_entry(table));
  for (int i = 0; i < 20; ++i) {
    const auto outer = *rc::gen::elementOf(ids);
    const auto inner = *rc::gen::elementOf(ids);
    const auto id = table.merge(outer, inner);
    RC_ASSERT(sorted(twin(table[id])) == sorted(merge(twin(table[outer]), twin(table[inner]))));
    RC_ASSERT(table.merge(outer, inner) == id);
    ids.push_back(id);
  }
}

RC_GTEST_PROP(AnnotationTable, MergingIntoAFreshEntryKeepsKeyOrder, ()) {
  AnnotationTable table;
  const auto outer = arbitrary_entry(table);
  const auto inner = arbitrary_entry(table);
  const auto before = table.size();
  const auto id = table.merge(outer, inner);
  if (table.size() > before) RC_ASSERT(twin(table[id]) == merge(twin(table[outer]), twin(table[inner])));
}

RC_GTEST_PROP(AnnotationTable, OneIdForEqualAnnotationsAlone, ()) {
  AnnotationTable table;
  std::vector<std::pair<Twin, AnnotationId>> known;
  for (int i = 0; i < 12; ++i) {
    const Json object = *arbitrary_object();
    const Path path = *rc::gen::container<Path>(arbitrary_text());
    Json reversed = Json::object();
    for (auto member = object.rbegin(); member != object.rend(); ++member) reversed[member.key()] = *member;
    const auto id = *table.intern(object, path);
    RC_ASSERT(*table.intern(std::move(reversed), path) == id);
    Annotation plain;
    plain.object = std::make_unique<const Json>(object);
    plain.path = path;
    for (const auto& [other, other_id] : known) RC_ASSERT((other == sorted(twin(plain))) == (other_id == id));
    known.emplace_back(sorted(twin(plain)), id);
  }
}

RC_GTEST_PROP(AnnotationTable, TheEmptyAnnotationIsNeutralAndMergingIsIdempotent, ()) {
  AnnotationTable table;
  const auto id = arbitrary_entry(table);
  RC_ASSERT(table.merge(AnnotationId::none, id) == id);
  RC_ASSERT(table.merge(id, AnnotationId::none) == id);
  RC_ASSERT(table.merge(id, id) == id);
}

// Objects always merge associatively. Paths do where no path begins with another, as with names that all differ.
RC_GTEST_PROP(AnnotationTable, MergingIsAssociative, ()) {
  AnnotationTable table;
  const auto entry = [&table](const std::string& prefix) {
    Path path = *rc::gen::container<Path>(arbitrary_text());
    for (std::string& name : path) name = prefix + name;
    return *table.intern(*arbitrary_object(), path);
  };
  const auto a = entry("1"), b = entry("2"), c = entry("3");
  RC_ASSERT(table.merge(table.merge(a, b), c) == table.merge(a, table.merge(b, c)));
}

RC_GTEST_PROP(RegionComponents, JoinedAgainTheyAreTheFullName, ()) {
  Annotation annotation;
  annotation.path = *rc::gen::container<Path>(rc::gen::element<std::string>("a", "a.b", "a.b.c", "b", "b.c", "layers.0"));
  std::string full;
  for (const std::string& entry : annotation.path) {
    if (full.empty()) {
      full = entry;
    } else if (entry.rfind(full + ".", 0) == 0) {
      full = entry;
    } else {
      full += "." + entry;
    }
  }
  std::string joined;
  for (const std::string& component : region_components(annotation)) {
    RC_ASSERT(component.find('.') == std::string::npos);
    joined += (joined.empty() ? "" : ".") + component;
  }
  RC_ASSERT(joined == full);
}

}  // namespace
}  // namespace graphtag
