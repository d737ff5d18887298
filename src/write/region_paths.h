// The regions that an annotation lies in, outermost first, as small numbers: what region slices are made of.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "base/interner.h"
#include "join/annotation_set.h"

namespace graphtag {

// Regions by their full names: path ["model", "model.mlp", "gelu"] -> model, model.mlp, model.mlp.gelu.
class RegionPaths {
 public:
  // References live as long as this.
  const std::vector<std::uint32_t>& of(AnnotationId id, const AnnotationTable& annotations) {
    const auto index = static_cast<std::size_t>(id);
    if (index >= paths_.size()) paths_.resize(annotations.size());
    auto& path = paths_[index];
    if (path.known) return path.regions;
    path.known = true;
    std::string name;
    for (const auto& component : region_components(annotations[id])) {
      if (!path.regions.empty()) name += '.';
      name += component;
      path.regions.push_back(names_.intern(name));
    }
    return path.regions;
  }
  std::string_view name(std::uint32_t region) const { return names_[region]; }

 private:
  struct Path {
    bool known = false;
    std::vector<std::uint32_t> regions;
  };
  std::vector<Path> paths_;  // index: annotation id
  Interner names_;
};

}  // namespace graphtag
