#include "base/object_filler.h"

#include <nlohmann/json.hpp>
#include <utility>

namespace graphtag {

Json& ObjectFiller::set(const std::string& key, Json value) {
  constexpr std::size_t kFew = 32;
  auto& members = object_->get_ref<Json::object_t&>();
  if (members.size() < kFew) return members[key] = std::move(value);
  if (places_.empty()) {
    for (std::size_t i = 0; i < members.size(); ++i) places_.emplace(members.data()[i].first, i);
  }
  const auto [found, is_new] = places_.try_emplace(key, members.size());
  if (is_new) return members.emplace_back(key, std::move(value)).second;
  return members.data()[found->second].second = std::move(value);
}

}  // namespace graphtag
