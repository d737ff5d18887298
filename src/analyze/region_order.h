// The order of a report's rows.
#pragma once

#include <functional>
#include <vector>

#include "analyze/regions.h"

namespace graphtag {

// Adds each row's share to the subtree shares of the rows above it. `rows` holds each at the index that is its id.
void add_subtree_shares(std::vector<RegionRow>& rows);

using RowOrder = std::function<bool(const RegionRow&, const RegionRow&)>;

// By `before`, ties by name; in the tree view each region after its parent, and `before` among siblings.
void sort_rows(std::vector<RegionRow>& rows, RegionView view, const RowOrder& before);
// By share, descending; in the tree view siblings by subtree_share_ns.
void sort_rows(std::vector<RegionRow>& rows, RegionView view);

}  // namespace graphtag
