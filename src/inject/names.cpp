#include "inject/names.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <functional>
#include <new>

namespace graphtag::inject {
namespace {

std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
  return spread(hash ^ word);
}

std::uint64_t hash_of(const LabelKey& key) {
  std::uint64_t hash = std::hash<std::string_view>{}(key.text);
  hash = mix(hash, std::uint64_t{key.domain->id} << 32 | key.category);
  hash = mix(hash, reinterpret_cast<std::uintptr_t>(key.category_name) << 2 | (key.says_no_category ? 2 : 0) |
                       (key.says_default ? 1 : 0));
  if (key.payload.type != nvtx::PayloadType::none) {
    hash = mix(hash, key.payload.bits + static_cast<std::uint64_t>(key.payload.type));
  }
  return hash;
}

bool is_same(const LabelKey& a, const LabelKey& b) {
  return a.domain == b.domain && a.category_name == b.category_name && a.category == b.category &&
         a.says_default == b.says_default && a.says_no_category == b.says_no_category && a.payload == b.payload &&
         a.text == b.text;
}

void append_payload(std::string& json, const Payload& payload) {
  switch (payload.type) {
    case nvtx::PayloadType::u64:
      json += std::to_string(payload.bits);
      break;
    case nvtx::PayloadType::i64:
      json += std::to_string(static_cast<std::int64_t>(payload.bits));
      break;
    default: {
      double number = 0;
      std::memcpy(&number, &payload.bits, sizeof number);
      append_json_number(json, number);
    }
  }
}

std::string annotation_json(const LabelKey& key, std::string_view text) {
  std::string json;
  const auto put_key = [&](const char* name) {
    json += json.empty() ? "{\"" : ",\"";
    json += name;
    json += "\":";
  };
  if (!text.empty()) {
    put_key("name");
    append_json_string(json, text);
  }
  if (key.domain->id != 0 || key.says_default) {
    put_key("nvtx_domain");
    append_json_string(json, key.domain->id != 0 ? std::string_view(key.domain->name) : std::string_view("default"));
  }
  if (key.category_name != nullptr) {
    put_key("nvtx_category");
    append_json_string(json, *key.category_name);
  } else if (key.category != 0 || key.says_no_category) {
    put_key("nvtx_category");
    json += std::to_string(key.category);
  }
  if (key.payload.type != nvtx::PayloadType::none) {
    put_key("nvtx_payload");
    append_payload(json, key.payload);
  }
  if (!json.empty()) json += '}';
  return json;
}

Payload read_payload(const nvtx::EventAttributes& given) {
  const auto of_double = [](double number) {
    Payload payload{nvtx::PayloadType::f64, 0};
    std::memcpy(&payload.bits, &number, sizeof number);
    return payload;
  };
  const auto of_signed = [](std::int64_t number) { return Payload{nvtx::PayloadType::i64, static_cast<std::uint64_t>(number)}; };
  switch (given.payload_type) {
    case nvtx::PayloadType::u64:
      return {nvtx::PayloadType::u64, given.payload.u64};
    case nvtx::PayloadType::i64:
      return of_signed(given.payload.i64);
    case nvtx::PayloadType::f64:
      return of_double(given.payload.f64);
    case nvtx::PayloadType::u32:
      return {nvtx::PayloadType::u64, given.payload.u32};
    case nvtx::PayloadType::i32:
      return of_signed(given.payload.i32);
    case nvtx::PayloadType::f32:
      return of_double(static_cast<double>(given.payload.f32));
    default:  // none, or one of an NVTX to come
      return {};
  }
}

}  // namespace

Attributes read_attributes(const nvtx::EventAttributes* given) {
  Attributes attributes;
  if (given == nullptr) return attributes;
  nvtx::EventAttributes whole{};
  std::memcpy(&whole, given, std::min<std::size_t>(given->size, sizeof whole));
  attributes.category = whole.category;
  attributes.payload = read_payload(whole);
  switch (whole.message_type) {
    case nvtx::MessageType::ascii:
      attributes.text = bounded_view(whole.message.ascii);
      break;
    case nvtx::MessageType::wide:
      attributes.wide = whole.message.wide;
      break;
    case nvtx::MessageType::registered:
      if (whole.message.registered != nullptr)
        attributes.text = static_cast<const RegisteredString*>(whole.message.registered)->utf8;
      break;
    default:
      break;
  }
  return attributes;
}

Names::Names(std::optional<std::vector<std::string>> wanted_domains) : wanted_domains_(std::move(wanted_domains)) {
  default_domain_.is_wanted = is_wanted("default");
}

bool Names::is_wanted(std::string_view domain) const {
  return !wanted_domains_ || std::find(wanted_domains_->begin(), wanted_domains_->end(), domain) != wanted_domains_->end();
}

void Names::count(const Text& text) {
  if (text.mended) counts_.texts_mended.fetch_add(1, std::memory_order_relaxed);
  if (text.cut) counts_.texts_cut.fetch_add(1, std::memory_order_relaxed);
}

Domain& Names::create_domain(const Text& name) {
  const std::lock_guard lock(mutex_);
  const auto known = domains_.find(name.utf8);
  if (known != domains_.end()) return *known->second;
  if (domains_.size() >= kDomainsMax) {
    counts_.others_refused.fetch_add(1, std::memory_order_relaxed);
    return default_domain_;
  }
  count(name);
  auto domain = std::make_unique<Domain>();
  domain->id = static_cast<std::uint32_t>(domains_.size() + 1);
  domain->name = name.utf8;
  domain->is_wanted = is_wanted(name.utf8);
  return *(domains_[name.utf8] = std::move(domain));
}

void Names::destroyed_behind(Domain& domain) {
  const std::lock_guard lock(mutex_);
  domain.other.store(nullptr);
  for (auto& [key, string] : strings_) {
    if (key.first == domain.id) string.other.store(nullptr);
  }
}

void Names::name_category(const Domain& domain, std::uint32_t category, const Text& name) {
  const std::lock_guard lock(mutex_);
  const std::string*& named = categories_[{domain.id, category}];
  if (named != nullptr && *named == name.utf8) return;
  // A name that changes is another label, so old ones stay.
  if (category_names_.size() >= kCategoriesMax) {
    if (named == nullptr) categories_.erase({domain.id, category});
    counts_.others_refused.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  count(name);
  category_names_.push_back(name.utf8);
  named = &category_names_.back();
}

RegisteredString& Names::register_string(const Domain& domain, const Text& text) {
  const std::lock_guard lock(mutex_);
  const auto known = strings_.find({domain.id, text.utf8});
  if (known != strings_.end()) return known->second;
  std::string kept = text.utf8;
  std::uint32_t id = domain.id;
  if (strings_.size() >= kStringsMax) {
    counts_.others_refused.fetch_add(1, std::memory_order_relaxed);
    kept = "(more than 65536 registered strings)";
    id = 0;
  } else {
    count(text);
  }
  RegisteredString& string = strings_[{id, kept}];
  string.utf8 = kept;
  return string;
}

const std::string* Names::category_name(const Domain& domain, std::uint32_t category) {
  if (category == 0) return nullptr;
  const std::lock_guard lock(mutex_);
  const auto known = categories_.find({domain.id, category});
  return known == categories_.end() ? nullptr : known->second;
}

std::unique_ptr<Label> Names::make_label(const LabelKey& key, Text&& text) {
  auto label = std::make_unique<Label>();
  label->key = key;
  label->given = std::string(key.text);
  label->key.text = label->given;
  label->text = std::move(text.utf8);
  return label;
}

Label* Names::find_or_add(const LabelKey& key, const wchar_t* wide) {
  const std::uint64_t hash = hash_of(key);
  const auto is_it = [&](const Label& label) { return is_same(label.key, key); };
  if (Label* known = labels_.find(hash, is_it)) return known;

  const std::lock_guard lock(mutex_);
  if (Label* known = labels_.find(hash, is_it)) return known;
  const bool has_payload = key.payload.type != nvtx::PayloadType::none;
  if (label_bytes_ > kLabelBytesMax || (has_payload && labels_with_payload_ >= kLabelsWithPayloadMax)) return nullptr;
  Text text = wide != nullptr ? text_of(wide) : text_of(key.text);
  count(text);
  auto label = make_label(key, std::move(text));
  label->json = annotation_json(key, label->text);
  const std::size_t bytes = sizeof(Label) + label->given.size() + label->text.size() + label->json.size();
  Label* added = labels_.add(hash, std::move(label));
  if (added == nullptr) return nullptr;
  label_bytes_ += bytes;
  if (has_payload) ++labels_with_payload_;
  return added;
}

Label* Names::label(const Domain& domain, const Attributes& attributes, Within within) {
  LabelKey key;
  key.domain = &domain;
  key.category = attributes.category;
  key.category_name = category_name(domain, attributes.category);
  key.says_default = domain.id == 0 && within.other_domain;
  key.says_no_category = attributes.category == 0 && within.others_category;
  key.payload = attributes.payload;
  key.text = attributes.text;
  std::string of_wide;
  if (attributes.wide != nullptr) {
    of_wide = text_of(attributes.wide).utf8;
    key.text = of_wide;
  }
  if (Label* found = find_or_add(key, attributes.wide)) return found;
  if (key.payload.type != nvtx::PayloadType::none) {
    key.payload = {};
    if (Label* found = find_or_add(key, attributes.wide)) {
      counts_.payloads_left_out.fetch_add(1, std::memory_order_relaxed);
      return found;
    }
  }
  counts_.labels_refused.fetch_add(1, std::memory_order_relaxed);
  return nullptr;
}

std::unique_ptr<Label> Names::passing_label(const Domain& domain, const Attributes& attributes) {
  LabelKey key;
  key.domain = &domain;
  key.category = attributes.category;
  key.category_name = category_name(domain, attributes.category);
  key.payload = attributes.payload;
  return make_label(key, attributes.wide != nullptr ? text_of(attributes.wide) : text_of(attributes.text));
}

void Names::start_anew() noexcept {
  labels_.for_each([](Label& label) { label.annotation.store(0, std::memory_order_relaxed); });
}

}  // namespace graphtag::inject
