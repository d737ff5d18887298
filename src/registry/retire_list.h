// Tables of destroyed graphs and exec graphs, oldest first. Not for several threads at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "model/ids.h"

namespace graphtag {

class RetireList {
 public:
  struct Entry {
    GraphId id;
    bool is_exec = false;
    std::size_t bytes = 0;
  };

  void push(const Entry& entry) {
    entries_.push_back(entry);
    bytes_ += entry.bytes;
  }
  // Takes the oldest entry out, if all of them together have more than `limit_bytes`.
  std::optional<Entry> pop_beyond(std::size_t limit_bytes) {
    if (bytes_ <= limit_bytes || entries_.empty()) return std::nullopt;
    const Entry oldest = entries_.front();
    entries_.pop_front();
    bytes_ -= oldest.bytes;
    return oldest;
  }
  void erase(GraphId id) {
    for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
      if (entry->id != id) continue;
      bytes_ -= entry->bytes;
      entries_.erase(entry);
      return;
    }
  }
  void clear() {
    entries_.clear();
    bytes_ = 0;
  }
  std::size_t bytes() const { return bytes_; }

 private:
  std::deque<Entry> entries_;
  std::size_t bytes_ = 0;
};

}  // namespace graphtag
