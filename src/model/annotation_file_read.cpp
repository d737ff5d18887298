// Which format a file has, and its reader.
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "model/annotation_file.h"
#include "model/annotation_file_formats.h"
#include "model/not_a_number.h"

namespace graphtag {
namespace {

constexpr const char* kExpected =
    "expected JSON with the schema graphtag.annotations/1, or a pickle or JSON file of torch.cuda.graph_annotations";

Error unsupported(std::string message, const std::string& path) {
  return {ErrorCode::unsupported, std::move(message), path, {}};
}

// A text that is no JSON, or only for the numbers that Python writes and JSON lacks.
Result<AnnotationFile> read_broken_json(std::string_view content, Error error, const std::string& path) {
  const NullsForNumbers nulled = null_not_a_numbers(content);
  if (nulled.count != 0) {
    const auto root = parse_json(nulled.text, path, {.bytes = nulled.text.size(), .nesting = kAnnotationFileNesting});
    if (root && !(root->is_object() && root->contains("schema"))) {
      auto file = read_torch_json(*root, path);
      if (file) file->notes.push_back(numbers_became_null(nulled.count));
      return file;
    }
    if (!root) {
      error = root.error();
      if (error.offset) error.offset = nulled.original_offset(*error.offset);
    }
  }
  if (error.code == ErrorCode::malformed) error.message += "; write the file anew";
  return error;
}

Result<AnnotationFile> read_json(std::string_view content, const std::string& path) {
  auto root = parse_json(content, path, {.bytes = kAnnotationFileLimitBytes, .nesting = kAnnotationFileNesting});
  if (!root && root.error().code == ErrorCode::malformed) return read_broken_json(content, std::move(root).error(), path);
  if (!root) return std::move(root).error();
  if (root->is_object()) {
    if (const auto schema = root->find("schema"); schema != root->end()) {
      if (*schema == std::string(kAnnotationSchema)) return read_schema_file(*root, path);
      if (schema->is_string() && schema->get_ref<const std::string&>().starts_with("graphtag.annotations/")) {
        return unsupported(
            "schema " + dump_json(*schema) + " is not known here, only graphtag.annotations/1 is; use the graphtag that wrote it",
            path);
      }
      return unsupported("schema " + dump_json(*schema).substr(0, 80) + " is not one of annotations; " + kExpected, path);
    }
    if (root->contains("traceEvents")) return unsupported("this is a trace, not annotations; " + std::string(kExpected), path);
  }
  return read_torch_json(*root, path);
}

}  // namespace

bool begins_like_a_pickle(std::string_view content) {
  // PROTO from protocol 2 on, before that MARK, EMPTY_DICT, EMPTY_LIST or GLOBAL.
  return !content.empty() && std::string_view("\x80(}]c").find(content.front()) != std::string_view::npos;
}

Result<AnnotationFile> parse_annotation_file(std::string_view content, const std::string& path) {
  if (content.size() > kAnnotationFileLimitBytes) {
    return Error{ErrorCode::too_large, "more than 256 MiB of annotations; record fewer graphs in one file", path, {}};
  }
  const std::string_view text = content.starts_with("\xef\xbb\xbf") ? content.substr(3) : content;
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos)
    return Error{ErrorCode::malformed, "the file is empty; " + std::string(kExpected), path, {}};
  if (text[first] == '{' || text[first] == '[') return read_json(content, path);
  if (content.starts_with("\x1f\x8b"))
    return unsupported(
        "the file is compressed: annotation files are not, traces are, and go without -a; if it is one, gunzip it first", path);
  if (content.starts_with("PK\x03\x04")) {
    return unsupported("this is a zip file, as torch.save writes; write the annotations with pickle.dump or json.dump instead",
                       path);
  }
  if (!begins_like_a_pickle(content)) {
    return unsupported("not an annotation file; " + std::string(kExpected), path);
  }
  return read_torch_pickle(content, path);
}

Result<AnnotationFile> read_annotation_file(const std::string& path) {
  const auto content = read_file(path, kAnnotationFileLimitBytes);
  if (!content) return content.error();
  return parse_annotation_file(*content, path);
}

}  // namespace graphtag
