#include "model/annotation.h"

#include <boost/unordered/unordered_flat_map.hpp>
#include <cmath>
#include <deque>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/object_filler.h"
#include "model/ids.h"

namespace graphtag {
namespace {

constexpr const char* kPathKey = "graphtag.path";
constexpr int kNestingLimit = 64;

bool is_path(const Json& value) {
  if (!value.is_array()) return false;
  for (const Json& entry : value) {
    if (!entry.is_string()) return false;
  }
  return true;
}

// False beyond the nesting limit. Makes non-finite numbers null.
bool clean(Json& value, int nesting) {
  if (value.is_number_float() && !std::isfinite(value.get<double>())) value = nullptr;
  if (!value.is_structured()) return true;
  if (nesting == kNestingLimit) return false;
  for (Json& item : value) {
    if (!clean(item, nesting + 1)) return false;
  }
  return true;
}

std::optional<std::int64_t> integer(const Json& value) {
  if (!value.is_number_integer()) return {};
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX) return {};
  return value.get<std::int64_t>();
}

Annotation make_annotation(Json object, std::vector<std::string> path) {
  Annotation annotation;
  if (const auto name = object.find("name"); name != object.end() && name->is_string())
    annotation.name = name->get<std::string>();
  if (const auto stream = object.find("stream"); stream != object.end()) annotation.stream = integer(*stream);
  if (const auto phase = object.find("autograd_phase"); phase != object.end()) annotation.backward = *phase == "backward";
  annotation.path = std::move(path);
  annotation.object = std::make_unique<const Json>(std::move(object));
  return annotation;
}

// What the object says its path is, or the path that its name makes.
std::vector<std::string> own_path(const Json& object) {
  if (!object.is_object()) return {};
  if (const auto own = object.find(kPathKey); own != object.end()) {
    if (is_path(*own)) return own->get<std::vector<std::string>>();
  } else if (const auto name = object.find("name"); name != object.end() && name->is_string()) {
    if (auto text = name->get<std::string>(); !text.empty()) return {std::move(text)};
  }
  return {};
}

// Makes `object` what an entry holds.
Result<void> prepare(Json& object) {
  if (!object.is_object()) {
    return Error{ErrorCode::malformed, "an annotation must be a JSON object, this is " + std::string(object.type_name()), {}, {}};
  }
  if (const auto own = object.find(kPathKey); own != object.end()) {
    if (!is_path(*own)) {
      return Error{
          ErrorCode::malformed, "\"graphtag.path\" must be an array of strings; leave it out, graphtag makes it", {}, {}};
    }
    object.erase(own);
  }
  if (!clean(object, 0)) {
    return Error{ErrorCode::too_large, "an annotation is nested deeper than " + std::to_string(kNestingLimit), {}, {}};
  }
  return {};
}

// Both texts end themselves, so that together they are unambiguous.
std::string canonical_text(const Json& object, const std::vector<std::string>& path) {
  return canonical_json(object) + dump_json(Json(path));
}

std::uint64_t pair_of(AnnotationId outer, AnnotationId inner) {
  return std::uint64_t{static_cast<std::uint32_t>(outer)} << 32 | static_cast<std::uint32_t>(inner);
}

Json merge_objects(const Json& outer, const Json& inner) {
  Json merged = outer;
  ObjectFiller filler(merged);
  for (const auto& member : inner.items()) filler.set(member.key(), member.value());
  return merged;
}

std::vector<std::string> join_paths(const std::vector<std::string>& outer, const std::vector<std::string>& inner) {
  const bool is_contained = inner.size() >= outer.size() && std::equal(outer.begin(), outer.end(), inner.begin());
  if (is_contained) return inner;
  std::vector<std::string> path = outer;
  path.insert(path.end(), inner.begin(), inner.end());
  return path;
}

}  // namespace

Annotation::Annotation() = default;
Annotation::~Annotation() = default;
Annotation::Annotation(Annotation&&) noexcept = default;
Annotation& Annotation::operator=(Annotation&&) noexcept = default;

struct AnnotationTable::State {
  std::deque<Annotation> entries;                                 // id -> annotation; a deque, so that references stay valid
  boost::unordered_flat_map<std::string, AnnotationId> ids;       // canonical text of object and path -> id
  boost::unordered_flat_map<std::uint64_t, AnnotationId> merged;  // outer id << 32 | inner id -> id

  AnnotationId add(Json object, std::vector<std::string> path) {
    const auto [found, is_new] = ids.try_emplace(canonical_text(object, path), static_cast<AnnotationId>(entries.size()));
    if (is_new) entries.push_back(make_annotation(std::move(object), std::move(path)));
    return found->second;
  }
  std::optional<AnnotationId> find(const Json& object, const std::vector<std::string>& path) const {
    const auto found = ids.find(canonical_text(object, path));
    return found == ids.end() ? std::nullopt : std::optional(found->second);
  }
  // What needs no objects laid over each other.
  std::optional<AnnotationId> merged_before(AnnotationId outer, AnnotationId inner) const {
    if (outer == AnnotationId::none || outer == inner) return inner;
    if (inner == AnnotationId::none) return outer;
    const auto found = merged.find(pair_of(outer, inner));
    return found == merged.end() ? std::nullopt : std::optional(found->second);
  }
};

AnnotationTable::AnnotationTable() : state_(std::make_unique<State>()) {
  state_->add(Json::object(), {});
}
AnnotationTable::~AnnotationTable() = default;
AnnotationTable::AnnotationTable(AnnotationTable&&) noexcept = default;
AnnotationTable& AnnotationTable::operator=(AnnotationTable&&) noexcept = default;

Result<AnnotationId> AnnotationTable::intern(Json object) {
  std::vector<std::string> path = own_path(object);
  return intern(std::move(object), std::move(path));
}

Result<AnnotationId> AnnotationTable::intern(Json object, std::vector<std::string> path) {
  if (Result<void> ready = prepare(object); !ready) return std::move(ready).error();
  return state_->add(std::move(object), std::move(path));
}

Result<std::optional<AnnotationId>> AnnotationTable::find(Json object) const {
  const std::vector<std::string> path = own_path(object);
  if (Result<void> ready = prepare(object); !ready) return std::move(ready).error();
  return state_->find(object, path);
}

AnnotationId AnnotationTable::merge(AnnotationId outer, AnnotationId inner) {
  if (const auto known = state_->merged_before(outer, inner)) return *known;
  const Annotation& over = (*this)[outer];
  const Annotation& under = (*this)[inner];
  const AnnotationId id = state_->add(merge_objects(*over.object, *under.object), join_paths(over.path, under.path));
  state_->merged.emplace(pair_of(outer, inner), id);
  return id;
}

std::optional<AnnotationId> AnnotationTable::find_merged(AnnotationId outer, AnnotationId inner) const {
  if (const auto known = state_->merged_before(outer, inner)) return known;
  const Annotation& over = (*this)[outer];
  const Annotation& under = (*this)[inner];
  return state_->find(merge_objects(*over.object, *under.object), join_paths(over.path, under.path));
}

const Annotation& AnnotationTable::operator[](AnnotationId id) const {
  return state_->entries[static_cast<std::size_t>(id)];
}

std::size_t AnnotationTable::size() const {
  return state_->entries.size();
}

std::vector<std::string> region_components(const Annotation& annotation) {
  std::string full;
  const auto add = [&full](std::string_view text) {
    if (full.empty()) {
      full = text;
    } else if (!text.empty()) {
      const bool is_qualified = text.size() > full.size() && text.starts_with(full) && text[full.size()] == '.';
      full += is_qualified ? text.substr(full.size()) : '.' + std::string(text);
    }
  };
  for (const std::string& entry : annotation.path) add(entry);
  if (annotation.path.empty()) add(annotation.name);

  std::vector<std::string> components;
  if (full.empty()) return components;
  for (std::size_t begin = 0; begin <= full.size();) {
    const std::size_t end = std::min(full.find('.', begin), full.size());
    components.push_back(full.substr(begin, end - begin));
    begin = end + 1;
  }
  return components;
}

}  // namespace graphtag
