#include "trace/kineto/event_start.h"

#include <algorithm>

#include "trace/kineto/scan.h"

namespace graphtag::kineto {
namespace {

constexpr std::size_t kKeysMax = 8;
constexpr std::size_t kKeyBytesMax = 64;
constexpr std::size_t kSpaceMax = 256;

std::size_t skip_some_space(std::string_view text, std::size_t i) {
  return skip_space(text.substr(0, std::min(text.size(), i + kSpaceMax)), i);
}

// An event stands behind a comma, a bracket or another event. The value of a key (`"args": {`) stands behind a colon, or, if that is what is broken,
// behind a quote.
bool may_follow(std::string_view text, std::size_t i, std::size_t behind) {
  const std::size_t stop = std::max(behind, i > EventStart::kLookbehind ? i - EventStart::kLookbehind : 0);
  while (i > stop) {
    switch (text[--i]) {
      case ',':
      case '[':
      case ']':
      case '}':
        return true;
      case ':':
      case '"':
      case '{':
        return false;
      default:
        break;
    }
  }
  return true;
}

}  // namespace

void EventStart::learn_new(std::string_view first_key) {
  if (first_key.empty() || first_key.size() > kKeyBytesMax) return;
  const auto known = std::find(keys_.begin(), keys_.end(), first_key);
  if (known != keys_.end()) {
    std::iter_swap(known, keys_.end() - 1);
  } else if (keys_.size() < kKeysMax) {
    keys_.emplace_back(first_key);
  }
}

bool EventStart::at(std::string_view text, std::size_t i) const {
  if (i >= text.size() || text[i] != '{') return false;
  i = skip_some_space(text, i + 1);
  if (i >= text.size() || text[i] != '"') return false;
  ++i;
  return std::any_of(keys_.begin(), keys_.end(), [&](const std::string& key) {
    if (text.substr(i, key.size()) != key || text.substr(i + key.size(), 1) != "\"") return false;
    const std::size_t colon = skip_some_space(text, i + key.size() + 1);
    return colon < text.size() && text[colon] == ':';
  });
}

std::size_t EventStart::find(std::string_view text, std::size_t from, std::size_t behind) const {
  for (std::size_t i = text.find('{', from); i != std::string_view::npos; i = text.find('{', i + 1)) {
    if (at(text, i) && may_follow(text, i, behind)) return i;
  }
  return text.size();
}

}  // namespace graphtag::kineto
