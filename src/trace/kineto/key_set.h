// Tells keys that one object has twice.
#pragma once

#include <array>
#include <boost/unordered/unordered_flat_set.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "trace/event.h"

namespace graphtag::kineto {

// Keys are views into text that outlives the set's use. A stamp for each hash says "seen in this object", so that emptying
// costs nothing.
class KeySet {
 public:
  void clear() {
    keys_.clear();
    if (!many_.empty()) many_.clear();
    if (!unescaped_.empty()) unescaped_.clear();
    if (++round_ == 0) {
      stamps_.fill(0);
      round_ = 1;
    }
  }
  // False if the object has this key already. `escaped`: it has a backslash; keys are compared by what they mean.
  bool insert(std::string_view key, bool escaped) {
    if (escaped) {
      std::string& storage = unescaped_.emplace_back();
      unescape(key, storage);
      key = storage;
    }
    if (keys_.size() == kFew) return insert_into_many(key);
    const std::uint64_t mixed = hash(key);
    std::uint32_t& stamp = stamps_[mixed >> (64 - kBits)];
    if (stamp == round_) {
      for (const Key& other : keys_) {
        if (other.hash == mixed && other.text == key) return false;
      }
    }
    stamp = round_;
    keys_.push_back({mixed, key});
    return true;
  }

 private:
  static constexpr unsigned kBits = 10;
  static constexpr std::size_t kFew = 64;  // going over more would take too long
  struct Key {
    std::uint64_t hash;
    std::string_view text;
  };

  bool insert_into_many(std::string_view key) {
    if (many_.empty()) {
      for (const Key& few : keys_) many_.insert(few.text);
    }
    return many_.insert(key).second;
  }
  static std::uint64_t hash(std::string_view key) {
    std::uint64_t mixed = key.size();
    if (key.size() >= 8) {
      mixed ^= load<std::uint64_t>(key.data()) * 31 + load<std::uint64_t>(key.data() + key.size() - 8);
    } else if (key.size() >= 4) {
      mixed ^= std::uint64_t{load<std::uint32_t>(key.data())} << 32 | load<std::uint32_t>(key.data() + key.size() - 4);
    } else {
      for (const char c : key) mixed = mixed << 8 | static_cast<unsigned char>(c);
    }
    return mixed * 0x9E3779B97F4A7C15ULL;
  }
  template <typename T>
  static T load(const char* bytes) {
    T value;
    std::memcpy(&value, bytes, sizeof value);
    return value;
  }

  std::array<std::uint32_t, std::size_t{1} << kBits> stamps_{};  // hash -> the round in which it was last seen
  std::uint32_t round_ = 0;
  std::vector<Key> keys_;                             // the first kFew
  boost::unordered_flat_set<std::string_view> many_;  // all, once there are more
  std::deque<std::string> unescaped_;                 // a deque, so that views stay valid
};

}  // namespace graphtag::kineto
