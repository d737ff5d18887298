#include "join/args_names.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/object_filler.h"
#include "join/profiler_keys.h"
#include "join/tokens.h"

namespace graphtag {
namespace {

constexpr std::size_t kCachedBytes = std::size_t{8} << 20;
constexpr std::string_view kPath = "graphtag.path";

bool is_name(std::string_view key) {
  return key == "name" || key == "str" || key == kPath;
}

bool is_path(const Json& value) {
  return value.is_array() && std::all_of(value.begin(), value.end(), [](const Json& part) { return part.is_string(); });
}

}  // namespace

ArgsNames::ArgsNames(std::optional<EarlierRun> earlier, AnnotationTable& table) : earlier_(std::move(earlier)), table_(table) {
  if (!earlier_) return;
  for (const std::string& key : earlier_->keys) order_.try_emplace(key, order_.size());
  forms_ = KeyForms(KeySet(earlier_->keys.begin(), earlier_->keys.end()));
}

std::size_t ArgsNames::TextHash::operator()(std::string_view text) const {
  return boost::hash<std::string_view>()(text);
}

void ArgsNames::pick_listed(const MemberShape& shape, ShapeFacts& facts) const {
  for (std::uint32_t i = 0; i < shape.keys.size(); ++i) {
    const std::string& written = shape.keys[i];
    if (shape.index_of(written) != static_cast<int>(i)) continue;  // comes again
    const auto key = key_written_as(shape, written, forms_);
    if (!key || (written == *key && is_reserved_key(shape.kind, *key))) continue;
    facts.picked.emplace_back(i, *key);
    facts.named = facts.named || is_name(*key);
  }
  std::sort(facts.picked.begin(), facts.picked.end(),
            [this](const auto& a, const auto& b) { return order_.at(a.second) < order_.at(b.second); });
}

void ArgsNames::pick_others(const MemberShape& shape, ShapeFacts& facts) {
  for (std::uint32_t i = 0; i < shape.keys.size(); ++i) {
    const std::string& key = shape.keys[i];
    if (is_reserved_key(shape.kind, key)) continue;
    facts.named = facts.named || is_name(key);
    facts.picked.emplace_back(i, key);
  }
  if (!facts.named) facts.picked.clear();
}

void ArgsNames::look_at(const Event& event) {
  event_ = &event;
  const MemberShape& shape = shapes_.of(event);
  if (seen_ != nullptr && shape.id == shape_id_) return;
  if (facts_.size() >= std::size_t{1} << 14) facts_.clear();
  const auto [found, added] = facts_.try_emplace(shape.id);
  shape_id_ = shape.id;
  ShapeFacts& facts = found->second;
  seen_ = &facts;
  if (!added) return;
  facts.original_stream = shape.index_of(kOriginalStream);
  if (earlier_) {
    pick_listed(shape, facts);
  } else {
    pick_others(shape, facts);
  }
  const bool may_ask_for_lane = earlier_ ? order_.contains("stream") : !facts.picked.empty();
  if (const int member = shape.index_of(kAnnotatedStream); member >= 0 && may_ask_for_lane) {
    facts.picked.emplace_back(static_cast<std::uint32_t>(member), "stream");
  }
}

AnnotationId ArgsNames::intern() {
  Json object = Json::object();
  ObjectFiller filler(object);
  for (const auto& [member, key] : seen_->picked) {
    const std::string_view text = event_->text(event_->members[member].value);
    // A number beyond 64 bits is no JSON value of ours: it stays as its text.
    Result<Json> value = parse_json(text);
    filler.set(key, value ? *std::move(value) : Json(text));
  }
  if (const auto old_name = object.find("str"); old_name != object.end() && old_name->is_string() && !object.contains("name")) {
    object["name"] = *old_name;
    object.erase("str");
  }
  if (const auto path = object.find(kPath); path != object.end() && !is_path(*path)) object.erase(std::string(kPath));
  const Result<AnnotationId> id = table_.intern(std::move(object));
  return id ? *id : AnnotationId::none;  // nested too deep to be one
}

AnnotationId ArgsNames::annotation() {
  if (seen_->picked.empty() || (event_->graph_id == 0 && !(earlier_ && seen_->named))) return AnnotationId::none;
  key_.assign(reinterpret_cast<const char*>(&shape_id_), sizeof(shape_id_));
  for (const auto& picked : seen_->picked) {
    key_ += event_->text(event_->members[picked.first].value);
    key_ += '\0';
  }
  if (const auto found = interned_.find(std::string_view(key_)); found != interned_.end()) return found->second;
  const AnnotationId id = intern();
  if (cached_bytes_ >= kCachedBytes) {
    interned_.clear();
    cached_bytes_ = 0;
  }
  cached_bytes_ += key_.size() + sizeof(std::string);
  interned_.emplace(key_, id);
  return id;
}

std::optional<std::int64_t> ArgsNames::stream() const {
  if (const int member = seen_->original_stream; member >= 0) {
    if (const auto stream = integer_of(event_->text(event_->members[static_cast<std::size_t>(member)].value))) return stream;
  }
  return event_->stream ? event_->stream : integer_of(event_->text(event_->tid));
}

}  // namespace graphtag
