// Which rows the records of a region count in.
//
//   model.layers.0.mlp    nodes   model > model.layers > model.layers.0 > model.layers.0.mlp      a call belongs to a node
//                         rows    model   model.layers   model.layers.*   model.layers.*.mlp      a row pools the calls of its nodes
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyze/name_filter.h"
#include "analyze/regions.h"
#include "base/interner.h"

namespace graphtag {

inline constexpr std::uint32_t kNoNode = 0xffffffff;
inline constexpr std::uint32_t kNoRow = 0xffffffff;
// Rows that are no regions: records without an annotation, and those whose own region --include or --exclude hides.
inline constexpr std::uint32_t kUnattributedRow = 0;
inline constexpr std::uint32_t kHiddenRow = 1;
inline constexpr std::uint32_t kFirstRegionRow = 2;

// Dotted names that share their beginnings.
class NameTrie {
 public:
  static constexpr std::uint32_t kRoot = 0xffffffff;
  // {id, whether it is new}
  std::pair<std::uint32_t, bool> child(std::uint32_t parent, std::string_view component);
  std::string name(std::uint32_t id) const;
  std::uint32_t parent(std::uint32_t id) const { return entries_[id].parent; }
  int level(std::uint32_t id) const { return entries_[id].level; }

 private:
  struct Entry {
    std::uint32_t parent = kRoot;
    std::uint32_t component = 0;
    int level = 0;
  };
  Interner components_;
  std::vector<Entry> entries_;
  boost::unordered_flat_map<std::uint64_t, std::uint32_t> children_;  // parent << 32 | component -> id
};

class RegionTree {
 public:
  // A region in one group of --by.
  struct Node {
    std::uint32_t parent = kNoNode;
    std::uint32_t row = kNoRow;  // kNoRow: hidden
  };
  struct Row {
    std::uint32_t pattern = NameTrie::kRoot;  // in patterns()
    std::uint32_t group = 0;
  };

  RegionTree(const RegionOptions& options, std::optional<NameFilter> include, std::optional<NameFilter> exclude);

  // The node of a region, which makes its ancestors' too. Error: the expressions cost too much on its name.
  Result<std::uint32_t> node(const std::vector<std::string>& components, std::uint32_t group);

  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<Row>& rows() const { return rows_; }
  // Of the nearest ancestor that has a row in the same group; kNoRow if none has.
  std::uint32_t parent_row(std::uint32_t row) const;
  const NameTrie& patterns() const { return view_ == RegionView::pattern ? patterns_ : regions_; }

 private:
  struct Region {
    std::uint32_t pattern = NameTrie::kRoot;
    bool shown = true;
  };
  Result<bool> is_shown(std::uint32_t region) const;
  std::uint32_t row_of(std::uint32_t pattern, std::uint32_t group);

  RegionView view_;
  std::size_t depth_;
  std::optional<NameFilter> include_, exclude_;
  NameTrie regions_;               // full names
  NameTrie patterns_;              // folded names; unused where the view does not fold
  std::vector<Region> of_region_;  // index: region
  std::vector<Node> nodes_;
  std::vector<Row> rows_ = std::vector<Row>(kFirstRegionRow);
  boost::unordered_flat_map<std::uint64_t, std::uint32_t> node_ids_;  // region << 32 | group -> node
  boost::unordered_flat_map<std::uint64_t, std::uint32_t> row_ids_;   // pattern << 32 | group -> row
};

}  // namespace graphtag
