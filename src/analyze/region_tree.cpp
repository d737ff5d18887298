#include "analyze/region_tree.h"

#include <algorithm>

namespace graphtag {
namespace {

std::uint64_t key(std::uint32_t high, std::uint32_t low) {
  return std::uint64_t{high} << 32 | low;
}

bool is_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// At most `depth` components; with `keep_rest` the last one holds all that is left.
std::vector<std::string> limit_depth(std::vector<std::string> components, std::size_t depth, bool keep_rest) {
  if (components.size() <= depth) return components;
  if (keep_rest) {
    for (std::size_t i = depth; i < components.size(); ++i) components[depth - 1].append(".").append(components[i]);
  }
  components.resize(depth);
  return components;
}

}  // namespace

std::pair<std::uint32_t, bool> NameTrie::child(std::uint32_t parent, std::string_view component) {
  const std::uint32_t component_id = components_.intern(component);
  const auto next = static_cast<std::uint32_t>(entries_.size());
  const auto [found, is_new] = children_.try_emplace(key(parent, component_id), next);
  if (is_new) entries_.push_back({parent, component_id, parent == kRoot ? 0 : entries_[parent].level + 1});
  return {found->second, is_new};
}

std::string NameTrie::name(std::uint32_t id) const {
  std::vector<std::string_view> components;
  for (; id != kRoot; id = entries_[id].parent) components.push_back(components_[entries_[id].component]);
  std::string name;
  for (auto component = components.rbegin(); component != components.rend(); ++component) {
    if (component != components.rbegin()) name += '.';
    name += *component;
  }
  return name;
}

RegionTree::RegionTree(const RegionOptions& options, std::optional<NameFilter> include, std::optional<NameFilter> exclude)
    : view_(options.view),
      depth_(options.depth ? static_cast<std::size_t>(*options.depth) : kMaxRegionDepth),
      include_(std::move(include)),
      exclude_(std::move(exclude)) {}

Result<bool> RegionTree::is_shown(std::uint32_t region) const {
  if (!include_ && !exclude_) return true;
  const std::string name = regions_.name(region);
  if (include_) {
    Result<bool> matches = include_->matches(name);
    if (!matches || !*matches) return matches;
  }
  if (!exclude_) return true;
  Result<bool> matches = exclude_->matches(name);
  if (!matches) return matches;
  return !*matches;
}

std::uint32_t RegionTree::row_of(std::uint32_t pattern, std::uint32_t group) {
  const auto [found, is_new] = row_ids_.try_emplace(key(pattern, group), static_cast<std::uint32_t>(rows_.size()));
  if (is_new) rows_.push_back({pattern, group});
  return found->second;
}

std::uint32_t RegionTree::parent_row(std::uint32_t row) const {
  for (std::uint32_t above = patterns().parent(rows_[row].pattern); above != NameTrie::kRoot; above = patterns().parent(above)) {
    const auto parent = row_ids_.find(key(above, rows_[row].group));
    if (parent != row_ids_.end()) return parent->second;
  }
  return kNoRow;
}

Result<std::uint32_t> RegionTree::node(const std::vector<std::string>& components, std::uint32_t group) {
  const std::vector<std::string> kept = limit_depth(limit_depth(components, kMaxRegionDepth, true), depth_, false);
  std::uint32_t region = NameTrie::kRoot;
  std::uint32_t pattern = NameTrie::kRoot;
  std::uint32_t parent = kNoNode;
  for (const std::string& component : kept) {
    const auto [child, is_new] = regions_.child(region, component);
    region = child;
    pattern = view_ == RegionView::pattern ? patterns_.child(pattern, is_digits(component) ? "*" : component).first : region;
    if (is_new) {
      Result<bool> shown = is_shown(region);
      if (!shown) return std::move(shown).error();
      of_region_.push_back({pattern, *shown});
    }
    const auto next = static_cast<std::uint32_t>(nodes_.size());
    const auto [found, is_new_node] = node_ids_.try_emplace(key(region, group), next);
    if (is_new_node) nodes_.push_back({parent, of_region_[region].shown ? row_of(pattern, group) : kNoRow});
    parent = found->second;
  }
  return parent;
}

}  // namespace graphtag
