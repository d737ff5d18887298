#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/file_kind.h"
#include "cli/messages.h"
#include "cli/progress.h"
#include "model/annotation_file.h"
#include "trace/reader.h"
#include "write/report_parts.h"
#include "write/table_text.h"

namespace graphtag::cli {
namespace {

// Absent facts are left out, so that each line says something.
template <typename T>
void put(Json& facts, const char* key, const std::optional<T>& value) {
  if (value) facts[key] = *value;
}
void put(Json& facts, const char* key, const std::string& value) {
  if (!value.empty()) facts[key] = value;
}

Json describe_annotation_file(const AnnotationFile& file, std::uint64_t size_bytes) {
  Json facts{{"kind", "annotation file"}, {"format", file.format}, {"size_bytes", size_bytes}};
  const Producer& producer = file.producer;
  put(facts, "tool", producer.tool);
  put(facts, "host", producer.host);
  put(facts, "pid", producer.pid);
  put(facts, "rank", producer.rank);
  put(facts, "observer", producer.observer);
  put(facts, "driver_version", producer.driver_version);
  put(facts, "cupti_version", producer.cupti_version);
  put(facts, "cupti_path", producer.cupti_path);
  if (!producer.device_uuids.empty()) facts["device_uuids"] = producer.device_uuids;

  std::uint64_t runs = 0, counted_nodes = 0;
  for (const auto& graph : file.graphs) {
    runs += graph.runs.size();
    if (graph.nodes) counted_nodes += graph.nodes->total() + graph.body_nodes.total();
  }
  facts["graphs"] = file.graphs.size();
  facts["exec_graphs"] = file.execs.size();
  facts["runs"] = runs;
  if (counted_nodes > 0) facts["nodes_with_gpu_records"] = counted_nodes;
  facts["distinct_annotations"] = file.annotations.size() - 1;

  std::map<std::string, std::uint64_t> keys;  // key -> annotations that have it
  for (std::uint32_t id = 1; id < file.annotations.size(); ++id) {
    for (const auto& [key, value] : file.annotations[AnnotationId{id}].object->items()) ++keys[key];
  }
  facts["keys"] = keys;
  Json labels = Json::array();
  for (const auto& graph : file.graphs) {
    if (graph.label) labels.push_back({{"graph", graph.id.value}, {"label", *graph.label}});
  }
  if (!labels.empty()) facts["labels"] = std::move(labels);
  if (!file.notes.empty()) facts["notes"] = file.notes;
  return facts;
}

// Counts what goes by.
class TraceCounter : public EventVisitor {
 public:
  Result<void> on_event(const Event& event) override {
    if (event.start_ns) {
      first_ns_ = std::min(first_ns_, *event.start_ns);
      last_ns_ = std::max(last_ns_, *event.start_ns + std::max<std::int64_t>(0, event.duration_ns));
    }
    if (!is_gpu_operation(event.kind)) return {};
    if (is_provenance(event.origin)) ++named_;
    ++(event.kind == EventKind::kernel ? kernels_ : event.kind == EventKind::memcpy ? memcpys_ : memsets_);
    if (event.device) devices_.insert(*event.device);
    if (event.device && event.stream) streams_.emplace(*event.device, *event.stream);
    if (event.graph_id != 0) {
      ++in_graphs_;
      graphs_.insert(event.graph_id);
      if (event.correlation) replays_.emplace(event.graph_id, *event.correlation);
      if (!event.has_node_id) ++without_node_id_;
    }
    return {};
  }

  Json describe(const ReadResult& read, std::uint64_t size_bytes) const {
    const TraceInfo& info = read.info;
    Json facts{{"kind", "trace"}, {"format", info.producer}, {"size_bytes", size_bytes}};
    if (read.content_bytes != size_bytes) facts["decompressed_bytes"] = read.content_bytes;
    put(facts, "host", info.host);
    put(facts, "pid", info.pid);
    put(facts, "rank", info.rank);
    put(facts, "base_time_ns", info.base_time_ns);
    if (!info.device_names.empty()) facts["device_names"] = info.device_names;
    facts["annotated"] = info.annotated || info.graphtag_json.has_value();
    facts["events"] = read.events;
    if (first_ns_ <= last_ns_) facts["span_ns"] = static_cast<std::uint64_t>(last_ns_) - static_cast<std::uint64_t>(first_ns_);
    facts["kernels"] = kernels_;
    facts["memcpys"] = memcpys_;
    facts["memsets"] = memsets_;
    facts["records_in_graphs"] = in_graphs_;
    if (without_node_id_ > 0) facts["records_without_node_id"] = without_node_id_;
    if (info.annotations) facts["records_with_a_name"] = named_;
    facts["exec_graphs"] = graphs_.size();
    facts["replays"] = replays_.size();
    facts["devices"] = devices_.size();
    facts["streams"] = streams_.size();
    return facts;
  }

 private:
  std::int64_t first_ns_ = INT64_MAX, last_ns_ = INT64_MIN;
  std::uint64_t kernels_ = 0, memcpys_ = 0, memsets_ = 0, in_graphs_ = 0, without_node_id_ = 0, named_ = 0;
  std::set<std::int64_t> devices_;
  std::set<std::pair<std::int64_t, std::int64_t>> streams_;    // device, stream
  std::set<std::uint64_t> graphs_;                             // exec graphs with records
  std::set<std::pair<std::uint64_t, std::uint64_t>> replays_;  // graph, correlation
};

std::string plain_value(const Json& value) {
  if (value.is_string()) return printable(value.get<std::string>());
  if (!value.is_array() && !value.is_object()) return dump_json(value);
  std::string text;
  for (const auto& [key, item] : value.items()) {
    text += text.empty() ? "" : ", ";
    text += value.is_object() ? printable(key) + " " + plain_value(item) : plain_value(item);
  }
  return text;
}

std::string line(std::string_view key, std::string_view value) {
  return fmt::format("{:24}{}\n", key, value);
}

std::string facts_text(const Json& facts, bool json) {
  if (json) return facts.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  std::string text;
  for (const auto& [key, value] : facts.items()) {
    if (key != "problems") text += line(key, plain_value(value));
  }
  return text;
}

}  // namespace

int run_show(const ShowArguments& arguments, const Common& common) {
  const auto annotations = looks_like_annotations(arguments.file);
  if (!annotations) return fail(annotations.error());
  std::error_code ignored;
  const auto size_bytes = static_cast<std::uint64_t>(std::filesystem::file_size(arguments.file, ignored));
  if (*annotations) {
    const auto file = read_annotation_file(arguments.file);
    if (!file) return fail(file.error());
    std::fputs(facts_text(describe_annotation_file(*file, size_bytes), arguments.json).c_str(), stdout);
    return kOk;
  }
  Progress progress(std::filesystem::path(arguments.file).filename().string(), common.quiet);
  TraceCounter counter;
  ReadOptions options;
  options.progress = [&](std::uint64_t done, std::uint64_t total) { progress.update(done, total); };
  options.process = arguments.process;
  const auto read = read_trace(arguments.file, counter, options);
  progress.clear();
  if (!read) return fail(read.error());
  Json facts = counter.describe(*read, size_bytes);
  facts["problems"] = problems_json(read->problems);
  std::string text = facts_text(facts, arguments.json);
  if (!arguments.json) {
    for (const auto& problem : describe(read->problems)) text += line("problem", printable(problem));
  }
  std::fputs(text.c_str(), stdout);
  return kOk;
}

}  // namespace graphtag::cli
