// Files of torch.cuda.graph_annotations:
//
//   {30064771072: [{"name": "a", "bs": 8}], 30064771073: [{"str": "b"}, {"bs": 1}], 30064771074: ["c"]}
//
//   graph 7   0 {"name":"a","bs":8}   1 {"name":"b","bs":1}   2 {"name":"c"}   3 and above: nothing
#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/object_filler.h"
#include "model/annotation_file_formats.h"
#include "model/pickle.h"

namespace graphtag {
namespace {

constexpr const char* kShape = "expected node id -> annotation, or a list of annotations; an annotation is a dict or a string";

// Puts together nodes and their annotations, whatever text they came from.
class Importer {
 public:
  static constexpr std::uint64_t kNodeLimit = std::uint64_t{16} << 20;

  Importer(const std::string& path, const char* format) {
    file_.path = path;
    file_.format = format;
    file_.producer.tool = "torch.cuda.graph_annotations";
  }

  // Of a node that comes twice the later annotation counts. False beyond the bound: a pickle may hold one dict in a list a million times.
  bool add(NodeId node, AnnotationId annotation) {
    nodes_.insert_or_assign(node, annotation);
    return ++added_ <= kNodeLimit;
  }

  // `value`: an object, a string, or an array of these, of which the later wins a key.
  Result<AnnotationId> annotation(Json value) {
    Json merged = Json::object();
    if (value.is_array()) {
      ObjectFiller filler(merged);
      for (Json& item : value) {
        if (!normalise(item)) return shape_error();
        for (const auto& member : item.items()) filler.set(member.key(), std::move(member.value()));
      }
    } else {
      if (!normalise(value)) return shape_error();
      merged = std::move(value);
    }
    const auto path = merged.find("graphtag.path");
    if (path == merged.end()) return file_.annotations.intern(std::move(merged), {});
    auto id = file_.annotations.intern(merged);
    if (id) return id;
    merged.erase("graphtag.path");
    ++bad_paths_;
    return file_.annotations.intern(std::move(merged), {});
  }

  void note(std::string text) { file_.notes.push_back(std::move(text)); }

  AnnotationFile finish() {
    if (bad_paths_ != 0)
      note(std::to_string(bad_paths_) + " \"graphtag.path\" values that are not arrays of strings were passed over");
    std::vector<std::pair<NodeId, AnnotationId>> nodes(nodes_.begin(), nodes_.end());
    std::sort(nodes.begin(), nodes.end());
    for (const auto& [node, annotation] : nodes) add_run(node, annotation);
    close_graph();
    return std::move(file_);
  }

 private:
  static Error shape_error() { return {ErrorCode::malformed, std::string("not an annotation; ") + kShape, {}, {}}; }

  // A string is a name, and so is the key "str" of older versions. False if `item` is no annotation.
  static bool normalise(Json& item) {
    if (item.is_string()) {
      item = Json{{"name", std::move(item)}};
      return true;
    }
    if (!item.is_object()) return false;
    const auto old = item.find("str");
    if (old == item.end() || !old->is_string() || item.contains("name")) return true;
    Json renamed = Json::object();
    auto& members = renamed.get_ref<Json::object_t&>();
    members.reserve(item.size());
    for (auto& member : item.get_ref<Json::object_t&>())
      members.emplace_back(member.first == "str" ? "name" : member.first, std::move(member.second));
    item = std::move(renamed);
    return true;
  }

  // Nodes come in ascending order. A run ends where its nodes do: what is not in the file has no annotation.
  void add_run(NodeId node, AnnotationId annotation) {
    if (file_.graphs.empty() || file_.graphs.back().id != node.graph()) {
      close_graph();
      file_.graphs.emplace_back().id = node.graph();
      next_local_ = 0;
    }
    auto& runs = file_.graphs.back().runs;
    const LocalId local = node.local();
    if (!runs.empty() && next_local_ != local.value) add_gap();
    const bool is_same = runs.empty() ? annotation == AnnotationId::none : runs.back().annotation == annotation;
    if (!is_same)
      runs.push_back({local, annotation, annotation == AnnotationId::none ? Origin::outside_scope : Origin::callback});
    next_local_ = std::uint64_t{local.value} + 1;
  }
  void add_gap() {
    auto& runs = file_.graphs.back().runs;
    if (runs.back().annotation == AnnotationId::none || next_local_ > 0xffffffff) return;
    runs.push_back({LocalId{static_cast<std::uint32_t>(next_local_)}, AnnotationId::none, Origin::outside_scope});
  }
  void close_graph() {
    if (!file_.graphs.empty() && !file_.graphs.back().runs.empty()) add_gap();
  }

  AnnotationFile file_;
  boost::unordered_flat_map<NodeId, AnnotationId, std::hash<NodeId>> nodes_;  // node -> annotation
  std::uint64_t next_local_ = 0;                                              // the id after the last node added
  std::uint64_t bad_paths_ = 0;
  std::uint64_t added_ = 0;
};

Error at_node(Error error, NodeId node, const std::string& path) {
  error.file = path;
  error.message = "node " + std::to_string(node.value) + ": " + error.message;
  return error;
}

// Plain values of a pickle as JSON. Containers that a pickle holds once may be reached by exponentially many ways, so what is built is bounded.
class Converter {
 public:
  Converter(const Pickle& pickle, const std::string& path) : pickle_(pickle), path_(path) {}

  Result<Json> convert(const PickleValue& value) {
    Json out;
    if (!build(value, 0, out)) return std::move(error_);
    return out;
  }

  void add_notes(Importer& importer) const {
    if (lost_numbers_ != 0) importer.note(numbers_became_null(lost_numbers_));
    if (text_keys_ != 0) importer.note(std::to_string(text_keys_) + " integer keys in annotations became text");
  }

 private:
  static constexpr std::uint64_t kValueLimit = std::uint64_t{16} << 20;
  static constexpr std::uint64_t kTextLimitBytes = kAnnotationFileLimitBytes;

  bool fail(ErrorCode code, std::string message, std::optional<std::uint64_t> offset = {}) {
    error_ = {code, std::move(message), path_, offset};
    return false;
  }

  bool count_text(std::string_view text) {
    text_bytes_ += text.size();
    return text_bytes_ <= kTextLimitBytes ||
           fail(ErrorCode::too_large, "the annotations unfold to more than 256 MiB of text; record fewer graphs in one file");
  }

  bool build(const PickleValue& value, int nesting, Json& out) {
    if (++values_ > kValueLimit) {
      return fail(ErrorCode::too_large, "the annotations unfold to more than " + std::to_string(kValueLimit) +
                                            " values; record fewer graphs in one file");
    }
    if (value.is_container() && nesting == kAnnotationNesting + 1) {
      return fail(ErrorCode::too_large,
                  "a value is nested deeper than " + std::to_string(kAnnotationNesting) + ", or holds itself");
    }
    switch (value.kind) {
      case PickleKind::none:
        out = nullptr;
        return true;
      case PickleKind::boolean:
        out = value.boolean;
        return true;
      case PickleKind::integer:
        out = value.integer;
        return true;
      case PickleKind::unsigned_integer:
        out = value.unsigned_integer;
        return true;
      case PickleKind::floating:
        if (!std::isfinite(value.floating)) {
          ++lost_numbers_;
          out = nullptr;
        } else {
          out = value.floating;
        }
        return true;
      case PickleKind::string:
        out = std::string(Pickle::text(value));
        return count_text(Pickle::text(value));
      case PickleKind::list:
      case PickleKind::tuple:
        out = Json::array();
        for (const PickleValue& item : pickle_.items(value)) {
          if (!build(item, nesting + 1, out.emplace_back())) return false;
        }
        return true;
      case PickleKind::dict:
        out = Json::object();
        return build_members(value, nesting, out);
      case PickleKind::global:
        return fail(ErrorCode::refused,
                    "GLOBAL: names a class or a function that is kept as a value; write the file anew with plain values",
                    value.offset);
    }
    return false;
  }

  bool build_members(const PickleValue& dict, int nesting, Json& out) {
    ObjectFiller filler(out);
    const auto items = pickle_.items(dict);
    for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
      const PickleValue& key = items[i];
      std::string text;
      if (key.kind == PickleKind::string) {
        text = Pickle::text(key);
      } else if (key.kind == PickleKind::integer || key.kind == PickleKind::unsigned_integer) {
        text = key.kind == PickleKind::integer ? std::to_string(key.integer) : std::to_string(key.unsigned_integer);
        ++text_keys_;
      } else {
        return fail(ErrorCode::malformed, "a key of an annotation is neither a string nor an integer; write it as a string");
      }
      Json value;
      if (!count_text(text) || !build(items[i + 1], nesting + 1, value)) return false;
      filler.set(text, std::move(value));
    }
    return true;
  }

  const Pickle& pickle_;
  const std::string& path_;
  Error error_;
  std::uint64_t values_ = 0, text_bytes_ = 0, lost_numbers_ = 0, text_keys_ = 0;
};

std::optional<NodeId> node_of(const PickleValue& key) {
  if (key.kind == PickleKind::integer && key.integer >= 0) return NodeId(static_cast<std::uint64_t>(key.integer));
  if (key.kind == PickleKind::unsigned_integer) return NodeId(key.unsigned_integer);
  return {};
}

std::optional<NodeId> node_of(std::string_view key) {
  std::uint64_t value = 0;
  const auto [end, code] = std::from_chars(key.data(), key.data() + key.size(), value);
  if (code != std::errc() || end != key.data() + key.size()) return {};
  return NodeId(value);
}

Error too_many_nodes(const std::string& path) {
  return {ErrorCode::too_large,
          "more than " + std::to_string(Importer::kNodeLimit) + " nodes; record fewer graphs in one file",
          path,
          {}};
}

Error shape_error(const std::string& what, const std::string& path) {
  return {ErrorCode::malformed, what + "; " + kShape + ", as torch.cuda.graph_annotations keeps them", path, {}};
}

}  // namespace

std::string numbers_became_null(std::uint64_t count) {
  return std::to_string(count) + " numbers that JSON lacks (NaN, infinity) became null";
}

Result<AnnotationFile> read_torch_json(const Json& root, const std::string& path) {
  Importer importer(path, "torch json");
  const auto add = [&](const Json& dict) -> Result<void> {
    if (!dict.is_object()) return shape_error("no JSON object", path);
    for (const auto& member : dict.items()) {
      const auto node = node_of(member.key());
      if (!node) return shape_error("\"" + member.key().substr(0, 40) + "\" is no node id of 64 bits, written in decimal", path);
      auto annotation = importer.annotation(member.value());
      if (!annotation) return at_node(std::move(annotation).error(), *node, path);
      if (!importer.add(*node, *annotation)) return too_many_nodes(path);
    }
    return {};
  };
  if (!root.is_array()) {
    if (auto added = add(root); !added) return std::move(added).error();
  } else {
    for (const Json& dict : root) {
      if (auto added = add(dict); !added) return std::move(added).error();
    }
  }
  return importer.finish();
}

Result<AnnotationFile> read_torch_pickle(std::string_view content, const std::string& path) {
  auto read = read_pickle(content, path);
  if (!read) return std::move(read).error();
  const Pickle& pickle = *read;
  Importer importer(path, "torch pickle");
  Converter converter(pickle, path);
  // Nodes of one scope share its dict or its string.
  boost::unordered_flat_map<std::uint32_t, AnnotationId> known_containers;
  boost::unordered_flat_map<const char*, AnnotationId> known_strings;

  const auto annotation_of = [&](const PickleValue& value) -> Result<AnnotationId> {
    if (value.is_container()) {
      if (const auto found = known_containers.find(value.index); found != known_containers.end()) return found->second;
    } else if (value.kind == PickleKind::string) {
      if (const auto found = known_strings.find(value.text); found != known_strings.end()) return found->second;
    }
    auto json = converter.convert(value);
    if (!json) return std::move(json).error();
    auto annotation = importer.annotation(*std::move(json));
    if (annotation && value.is_container()) known_containers.emplace(value.index, *annotation);
    if (annotation && value.kind == PickleKind::string) known_strings.emplace(value.text, *annotation);
    return annotation;
  };
  const auto add = [&](const PickleValue& dict) -> Result<void> {
    if (dict.kind != PickleKind::dict) return shape_error("no dict", path);
    const auto items = pickle.items(dict);
    for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
      const auto node = node_of(items[i]);
      if (!node) return shape_error("a key is no node id, an integer of 0 to 2^64 - 1", path);
      auto annotation = annotation_of(items[i + 1]);
      if (!annotation) return at_node(std::move(annotation).error(), *node, path);
      if (!importer.add(*node, *annotation)) return too_many_nodes(path);
    }
    return {};
  };
  const bool is_list = pickle.root.kind == PickleKind::list || pickle.root.kind == PickleKind::tuple;
  if (!is_list) {
    if (auto added = add(pickle.root); !added) return std::move(added).error();
  } else {
    for (const PickleValue& dict : pickle.items(pickle.root)) {
      if (auto added = add(dict); !added) return std::move(added).error();
    }
  }
  converter.add_notes(importer);
  if (pickle.size_bytes != content.size()) {
    importer.note(std::to_string(content.size() - pickle.size_bytes) + " bytes after the end of the pickle were passed over");
  }
  return importer.finish();
}

}  // namespace graphtag
