#include "write/chrome_args.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "join/earlier_run.h"
#include "join/profiler_keys.h"
#include "join/tokens.h"
#include "join/written_key.h"

namespace graphtag {
namespace {

constexpr std::size_t kCachedBytes = std::size_t{8} << 20;

void add_member(std::string& text, std::string_view key, std::string_view value) {
  text += ',';
  text += dump_json(Json(key));
  text += ':';
  text += value;
}

}  // namespace

ChromeArgs::ChromeArgs(const AnnotatedTrace& trace) : annotations_(*trace.annotations), lanes_(trace.lanes) {
  forms_ = KeyForms(KeySet(annotations_.keys().begin(), annotations_.keys().end()));
  const std::optional<EarlierRun> earlier = earlier_run(*trace.info);
  if (!earlier) return;
  replaces_values_ = !earlier->same_inputs(annotations_.inputs());
  replaces_wish_ = replaces_values_ || (lanes_ == Lanes::all && earlier->lanes == Lanes::none);
  KeySet keys(earlier->keys.begin(), earlier->keys.end());
  earlier_wish_is_alone_ = keys.emplace(kAnnotatedStream).second;
  earlier_forms_ = KeyForms(keys);
}

const std::vector<ChromeArgs::Item>& ChromeArgs::items_of(AnnotationId id) {
  const auto [found, added] = items_.try_emplace(id);
  std::vector<Item>& items = found->second;
  if (!added || id == AnnotationId::none) return items;
  const Annotation& annotation = annotations_.annotations()[id];
  const auto add = [&items](std::string key, const Json& value, bool is_wish) {
    items.push_back({std::move(key), dump_json(value), canonical_json(value), is_wish});
  };
  for (const auto& entry : annotation.object->items()) {
    if (entry.key() == "stream" && annotation.stream) continue;
    add(entry.key(), entry.value(), false);
  }
  const std::vector<std::string>& path = annotation.path;
  if (path.size() > 1 || (path.size() == 1 && path[0] != annotation.name)) add("graphtag.path", Json(path), false);
  if (annotation.stream && lanes_ == Lanes::none) add(std::string(kAnnotatedStream), Json(*annotation.stream), true);
  for (const Item& item : items) cached_bytes_ += sizeof(Item) + item.key.size() + 2 * item.value.size();
  return items;
}

bool ChromeArgs::is_replaced(const MemberShape& shape, const std::string& written) const {
  if (written == kAnnotatedStream && !earlier_wish_is_alone_) return replaces_wish_;
  const auto key = key_written_as(shape, written, earlier_forms_);
  if (key == kAnnotatedStream && earlier_wish_is_alone_) return replaces_wish_;
  return replaces_values_ && key && (written != *key || !is_reserved_key(shape.kind, written));
}

const ChromeArgs::ShapeFacts& ChromeArgs::facts_of(const MemberShape& shape) {
  const auto [found, added] = facts_.try_emplace(shape.id);
  ShapeFacts& facts = found->second;
  if (!added) return facts;
  facts.stream = shape.index_of("stream");
  facts.original_stream = shape.index_of(kOriginalStream);
  for (std::uint32_t i = 0; i < shape.keys.size() && replaces_wish_; ++i) {
    if (is_replaced(shape, shape.keys[i])) facts.replaced.push_back(i);
  }
  cached_bytes_ += sizeof(ShapeFacts) + facts.replaced.size() * sizeof(std::uint32_t);
  return facts;
}

const ChromeArgs::Plan& ChromeArgs::plan_of(AnnotationId id, const MemberShape& shape, const ShapeFacts& facts) {
  const auto [found, added] = plans_.try_emplace(static_cast<std::uint64_t>(id) << 32 | shape.id);
  Plan& plan = found->second;
  if (!added) return plan;
  const std::vector<Item>& items = items_of(id);
  const auto stays = [&](const std::string& key) {
    const int member = shape.index_of(key);
    return member >= 0 && !facts.replaces(member) ? member : -1;
  };
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Item& item = items[i];
    std::string key = item.key;
    // Where its longer forms are an annotation's own, the wish has none.
    if (item.is_wish && forms_.owner(key)) {
      if (stays(key) < 0) add_member(plan.text, key, item.value);
      continue;
    }
    if (!item.is_wish && is_reserved_key(shape.kind, key)) key = forms_.next(item.key, key);
    // A reader takes the longest of its forms that are there.
    std::string longer = forms_.next(item.key, key);
    for (; stays(longer) >= 0; longer = forms_.next(item.key, key)) key = std::move(longer);
    if (const int member = stays(key); member < 0) {
      add_member(plan.text, key, item.value);
    } else {
      plan.contested.push_back({i, static_cast<std::size_t>(member), std::move(longer)});
    }
  }
  cached_bytes_ += sizeof(Plan) + plan.text.size();
  for (const Contested& contested : plan.contested) cached_bytes_ += sizeof(Contested) + contested.longer.size();
  return plan;
}

// An item whose key the event has: an equal value stays as it is, others go in under a longer key.
void ChromeArgs::add_contested(const Event& event, const std::vector<Item>& items, const Plan& plan) {
  for (const Contested& contested : plan.contested) {
    const Item& item = items[contested.item];
    const std::string_view text = event.text(event.members[contested.member].value);
    if (text == item.value) continue;
    const Result<Json> value = parse_json(text);
    if (!value || canonical_json(*value) != item.canonical) add_member(added_, contested.longer, item.value);
  }
}

void ChromeArgs::move_thread(const NamedEvent& named) {
  lane_ = std::to_string(*named.lane);
  const TextSpan tid = named.event.tid;
  if (!tid.empty()) {
    edits_.push_back({tid.begin, tid.end, lane_});
    return;
  }
  thread_ = ",\"tid\":" + lane_;
  const auto end = static_cast<std::uint32_t>(named.event.json.size() - 1);
  edits_.push_back({end, end, thread_});
}

void ChromeArgs::move_stream(const NamedEvent& named, const ShapeFacts& facts) {
  const Event& event = named.event;
  const auto value_of = [&event](int member) { return event.members[static_cast<std::size_t>(member)].value; };
  if (facts.original_stream >= 0) {
    // Moved before: what it says is still so, unless this brings the event home.
    if (integer_of(event.text(value_of(facts.original_stream))) == named.lane) {
      drops_.push_back(static_cast<std::uint32_t>(facts.original_stream));
    }
  } else if (event.stream) {
    if (event.stream != named.lane) add_member(added_, kOriginalStream, std::to_string(*event.stream));
  } else if (!event.tid.empty()) {
    add_member(added_, kOriginalStream, event.text(event.tid));
  }
  if (facts.stream < 0) {
    add_member(added_, "stream", lane_);
  } else {
    edits_.push_back({value_of(facts.stream).begin, value_of(facts.stream).end, lane_});
  }
}

// `text` has a comma before each member.
void ChromeArgs::add_to_args(const Event& event, std::string_view text) {
  if (text.empty()) return;
  if (!event.has_args) {
    args_ = ",\"args\":{" + std::string(text.substr(1)) + '}';
    const auto end = static_cast<std::uint32_t>(event.json.size() - 1);
    edits_.push_back({end, end, args_});
    return;
  }
  if (event.members.size() > drops_.size()) {
    const std::uint32_t end = event.members.back().value.end;
    edits_.push_back({end, end, text});
    return;
  }
  const std::uint32_t end = event.members.empty() ? event.args.begin + 1 : event.members.back().value.end;
  edits_.push_back({end, end, text.substr(1)});
}

// Takes each member out with the comma before it; where no member stays before it, with the comma behind it.
void ChromeArgs::drop_members(const Event& event) {
  std::sort(drops_.begin(), drops_.end());
  const auto members = static_cast<std::uint32_t>(event.members.size());
  std::uint32_t leading = 0;
  while (leading < drops_.size() && drops_[leading] == leading) ++leading;
  if (leading > 0) {
    const std::uint32_t end = leading < members ? event.members[leading].key.begin - 1 : event.members[leading - 1].value.end;
    edits_.push_back({event.args.begin + 1, end, {}});
  }
  for (std::size_t i = leading; i < drops_.size(); ++i) {
    edits_.push_back({event.members[drops_[i] - 1].value.end, event.members[drops_[i]].value.end, {}});
  }
}

void ChromeArgs::forget_if_large() {
  if (cached_bytes_ < kCachedBytes) return;
  items_.clear();
  facts_.clear();
  plans_.clear();
  cached_bytes_ = 0;
}

std::span<const TextEdit> ChromeArgs::edits_for(const NamedEvent& named) {
  const Event& event = named.event;
  edits_.clear();
  const bool annotated = is_gpu_operation(event.kind) && (event.graph_id != 0 || named.annotation != AnnotationId::none);
  if (!annotated) {
    if (named.lane) move_thread(named);
    return edits_;
  }
  if (named.annotation == AnnotationId::none && !named.lane && !replaces_wish_) return edits_;

  forget_if_large();
  added_.clear();
  drops_.clear();
  const MemberShape& shape = shapes_.of(event);
  const ShapeFacts& facts = facts_of(shape);
  drops_.assign(facts.replaced.begin(), facts.replaced.end());
  const Plan& plan = plan_of(named.annotation, shape, facts);
  if (!plan.contested.empty()) add_contested(event, items_of(named.annotation), plan);
  if (named.lane) {
    move_thread(named);
    move_stream(named, facts);
  }
  if (!drops_.empty()) drop_members(event);
  if (added_.empty()) {
    add_to_args(event, plan.text);
  } else {
    added_.insert(0, plan.text);
    add_to_args(event, added_);
  }
  std::stable_sort(edits_.begin(), edits_.end(), [](const TextEdit& a, const TextEdit& b) { return a.begin < b.begin; });
  return edits_;
}

}  // namespace graphtag
