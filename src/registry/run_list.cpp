#include "registry/run_list.h"

#include <array>

namespace graphtag {

void RunList::reserve_edit() {
  constexpr std::size_t kMostNewRuns = 2;
  if (entries_.capacity() - entries_.size() < kMostNewRuns) {
    entries_.reserve(std::max<std::size_t>(4, 2 * entries_.capacity()));
  }
}

std::size_t RunList::covering(std::uint32_t id) const {
  const auto after = std::upper_bound(entries_.begin(), entries_.end(), id,
                                      [](std::uint32_t wanted, const Entry& entry) { return wanted < entry.first; });
  return static_cast<std::size_t>(after - entries_.begin()) - 1;
}

Tag RunList::at(std::uint32_t id) const {
  return entries_[covering(id)].tag;
}

void RunList::append(std::uint32_t first, Tag tag) noexcept {
  if (entries_.empty() || entries_.back().tag != tag) entries_.push_back({first, tag});
}

void RunList::set(std::uint32_t first, std::uint32_t end, Tag tag, Tag gap) noexcept {
  if (first >= end) return;
  if (first >= end_) {
    if (first > end_) append(end_, gap);
    append(first, tag);
    end_ = end;
    return;
  }

  // The runs that begin in [first, end] make way for at most two: the new one, and the rest of the one that `end` lies in.
  const std::size_t low = entries_[covering(first)].first == first ? covering(first) : covering(first) + 1;
  std::array<Entry, 2> fresh{Entry{first, tag}, Entry{end, tag}};
  std::size_t fresh_begin = low > 0 && entries_[low - 1].tag == tag ? 1 : 0;
  std::size_t fresh_end = 1;
  std::size_t high = entries_.size();
  if (end < end_) {
    const std::size_t last = covering(end);
    high = last + 1;
    if (entries_[last].tag != tag) {
      fresh[1].tag = entries_[last].tag;
      fresh_end = 2;
    }
  }
  // `low` may lie behind `high` where the whole of [first, end] is inside one run.
  const std::size_t removed = high > low ? high - low : 0;
  const std::size_t count = fresh_end - fresh_begin;
  const std::size_t replaced = std::min(removed, count);
  const auto at = [this](std::size_t index) { return entries_.begin() + static_cast<std::ptrdiff_t>(index); };
  std::copy_n(fresh.begin() + fresh_begin, replaced, at(low));
  if (removed > count) {
    entries_.erase(at(low + count), at(low + removed));
  } else {
    entries_.insert(at(low + replaced), fresh.begin() + fresh_begin + replaced, fresh.begin() + fresh_end);
  }
  end_ = std::max(end_, end);
}

}  // namespace graphtag
