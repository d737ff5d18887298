// The reader of graphtag.annotations/1; docs/annotation-file.md describes the format.
#include <functional>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>

#include "model/annotation_file.h"
#include "model/annotation_file_formats.h"

namespace graphtag {
namespace {

// Functions that read a part return false where the part is wrong; error_ then says where and what.
class SchemaReader {
 public:
  explicit SchemaReader(const std::string& path) {
    file_.path = path;
    file_.format = kAnnotationSchema;
  }

  Result<AnnotationFile> read(const Json& root) {
    if (!read_root(root)) return std::move(error_);
    if (unknown_members_ != 0) {
      file_.notes.push_back(std::to_string(unknown_members_) + " unknown members were passed over, the first is " +
                            first_unknown_);
    }
    return std::move(file_);
  }

 private:
  using Read = std::function<bool(const Json&)>;
  using Reads = std::initializer_list<std::pair<std::string_view, Read>>;

  // A key, or an index where the key is null.
  struct Step {
    const std::string* key;
    std::size_t index;
  };

  bool read_root(const Json& root) {
    // Runs name annotations, whatever the order of the members.
    if (const auto table = root.find("annotations"); table != root.end()) {
      if (!in({&table.key(), 0}, [&] { return elements(*table, [&](const Json& v) { return read_annotation(v); }); }))
        return false;
    }
    const auto already_read = [](const Json&) { return true; };
    return members(root, {},
                   {{"schema", already_read},
                    {"annotations", already_read},
                    {"producer", [&](const Json& v) { return read_producer(v); }},
                    {"graphs", [&](const Json& v) { return elements(v, [&](const Json& graph) { return read_graph(graph); }); }},
                    {"execs", [&](const Json& v) { return elements(v, [&](const Json& exec) { return read_exec(exec); }); }}}) &&
           check_ids();
  }

  bool read_annotation(const Json& json) {
    Json object;
    std::vector<std::string> path;
    if (!members(json, {"object"},
                 {{"object",
                   [&](const Json& v) {
                     object = v;
                     return object.is_object() || fail("must be an object");
                   }},
                  {"path", [&](const Json& v) { return read_value(v, path); }}})) {
      return false;
    }
    const auto id = file_.annotations.intern(std::move(object), std::move(path));
    if (!id) return fail(id.error().message);
    if (*id == AnnotationId::none) return fail("is empty; leave it out and let runs say 0");
    annotations_.push_back(*id);
    return true;
  }

  bool read_producer(const Json& json) {
    Producer& p = file_.producer;
    return members(json, {},
                   {{"tool", into(p.tool)},
                    {"host", into(p.host)},
                    {"pid", into(p.pid)},
                    {"rank", into(p.rank)},
                    {"device_uuids", into(p.device_uuids)},
                    {"driver_version", into(p.driver_version)},
                    {"cupti_version", into(p.cupti_version)},
                    {"cupti_path", into(p.cupti_path)},
                    {"observer", into(p.observer)},
                    {"clock",
                     [&](const Json& v) {
                       return members(v, {}, {{"unix_ns", into(p.clock_unix_ns)}, {"cupti_ns", into(p.clock_cupti_ns)}});
                     }},
                    {"counts", [&](const Json& v) { return read_counts(v, p.counts); }}});
  }

  bool read_counts(const Json& json, std::map<std::string, std::uint64_t>& counts) {
    if (!json.is_object()) return fail("must be an object");
    for (const auto& member : json.items()) {
      if (!in({&member.key(), 0}, [&] { return read_value(member.value(), counts[member.key()]); })) return false;
    }
    return true;
  }

  bool read_graph(const Json& json) {
    GraphRecord& graph = file_.graphs.emplace_back();
    const auto read_label = [&](const Json& v) {
      graph.label = std::make_shared<const Json>(v);
      return true;
    };
    const auto read_nodes = [&](const Json& v) { return read_node_counts(v, graph.nodes.emplace()); };
    if (!members(json, {"id", "runs"},
                 {{"id", into(graph.id.value)},
                  {"label", read_label},
                  {"runs", into(graph.runs)},
                  {"nodes", read_nodes},
                  {"body_nodes", [&](const Json& v) { return read_node_counts(v, graph.body_nodes); }},
                  {"created_ns", into(graph.created_ns)},
                  {"destroyed_ns", into(graph.destroyed_ns)}})) {
      return false;
    }
    return is_ascending(file_.graphs);
  }

  bool read_exec(const Json& json) {
    ExecRecord& exec = file_.execs.emplace_back();
    if (!members(json, {"id", "template"},
                 {{"id", into(exec.id.value)},
                  {"template", into(exec.template_graph.value)},
                  {"template_ids", into(exec.template_ids)},
                  {"placement", into(exec.placement)},
                  {"overrides", into(exec.overrides)},
                  {"created_ns", into(exec.created_ns)},
                  {"destroyed_ns", into(exec.destroyed_ns)}})) {
      return false;
    }
    if (!exec.placement.empty() && exec.placement.front().first.value < exec.template_ids) {
      return fail("the placement begins at node " + std::to_string(exec.placement.front().first.value) +
                  ", but ids below template_ids, which is " + std::to_string(exec.template_ids) + ", are the template's");
    }
    return is_ascending(file_.execs);
  }

  bool read_node_counts(const Json& json, NodeCounts& counts) {
    return members(json, {},
                   {{"kernels", into(counts.kernels)}, {"memcpys", into(counts.memcpys)}, {"memsets", into(counts.memsets)}});
  }

  // [first, annotation] or [first, annotation, origin]
  bool read_run(const Json& json, Run& run) {
    if (!json.is_array() || json.size() < 2 || json.size() > 3)
      return fail("a run is [first, annotation] or [first, annotation, origin]");
    std::uint32_t index = 0;
    if (!read_value(json[0], run.first.value) || !read_value(json[1], index)) return false;
    if (index > annotations_.size()) {
      return fail("annotation " + std::to_string(index) + " is not in the table of " + std::to_string(annotations_.size()) +
                  " (they count from 1)");
    }
    const bool is_none = index == 0;
    run.annotation = is_none ? AnnotationId::none : annotations_[index - 1];
    run.origin = is_none ? Origin::outside_scope : Origin::callback;
    if (json.size() == 2) return true;
    const auto origin = json[2].is_string() ? origin_from_string(json[2].get_ref<const std::string&>()) : std::nullopt;
    if (!origin || *origin > Origin::unknown_graph || is_provenance(*origin) == is_none) {
      return fail(dump_json(json[2]).substr(0, 60) +
                  (is_none ? " is no reason for a run without annotation, such as \"outside-scope\""
                           : " is no provenance, such as \"callback\""));
    }
    run.origin = *origin;
    return true;
  }

  bool read_value(const Json& json, std::vector<Run>& runs) {
    runs.reserve(json.size());
    return elements(json, [&](const Json& v) {
      Run run;
      if (!read_run(v, run)) return false;
      if (!runs.empty() && !(runs.back().first < run.first)) {
        return fail("node " + std::to_string(run.first.value) + " after node " + std::to_string(runs.back().first.value) +
                    "; runs must ascend");
      }
      runs.push_back(run);
      return true;
    });
  }

  bool read_value(const Json& json, std::string& out) {
    if (!json.is_string()) return fail("must be a string");
    out = json.get<std::string>();
    return true;
  }

  bool read_value(const Json& json, std::vector<std::string>& out) {
    return elements(json, [&](const Json& v) { return read_value(v, out.emplace_back()); });
  }

  template <typename T>
  requires std::is_integral_v<T>
  bool read_value(const Json& json, T& out) {
    const bool fits = json.is_number_unsigned()
                          ? json.get<std::uint64_t>() <= static_cast<std::uint64_t>(std::numeric_limits<T>::max())
                          : json.is_number_integer() && std::is_signed_v<T>;
    if (!fits) {
      return fail("must be an integer of " + std::to_string(std::numeric_limits<T>::min()) + " to " +
                  std::to_string(std::numeric_limits<T>::max()));
    }
    out = json.get<T>();
    return true;
  }

  bool read_value(const Json& json, std::optional<std::int64_t>& out) { return read_value(json, out.emplace()); }

  template <typename T>
  Read into(T& out) {
    return [this, &out](const Json& json) { return read_value(json, out); };
  }

  template <typename Record>
  bool is_ascending(const std::vector<Record>& records) {
    if (records.size() < 2) return true;
    const GraphId before = records[records.size() - 2].id, id = records.back().id;
    return before < id ||
           fail("id " + std::to_string(id.value) + " after id " + std::to_string(before.value) + "; ids must ascend");
  }

  // Graphs and exec graphs draw their ids from one counter.
  bool check_ids() {
    for (const ExecRecord& exec : file_.execs) {
      if (file_.find_graph(exec.id) != nullptr)
        return fail("id " + std::to_string(exec.id.value) + " is a graph's and an exec graph's; an id is one of them for good");
    }
    return true;
  }

  // Reads the members of an object; those that are not known are counted.
  bool members(const Json& object, std::initializer_list<const char*> required, Reads known) {
    if (!object.is_object()) return fail("must be an object");
    for (const char* key : required) {
      if (!object.contains(key)) return fail("\"" + std::string(key) + "\" is missing");
    }
    for (const auto& member : object.items()) {
      const bool ok = in({&member.key(), 0}, [&] {
        for (const auto& [key, read] : known) {
          if (member.key() == key) return read(member.value());
        }
        if (unknown_members_++ == 0) first_unknown_ = pointer();
        return true;
      });
      if (!ok) return false;
    }
    return true;
  }

  template <typename Function>
  bool elements(const Json& array, Function read) {
    if (!array.is_array()) return fail("must be an array");
    for (std::size_t i = 0; i < array.size(); ++i) {
      if (!in({nullptr, i}, [&] { return read(array[i]); })) return false;
    }
    return true;
  }

  template <typename Function>
  bool in(Step step, Function read) {
    steps_.push_back(step);
    const bool ok = read();
    steps_.pop_back();
    return ok;
  }

  std::string pointer() const {
    std::string out;
    for (const Step& step : steps_) {
      out += '/';
      if (step.key == nullptr) {
        out += std::to_string(step.index);
        continue;
      }
      for (const char c : step.key->substr(0, 60)) out += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
    }
    return out;
  }

  bool fail(const std::string& what) {
    error_ = {ErrorCode::malformed,
              "at JSON pointer \"" + pointer() + "\": " + what + "; write the file anew, as graphtag.annotations/1 has it",
              file_.path,
              {}};
    return false;
  }

  std::vector<Step> steps_;  // down to the part that is being read
  AnnotationFile file_;
  std::vector<AnnotationId> annotations_;  // index in the file, less one -> id
  Error error_;
  std::uint64_t unknown_members_ = 0;
  std::string first_unknown_;
};

}  // namespace

Result<AnnotationFile> read_schema_file(const Json& root, const std::string& path) {
  return SchemaReader(path).read(root);
}

}  // namespace graphtag
