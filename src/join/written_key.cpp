#include "join/written_key.h"

#include <algorithm>

namespace graphtag {
namespace {

struct Split {
  std::string_view base;
  std::size_t prefixes = 0;
};

Split split(std::string_view key) {
  Split parts{key, 0};
  for (; parts.base.starts_with(kKeyPrefix); ++parts.prefixes) parts.base.remove_prefix(kKeyPrefix.size());
  return parts;
}

std::string joined(std::string_view base, std::size_t prefixes) {
  std::string key;
  key.reserve(prefixes * kKeyPrefix.size() + base.size());
  for (std::size_t i = 0; i < prefixes; ++i) key += kKeyPrefix;
  return key.append(base);
}

}  // namespace

KeyForms::KeyForms(const KeySet& keys) {
  for (const std::string& key : keys) {
    const Split parts = split(key);
    levels_[std::string(parts.base)].push_back({parts.prefixes, 0});
  }
  for (auto& [base, levels] : levels_) {
    std::sort(levels.begin(), levels.end(), [](const Level& a, const Level& b) { return a.prefixes < b.prefixes; });
    for (std::size_t i = 1; i < levels.size(); ++i) {
      const std::size_t between = levels[i].prefixes - levels[i - 1].prefixes - 1;
      levels[i].turn = (levels[i - 1].turn + between) % i;
    }
  }
}

const std::vector<KeyForms::Level>* KeyForms::levels_of(std::string_view base) const {
  const auto found = levels_.find(std::string(base));
  return found == levels_.end() ? nullptr : &found->second;
}

std::string KeyForms::next(std::string_view key, std::string_view form) const {
  const Split of_key = split(key);
  std::size_t wanted = split(form).prefixes + 1;
  const std::vector<Level>* levels = levels_of(of_key.base);
  if (levels == nullptr) return joined(of_key.base, wanted);
  const auto own =
      std::find_if(levels->begin(), levels->end(), [&](const Level& level) { return level.prefixes == of_key.prefixes; });
  for (std::size_t i = 0; i < levels->size(); ++i) {
    const Level& level = (*levels)[i];
    const bool is_last = i + 1 == levels->size();
    if (!is_last && (*levels)[i + 1].prefixes <= wanted) continue;
    if (level.prefixes > wanted) break;  // below the first key
    wanted = std::max(wanted, level.prefixes + 1);
    if (own != levels->end()) {
      const std::size_t count = i + 1;
      const std::size_t turn = (level.turn + wanted - level.prefixes - 1) % count;
      const auto mine = static_cast<std::size_t>(own - levels->begin());
      wanted += (mine + count - turn) % count;
    }
    if (is_last || wanted < (*levels)[i + 1].prefixes) break;
    wanted = (*levels)[i + 1].prefixes + 1;
  }
  return joined(of_key.base, wanted);
}

std::optional<std::string> KeyForms::owner(std::string_view form) const {
  const Split parts = split(form);
  const std::vector<Level>* levels = levels_of(parts.base);
  if (levels == nullptr) return {};
  const auto after = std::upper_bound(levels->begin(), levels->end(), parts.prefixes,
                                      [](std::size_t prefixes, const Level& level) { return prefixes < level.prefixes; });
  if (after == levels->begin()) return {};
  const Level& level = *std::prev(after);
  if (level.prefixes == parts.prefixes) return std::string(form);
  const auto count = static_cast<std::size_t>(after - levels->begin());
  return joined(parts.base, (*levels)[(level.turn + parts.prefixes - level.prefixes - 1) % count].prefixes);
}

std::string written_key(const MemberShape& shape, const std::string& key, const KeyForms& forms) {
  std::string written = key;
  for (std::string longer = forms.next(key, key); shape.index_of(longer) >= 0; longer = forms.next(key, written)) {
    written = longer;
  }
  return written;
}

std::optional<std::string> key_written_as(const MemberShape& shape, const std::string& written, const KeyForms& forms) {
  std::optional<std::string> key = forms.owner(written);
  if (key && written_key(shape, *key, forms) != written) key.reset();
  return key;
}

}  // namespace graphtag
