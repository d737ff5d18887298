#include "analyze/record_classes.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "base/json.h"

namespace graphtag {
namespace {

constexpr std::uint32_t kUnknown = 0xffffffff;
constexpr std::size_t kListedKeys = 20;  // of annotations, in an error
constexpr std::array<std::string_view, 6> kRecordKeys = {"graph", "stream", "device", "phase", "kind", "rank"};

bool is_record_key(std::string_view key) {
  return std::find(kRecordKeys.begin(), kRecordKeys.end(), key) != kRecordKeys.end();
}

std::string_view kind_name(OperationKind kind) {
  switch (kind) {
    case OperationKind::memcpy:
      return "memcpy";
    case OperationKind::memset:
      return "memset";
    case OperationKind::kernel:
      break;
  }
  return "kernel";
}

std::string quoted(std::string_view text) {
  return '"' + std::string(text) + '"';
}

// Whether `text`, as a user types it, means the value of this JSON text.
bool means(const std::string& text, const std::string& json) {
  if (text == json) return true;
  if (json.empty() || json.front() != '"') return false;
  const Result<Json> value = parse_json(json);
  return value && value->is_string() && value->get_ref<const std::string&>() == text;
}

// The keys that a user may choose of: those of annotations, then those of records.
std::string list_keys(const OperationTable& table) {
  const AnnotationTable& annotations = table.annotations.annotations();
  std::string list;
  std::size_t more = 0;
  std::unordered_set<std::string_view> seen(kRecordKeys.begin(), kRecordKeys.end());
  for (std::uint32_t id = 1; id < annotations.size(); ++id) {
    for (const auto& item : annotations[AnnotationId{id}].object->items()) {
      if (!seen.insert(item.key()).second) continue;
      if (seen.size() > kRecordKeys.size() + kListedKeys) {
        ++more;
      } else {
        list += item.key() + ", ";
      }
    }
  }
  if (more != 0) list += std::to_string(more) + " more keys of annotations, ";
  for (const std::string_view key : kRecordKeys) {
    if (key == "rank" && !table.read.info.rank) continue;
    list.append(key).append(", ");
  }
  list.resize(list.size() - 2);
  return list;
}

Result<void> check_key(const OperationTable& table, const std::string& key, const char* option) {
  const bool is_rank = key == "rank";
  if (is_record_key(key) && (!is_rank || table.read.info.rank)) return {};
  const AnnotationTable& annotations = table.annotations.annotations();
  for (std::uint32_t id = 1; !is_rank && id < annotations.size(); ++id) {
    if (annotations[AnnotationId{id}].object->contains(key)) return {};
  }
  const std::string why = is_rank ? "the trace does not say its rank" : "no annotation of the trace has this key";
  return Error{
      ErrorCode::invalid_argument, std::string(option) + " '" + key + "': " + why + "; choose of " + list_keys(table), {}, {}};
}

}  // namespace

std::size_t RecordClasses::KeyHash::operator()(const Key& key) const noexcept {
  const std::uint64_t first = std::uint64_t{key.annotation} << 32 | key.graph;
  const std::uint64_t second =
      std::uint64_t{static_cast<std::uint32_t>(key.stream)} << 32 | std::uint32_t{key.device} << 8 | key.kind;
  return mix_bits(mix_bits(first) ^ second);
}

Result<RecordClasses> RecordClasses::create(const OperationTable& table, const RegionOptions& options, RegionTree& tree) {
  RecordClasses classes(table, options, tree);
  const auto use = [&classes](const std::string& key) {
    classes.uses_graph_ |= key == "graph";
    classes.uses_stream_ |= key == "stream";
    classes.uses_device_ |= key == "device";
    classes.uses_kind_ |= key == "kind";
  };
  for (const std::string& key : options.by) {
    if (Result<void> known = check_key(table, key, "--by"); !known) return std::move(known).error();
    use(key);
  }
  for (const auto& condition : options.where) {
    if (Result<void> known = check_key(table, condition.first, "--where"); !known) return std::move(known).error();
    use(condition.first);
  }
  classes.by_annotation_alone_ = !classes.uses_graph_ && !classes.uses_stream_ && !classes.uses_device_ && !classes.uses_kind_;
  if (classes.by_annotation_alone_) classes.by_annotation_.assign(table.annotations.annotations().size(), kUnknown);
  return classes;
}

RecordClasses::Key RecordClasses::key_of(const GpuOperation& operation) const {
  Key key;
  key.annotation = static_cast<std::uint32_t>(operation.annotation);
  if (uses_graph_ && operation.replay != kNoReplay) key.graph = table_->replays[operation.replay].graph.value;
  if (uses_stream_) key.stream = operation.stream;
  if (uses_device_) key.device = operation.device;
  if (uses_kind_) key.kind = static_cast<std::uint8_t>(operation.kind);
  return key;
}

// JSON text; null where there is none.
std::string RecordClasses::value_of(const std::string& key, const GpuOperation& operation) const {
  const Annotation& annotation = table_->annotations.annotations()[operation.annotation];
  if (key == "graph")
    return operation.replay == kNoReplay ? "null" : std::to_string(table_->replays[operation.replay].graph.value);
  if (key == "stream") return std::to_string(operation.stream);
  if (key == "device") return std::to_string(table_->devices[operation.device]);
  if (key == "phase") return quoted(annotation.backward ? "bwd" : "fwd");
  if (key == "kind") return quoted(kind_name(operation.kind));
  if (key == "rank") return table_->read.info.rank ? std::to_string(*table_->read.info.rank) : "null";
  const auto value = annotation.object->find(key);
  return value == annotation.object->end() ? "null" : canonical_json(*value);
}

bool RecordClasses::holds(const GpuOperation& operation) const {
  return std::all_of(options_->where.begin(), options_->where.end(),
                     [&](const auto& condition) { return means(condition.second, value_of(condition.first, operation)); });
}

std::uint32_t RecordClasses::group_of(const GpuOperation& operation) {
  std::vector<std::string> values;
  std::string joined;
  for (const std::string& key : options_->by) {
    values.push_back(value_of(key, operation));
    joined += values.back() + '\n';
  }
  const auto [found, is_new] = group_ids_.try_emplace(std::move(joined), static_cast<std::uint32_t>(groups_.size()));
  if (is_new) groups_.push_back(std::move(values));
  return found->second;
}

Result<RecordClass> RecordClasses::make(const GpuOperation& operation) {
  RecordClass made;
  made.selected = holds(operation);
  made.attributed = operation.annotation != AnnotationId::none;
  if (!made.selected || !made.attributed) return made;
  std::vector<std::string> components = region_components(table_->annotations.annotations()[operation.annotation]);
  if (components.empty()) components = {kNoNameRegion};
  const Result<std::uint32_t> node = tree_->node(components, group_of(operation));
  if (!node) return node.error();
  made.node = *node;
  made.row = tree_->nodes()[made.node].row == kNoRow ? kHiddenRow : tree_->nodes()[made.node].row;
  return made;
}

Result<RecordClass> RecordClasses::add(const GpuOperation& operation) {
  std::uint32_t& index = by_annotation_alone_ ? by_annotation_[static_cast<std::uint32_t>(operation.annotation)]
                                              : by_key_.try_emplace(key_of(operation), kUnknown).first->second;
  if (index != kUnknown) return classes_[index];
  Result<RecordClass> made = make(operation);
  if (!made) return made;
  index = static_cast<std::uint32_t>(classes_.size());
  classes_.push_back(*made);
  return made;
}

}  // namespace graphtag
