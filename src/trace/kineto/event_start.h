// Where the next event begins, when one could not be read: told by how the file's events begin, `{ "ph":`.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace graphtag::kineto {

class EventStart {
 public:
  // Bytes that may have to be seen from a `{` on (and behind it) to tell.
  static constexpr std::size_t kLookahead = 1024;
  static constexpr std::size_t kLookbehind = 64;

  EventStart() : keys_{"ph"} {}

  // Remembers the first key of an event that was read.
  void learn(std::string_view first_key) {
    if (first_key == keys_.back()) return;
    learn_new(first_key);
  }

  // Whether an event seems to begin at `text[i]`, by what follows.
  bool at(std::string_view text, std::size_t i) const;

  // The first position at or behind `from` at which an event seems to begin; text.size() if there is none. Nothing before `behind` is looked at.
  std::size_t find(std::string_view text, std::size_t from, std::size_t behind) const;

 private:
  void learn_new(std::string_view first_key);

  std::vector<std::string> keys_;  // the newest last
};

}  // namespace graphtag::kineto
