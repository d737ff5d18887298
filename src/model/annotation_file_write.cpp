#include <nlohmann/json.hpp>

#include "model/annotation_file.h"
#include "model/annotation_file_formats.h"

namespace graphtag {
namespace {

template <typename T>
void put(Json& object, const char* key, const std::optional<T>& value) {
  if (value) object[key] = *value;
}

void put(Json& object, const char* key, const std::string& value) {
  if (!value.empty()) object[key] = value;
}

// What origin a run has where the file does not say: callback, or outside-scope where there is no annotation.
Json runs_to_json(const std::vector<Run>& runs) {
  Json out = Json::array();
  for (const Run& run : runs) {
    Json item = Json::array({run.first.value, static_cast<std::uint32_t>(run.annotation)});
    const bool is_none = run.annotation == AnnotationId::none;
    const bool is_default =
        is_none ? is_provenance(run.origin) || run.origin == Origin::outside_scope : run.origin == Origin::callback;
    if (!is_default) item.push_back(to_string(run.origin));
    out.push_back(std::move(item));
  }
  return out;
}

Json counts_to_json(const NodeCounts& counts) {
  return {{"kernels", counts.kernels}, {"memcpys", counts.memcpys}, {"memsets", counts.memsets}};
}

Json to_json(const Producer& producer) {
  Json out = Json::object();
  put(out, "tool", producer.tool);
  put(out, "host", producer.host);
  put(out, "pid", producer.pid);
  put(out, "rank", producer.rank);
  if (!producer.device_uuids.empty()) out["device_uuids"] = producer.device_uuids;
  put(out, "driver_version", producer.driver_version);
  put(out, "cupti_version", producer.cupti_version);
  put(out, "cupti_path", producer.cupti_path);
  put(out, "observer", producer.observer);
  Json clock = Json::object();
  put(clock, "unix_ns", producer.clock_unix_ns);
  put(clock, "cupti_ns", producer.clock_cupti_ns);
  if (!clock.empty()) out["clock"] = std::move(clock);
  if (!producer.counts.empty()) out["counts"] = producer.counts;
  return out;
}

Json to_json(const Annotation& annotation) {
  Json out = {{"object", *annotation.object}};
  if (!annotation.path.empty()) out["path"] = annotation.path;
  return out;
}

Json to_json(const GraphRecord& graph) {
  Json out = {{"id", graph.id.value}};
  if (graph.label != nullptr) out["label"] = *graph.label;
  out["runs"] = runs_to_json(graph.runs);
  if (graph.nodes) out["nodes"] = counts_to_json(*graph.nodes);
  if (graph.body_nodes != NodeCounts{}) out["body_nodes"] = counts_to_json(graph.body_nodes);
  put(out, "created_ns", graph.created_ns);
  put(out, "destroyed_ns", graph.destroyed_ns);
  return out;
}

Json to_json(const ExecRecord& exec) {
  Json out = {{"id", exec.id.value}, {"template", exec.template_graph.value}};
  if (exec.template_ids != ExecRecord{}.template_ids) out["template_ids"] = exec.template_ids;
  if (!exec.placement.empty()) out["placement"] = runs_to_json(exec.placement);
  if (!exec.overrides.empty()) out["overrides"] = runs_to_json(exec.overrides);
  put(out, "created_ns", exec.created_ns);
  put(out, "destroyed_ns", exec.destroyed_ns);
  return out;
}

// One item a line, so that files can be read and compared.
template <typename Records>
void write_array(std::string& text, const char* key, const Records& records) {
  text += ",\n\"" + std::string(key) + "\":[";
  const char* separator = "\n";
  for (const auto& record : records) {
    text += separator + dump_json(to_json(record));
    separator = ",\n";
  }
  text += "\n]";
}

}  // namespace

std::string write_annotation_file(const AnnotationFile& file) {
  std::string text = "{\"schema\":\"" + std::string(kAnnotationSchema) + "\",\n\"producer\":" + dump_json(to_json(file.producer));
  std::vector<std::reference_wrapper<const Annotation>> annotations;
  for (std::size_t i = 1; i < file.annotations.size(); ++i)
    annotations.emplace_back(file.annotations[static_cast<AnnotationId>(i)]);
  write_array(text, "annotations", annotations);
  write_array(text, "graphs", file.graphs);
  write_array(text, "execs", file.execs);
  return text + "}\n";
}

}  // namespace graphtag
