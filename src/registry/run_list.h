// Tags of local ids as runs: every id from 0 to end() has one.
//
//   set(0, 4, a)  set(6, 8, b)      (0, a) (4, gap) (6, b)           end 8
//   set(7, 8, a)                    (0, a) (4, gap) (6, b) (7, a)    end 8
//   set(4, 6, b)                    (0, a) (4, b) (7, a)             end 8
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "registry/tag.h"

namespace graphtag {

class RunList {
 public:
  struct Entry {
    std::uint32_t first;
    Tag tag;
    bool operator==(const Entry&) const = default;
  };

  // Makes room, so that the next set() needs no memory. Grows by doubling. May throw std::bad_alloc.
  void reserve_edit();
  // Ids in [first, end) get `tag`, whatever they had; ids between the old end() and `first` get `gap`. Call reserve_edit() before.
  void set(std::uint32_t first, std::uint32_t end, Tag tag, Tag gap) noexcept;
  // The last run goes on up to `end`, unless it does already.
  void extend(std::uint32_t end) noexcept { end_ = std::max(end_, end); }

  bool empty() const { return entries_.empty(); }
  std::uint32_t end() const { return end_; }
  Tag at(std::uint32_t id) const;  // id < end()
  std::span<const Entry> entries() const { return entries_; }
  std::size_t bytes() const { return entries_.capacity() * sizeof(Entry); }

  // Calls visit(first, end, tag) for each stretch of [first, end) of one tag, ascending, up to end().
  template <typename Visit>
  void for_each_in(std::uint32_t first, std::uint32_t end, Visit visit) const {
    end = std::min(end, end_);
    if (first >= end) return;
    for (std::size_t i = covering(first); i < entries_.size() && entries_[i].first < end; ++i) {
      const std::uint32_t run_end = i + 1 < entries_.size() ? entries_[i + 1].first : end_;
      visit(std::max(first, entries_[i].first), std::min(end, run_end), entries_[i].tag);
    }
  }

 private:
  std::size_t covering(std::uint32_t id) const;  // the index of the run that `id` lies in
  void append(std::uint32_t first, Tag tag) noexcept;

  std::vector<Entry> entries_;  // ascending by first; neighbours differ; the first begins at 0
  std::uint32_t end_ = 0;
};

}  // namespace graphtag
