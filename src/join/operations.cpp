#include "join/operations.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "join/ambiguous_sources.h"
#include "join/args_names.h"
#include "join/earlier_run.h"
#include "join/launch_names.h"
#include "join/overlay.h"
#include "join/own_names.h"
#include "join/tokens.h"

namespace graphtag {
namespace {

constexpr std::size_t kDeviceLimit = std::numeric_limits<std::uint16_t>::max();

OperationKind kind_of(EventKind kind) {
  switch (kind) {
    case EventKind::memcpy:
      return OperationKind::memcpy;
    case EventKind::memset:
      return OperationKind::memset;
    default:
      return OperationKind::kernel;
  }
}

std::int32_t to_int32(std::int64_t value) {
  return static_cast<std::int32_t>(
      std::clamp<std::int64_t>(value, std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()));
}

// Before the table of names: kernel names are long and few, and comparing one with the last of its like is cheaper than hashing all of it.
class NameCache {
 public:
  explicit NameCache(Interner& names) : names_(names) {}

  // Of the name that `token` writes. One with escapes goes to the table.
  std::uint32_t intern(std::string_view token) {
    if (token.size() < kBytesMin || token.front() != '"') return names_.intern(unescape(token, storage_));
    const std::string_view inside = token.substr(1, token.size() - 2);
    Entry& entry = entries_[slot_of(inside)];
    if (entry.name == inside) return entry.id;
    const std::string_view name = unescape(token, storage_);
    const std::uint32_t id = names_.intern(name);
    if (name.data() == inside.data()) entry = {names_[id], id};
    return id;
  }

 private:
  struct Entry {
    std::string_view name;  // without a backslash
    std::uint32_t id = 0;
  };
  static constexpr std::size_t kPart = 8;
  static constexpr std::size_t kBytesMin = 4 * kPart + 2;
  static constexpr unsigned kBits = 10;

  // By the length and four parts: names of one kernel with other sizes differ in few bytes.
  static std::size_t slot_of(std::string_view name) {
    std::uint64_t hash = name.size();
    for (const std::size_t at : {std::size_t{0}, name.size() / 2, name.size() - 3 * kPart, name.size() - kPart}) {
      std::uint64_t part = 0;
      std::memcpy(&part, name.data() + at, kPart);
      hash = (hash ^ part) * 0x9E3779B97F4A7C15ULL;
      hash ^= hash >> 32;
    }
    return hash >> (64 - kBits);
  }

  Interner& names_;
  std::string storage_;
  std::vector<Entry> entries_ = std::vector<Entry>(std::size_t{1} << kBits);
};

class Builder final : public EventVisitor {
 public:
  Builder(OperationTable& table, std::optional<EarlierRun> earlier)
      : table_(table),
        names_(table.names),
        args_(std::move(earlier), table.annotations.annotations()),
        own_names_(table.annotations),
        overlay_(table.annotations.annotations()),
        launch_names_(table.annotations.annotations()) {}

  Result<void> on_events_begin(const TraceInfo& info) override {
    own_names_.begin(info);
    return {};
  }

  Result<void> on_event(const Event& event) override {
    if (!is_gpu_operation(event.kind)) {
      launch_names_.add_host(event);
      return {};
    }
    if (!event.start_ns || event.duration_ns < 0) {
      ++table_.bad_times;
      return {};
    }
    const std::optional<std::uint16_t> device = device_of(event);
    if (!device) {
      return Error{ErrorCode::malformed, "more than 65535 devices; this is no trace of one process", {}, event.offset};
    }
    GpuOperation operation;
    operation.start_ns = *event.start_ns;
    operation.end_ns = saturating_add(operation.start_ns, event.duration_ns);
    operation.bytes = event.bytes;
    operation.name = names_.intern(event.text(event.name));
    args_.look_at(event);
    operation.stream = to_int32(args_.stream().value_or(-1));
    operation.device = *device;
    operation.kind = kind_of(event.kind);
    if (event.graph_id != 0) {
      join(event, operation);
    } else {
      name_outside_graphs(event, operation);
      if (event.correlation)
        launch_names_.add_operation(static_cast<std::uint32_t>(table_.operations.size()), *event.correlation);
    }
    table_.operations.push_back(operation);
    return {};
  }

  // What can only be said once everything is known: why what has no name has none.
  void finish(bool marked_as_annotated) {
    launch_names_.name(table_.operations);
    const bool no_annotations = table_.annotations.empty() && !marked_as_annotated && !any_name_in_args_ && !own_names_.any();
    for (GpuOperation& operation : table_.operations) {
      if (operation.replay == kNoReplay) continue;
      if (operation.origin == Origin::no_node_id && is_graph_level(table_.replays[operation.replay].graph)) {
        operation.origin = Origin::graph_level_trace;
      } else if (no_annotations && operation.origin == Origin::outside_scope) {
        operation.origin = Origin::no_annotations;
      }
    }
  }

 private:
  // Of a graph: whether its replays have one record each, without a node id.
  struct GraphFacts {
    bool node_ids = false;
    bool several_records = false;
  };

  void join(const Event& event, GpuOperation& operation) {
    const NodeId node(event.node_id);
    const GraphId graph{static_cast<std::uint32_t>(event.graph_id)};
    operation.replay = replay_of(graph, event.correlation.value_or(0), event.has_node_id);
    operation.local_id = event.has_node_id ? node.local().value : 0;

    Resolution resolution = own_names_.resolve(event);
    if (resolution.origin == Origin::no_annotations) resolution.origin = Origin::outside_scope;
    const AnnotationId in_args = args_.annotation();
    if (in_args != AnnotationId::none) {
      any_name_in_args_ = true;
      if (!is_provenance(resolution.origin)) resolution.origin = Origin::callback;  // whoever wrote it knew the node
      resolution.annotation = overlay_.lay(resolution.annotation, in_args);
    }
    operation.annotation = resolution.annotation;
    operation.origin = resolution.origin;
  }

  // Work that was launched on its own has a name only where the trace itself says so.
  void name_outside_graphs(const Event& event, GpuOperation& operation) {
    const AnnotationId in_args = args_.annotation();
    operation.annotation = own_names_.any() ? own_names_.resolve(event).annotation : AnnotationId::none;
    operation.annotation = overlay_.lay(operation.annotation, in_args);
    if (operation.annotation != AnnotationId::none) operation.origin = Origin::callback;
  }

  std::uint32_t replay_of(GraphId graph, std::uint64_t correlation, bool has_node_id) {
    const bool same_graph = last_replay_ != kNoReplay && table_.replays[last_replay_].graph == graph;
    if (!same_graph) last_graph_ = &graphs_[graph];
    last_graph_->node_ids = last_graph_->node_ids || has_node_id;
    if (same_graph && table_.replays[last_replay_].correlation == correlation) {
      last_graph_->several_records = true;
      return last_replay_;
    }
    const auto [found, added] =
        replay_ids_.try_emplace({graph.value, correlation}, static_cast<std::uint32_t>(table_.replays.size()));
    if (added) {
      table_.replays.push_back({graph, correlation});
    } else {
      last_graph_->several_records = true;
    }
    return last_replay_ = found->second;
  }

  bool is_graph_level(GraphId graph) const {
    const auto found = graphs_.find(graph);
    return found != graphs_.end() && !found->second.node_ids && !found->second.several_records;
  }

  // The index of the operation's device, or of its process where it names none.
  std::optional<std::uint16_t> device_of(const Event& event) {
    const std::optional<std::int64_t> number = event.device ? event.device : integer_of(event.text(event.pid));
    const std::int64_t id = number ? *number : id_of_text(event.text(event.pid));
    if (last_device_ < table_.devices.size() && table_.devices[last_device_] == id) return last_device_;
    const auto [found, added] = device_ids_.try_emplace(id, static_cast<std::uint16_t>(table_.devices.size()));
    if (added) {
      if (table_.devices.size() >= kDeviceLimit) return std::nullopt;
      table_.devices.push_back(id);
    }
    return last_device_ = found->second;
  }

  // Of a process that has a text for a pid: -1, -2, .. in the order of first sight.
  std::int64_t id_of_text(std::string_view pid) { return -1 - std::int64_t{text_pids_.intern(pid)}; }

  OperationTable& table_;
  NameCache names_;
  ArgsNames args_;
  OwnNames own_names_;
  Overlay overlay_;
  LaunchNames launch_names_;
  bool any_name_in_args_ = false;
  std::uint32_t last_replay_ = kNoReplay;
  GraphFacts* last_graph_ = nullptr;  // of last_replay_'s graph, in graphs_, which only another graph's first record changes
  std::uint16_t last_device_ = 0;
  boost::unordered_flat_map<std::pair<std::uint32_t, std::uint64_t>, std::uint32_t>
      replay_ids_;  // graph id, correlation -> replay
  boost::unordered_flat_map<GraphId, GraphFacts, std::hash<GraphId>> graphs_;
  boost::unordered_flat_map<std::int64_t, std::uint16_t> device_ids_;  // device id -> index
  Interner text_pids_;                                                 // as written
};

}  // namespace

Result<OperationTable> read_operations(const std::string& trace_path, const std::vector<AnnotationSource>& sources,
                                       const JoinOptions& options) {
  Result<FitResult> fit = choose_sources_for(trace_path, sources, options.force ? Fit::forced : Fit::strict, options.read);
  if (!fit) return fit.error();

  OperationTable table;
  table.annotations = AnnotationSet(fit->fitting, fit->info.annotation_keys);
  table.passed_over = std::move(fit->passed_over);
  table.ambiguity = ambiguity_of(fit->fitting);
  Builder builder(table, earlier_run(fit->info));
  Result<ReadResult> read = read_trace(trace_path, builder, options.read);
  if (!read) return read.error();
  table.read = *std::move(read);
  const Fit how = options.force ? Fit::forced : Fit::strict;
  if (Result<void> fits = require_still_fit(fit->fitting, table.read.info, how); !fits) return fits.error();
  builder.finish(table.read.info.annotated || table.read.info.graphtag_json.has_value());
  return table;
}

}  // namespace graphtag
