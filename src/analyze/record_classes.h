// What becomes of a record: selected or not, and which region it counts in. Decided once for all records that look alike.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "analyze/region_tree.h"
#include "analyze/regions.h"

namespace graphtag {

struct RecordClass {
  bool selected = false;    // --where holds
  bool attributed = false;  // has an annotation
  std::uint32_t node = kNoNode;
  std::uint32_t row = kUnattributedRow;  // the row of its own region
};

class RecordClasses {
 public:
  // Error (invalid_argument): a key of --by or --where that nothing in `table` has.
  static Result<RecordClasses> create(const OperationTable& table, const RegionOptions& options, RegionTree& tree);

  // Makes the class of `operation` if it is new. Error: as RegionTree::node.
  Result<RecordClass> add(const GpuOperation& operation);
  // Of an operation that add() saw.
  const RecordClass& of(const GpuOperation& operation) const { return classes_[index_of(operation)]; }

  // JSON texts of --by's values, in its order.
  const std::vector<std::string>& group(std::uint32_t id) const { return groups_[id]; }

 private:
  // What --by and --where may look at, as far as they do; the rest stays 0, so that records differ only where it matters.
  struct Key {
    std::uint32_t annotation = 0;
    std::uint32_t graph = 0;
    std::int32_t stream = 0;
    std::uint16_t device = 0;
    std::uint8_t kind = 0;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const noexcept;
  };

  RecordClasses(const OperationTable& table, const RegionOptions& options, RegionTree& tree)
      : table_(&table), options_(&options), tree_(&tree) {}
  Key key_of(const GpuOperation& operation) const;
  std::uint32_t index_of(const GpuOperation& operation) const {
    return by_annotation_alone_ ? by_annotation_[static_cast<std::uint32_t>(operation.annotation)]
                                : by_key_.find(key_of(operation))->second;
  }
  std::string value_of(const std::string& key, const GpuOperation& operation) const;
  bool holds(const GpuOperation& operation) const;
  std::uint32_t group_of(const GpuOperation& operation);
  Result<RecordClass> make(const GpuOperation& operation);

  const OperationTable* table_;
  const RegionOptions* options_;
  RegionTree* tree_;
  bool uses_graph_ = false, uses_stream_ = false, uses_device_ = false, uses_kind_ = false;
  bool by_annotation_alone_ = true;
  std::vector<RecordClass> classes_;
  std::vector<std::uint32_t> by_annotation_;  // annotation -> class; kUnknown: not seen
  boost::unordered_flat_map<Key, std::uint32_t, KeyHash> by_key_;
  std::vector<std::vector<std::string>> groups_;
  boost::unordered_flat_map<std::string, std::uint32_t> group_ids_;  // values, each ended by a line feed -> group
};

}  // namespace graphtag
