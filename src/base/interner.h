// Strings, each stored once, known by a small number.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

namespace graphtag {

// Ids count up from 0 in the order of first sight. Views stay valid as long as the interner lives. Not for several threads at
// once.
class Interner {
 public:
  std::uint32_t intern(std::string_view text) {
    const auto found = ids_.find(text);
    if (found != ids_.end()) return found->second;
    const auto id = static_cast<std::uint32_t>(texts_.size());
    ids_.emplace(std::string_view{texts_.emplace_back(text)}, id);
    return id;
  }
  std::string_view operator[](std::uint32_t id) const { return texts_[id]; }
  std::size_t size() const { return texts_.size(); }

 private:
  std::deque<std::string> texts_;                                   // id -> text; a deque, so that views stay valid
  boost::unordered_flat_map<std::string_view, std::uint32_t> ids_;  // text -> id
};

}  // namespace graphtag
