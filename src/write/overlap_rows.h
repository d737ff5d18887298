// Which of a stream's rows an operation goes to, so that no two slices of a row overlap.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

namespace graphtag {

// Greedy: the first row that is free. Kernels that start before the one before has ended (programmatic dependent launch) alternate:
//
//   row 0   |--a--|   |--c--|
//   row 1       |--b--|
class OverlapRows {
 public:
  // Operations come in the order of their starts; half-open. At most log(rows) steps.
  std::uint32_t assign(std::int64_t start_ns, std::int64_t end_ns) {
    while (!busy_.empty() && busy_.top().first <= start_ns) {
      free_.push(busy_.top().second);
      busy_.pop();
    }
    std::uint32_t row = rows_;
    if (free_.empty()) {
      ++rows_;
    } else {
      row = free_.top();
      free_.pop();
    }
    busy_.emplace(end_ns, row);
    return row;
  }
  std::uint32_t rows() const { return rows_; }

 private:
  template <typename T>
  using SmallestFirst = std::priority_queue<T, std::vector<T>, std::greater<T>>;

  SmallestFirst<std::pair<std::int64_t, std::uint32_t>> busy_;  // end, row
  SmallestFirst<std::uint32_t> free_;
  std::uint32_t rows_ = 0;
};

}  // namespace graphtag
