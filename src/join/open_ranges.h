// Which ranges of the host were open at points in time: what names work by where it was launched.
//
//   thread 1   |--------- a ---------|
//                 |-- b --|              point at 5: a, b      point at 12: a
//              0  3   5   8   12     20
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "model/annotation.h"

namespace graphtag {

// A slice of one thread. Half-open; the outer of two that begin together is the longer one, or the one that came first.
struct HostRange {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::uint32_t thread = 0;
  AnnotationId annotation = AnnotationId::none;  // what work in it is called
};

struct HostPoint {
  std::int64_t time_ns = 0;
  std::uint32_t thread = 0;
};

// A range that opens while so many are open is passed over: what is nested deeper is a damaged file.
constexpr std::size_t kOpenRanges = 64;

// Sorts `ranges`, and calls `visit(i, open)` once for each of `points`, in order of thread and time: `open` holds indexes of ranges, the
// outermost first.
void visit_open_ranges(std::vector<HostRange>& ranges, std::span<const HostPoint> points,
                       const std::function<void(std::size_t, std::span<const std::uint32_t>)>& visit);

}  // namespace graphtag
