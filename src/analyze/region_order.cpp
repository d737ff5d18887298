#include "analyze/region_order.h"

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>

namespace graphtag {

void add_subtree_shares(std::vector<RegionRow>& rows) {
  std::vector<std::uint32_t> deepest_first(rows.size());
  for (std::uint32_t id = 0; id < rows.size(); ++id) deepest_first[id] = id;
  std::stable_sort(deepest_first.begin(), deepest_first.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return rows[a].level > rows[b].level; });
  for (const std::uint32_t id : deepest_first) {
    if (rows[id].parent != id) rows[rows[id].parent].subtree_share_ns += rows[id].subtree_share_ns;
  }
}

void sort_rows(std::vector<RegionRow>& rows, RegionView view, const RowOrder& before) {
  std::sort(rows.begin(), rows.end(), [&](const RegionRow& a, const RegionRow& b) {
    if (before(a, b)) return true;
    if (before(b, a)) return false;
    return std::tie(a.region, a.by) < std::tie(b.region, b.by);
  });
  if (view != RegionView::tree || rows.empty()) return;

  std::uint32_t ids = 0;
  for (const RegionRow& row : rows) ids = std::max({ids, row.id + 1, row.parent + 1});
  std::vector<bool> present(ids);
  for (const RegionRow& row : rows) present[row.id] = true;
  std::vector<std::vector<std::size_t>> children(ids);  // parent's id -> indices into rows, in order
  std::vector<std::size_t> open;                        // indices into rows, the next one last
  for (std::size_t i = rows.size(); i-- > 0;) {
    const bool is_root = rows[i].parent == rows[i].id || !present[rows[i].parent];
    (is_root ? open : children[rows[i].parent]).push_back(i);
  }
  std::vector<RegionRow> ordered;
  ordered.reserve(rows.size());
  while (!open.empty()) {
    RegionRow row = std::move(rows[open.back()]);
    open.pop_back();
    // Both lists are last to first, so that the next one is at the end.
    open.insert(open.end(), children[row.id].begin(), children[row.id].end());
    ordered.push_back(std::move(row));
  }
  rows = std::move(ordered);
}

void sort_rows(std::vector<RegionRow>& rows, RegionView view) {
  if (view == RegionView::tree) {
    sort_rows(rows, view, [](const RegionRow& a, const RegionRow& b) {
      return std::tie(a.subtree_share_ns, a.total_ns) > std::tie(b.subtree_share_ns, b.total_ns);
    });
  } else {
    sort_rows(rows, view, [](const RegionRow& a, const RegionRow& b) {
      return std::tie(a.share_ns, a.total_ns) > std::tie(b.share_ns, b.total_ns);
    });
  }
}

}  // namespace graphtag
