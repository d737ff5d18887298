#include "cli/file_kind.h"

#include <cctype>
#include <cerrno>
#include <cstdio>
#include <string_view>

#include "base/file.h"
#include "model/annotation_file.h"
#include "trace/reader.h"

namespace graphtag::cli {

Result<bool> looks_like_annotations(const std::string& path) {
  if (Result<void> refused = refuse_pipe(path); !refused) return refused.error();
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return Error{errno == ENOENT ? ErrorCode::not_found : ErrorCode::io, open_failure(errno), path, {}};
  char head[65536];
  const std::string_view text(head, std::fread(head, 1, sizeof(head), file));
  const bool failed = std::ferror(file) != 0;
  std::fclose(file);
  if (failed) return Error{ErrorCode::io, "cannot read it; a file is needed", path, {}};
  const auto start = text.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  if (start == std::string_view::npos) return Error{ErrorCode::malformed, "the file is empty", path, {}};
  if (text.starts_with("\x1f\x8b") || text[start] == '[') return false;
  if (begins_like_a_binary_trace(text)) return false;
  if (begins_like_a_pickle(text)) return true;
  if (text[start] != '{') {
    return Error{ErrorCode::unsupported,
                 "it begins neither like a trace nor like an annotation file; give it a trace (Chrome JSON, a recording, an "
                 "Nsight Systems export) or annotations (JSON, pickle)",
                 path, 0};
  }
  if (text.find("\"graphtag.annotations/") != std::string_view::npos) return true;
  const auto quote = text.find('"', start);
  return quote != std::string_view::npos && quote + 1 < text.size() &&
         std::isdigit(static_cast<unsigned char>(text[quote + 1])) != 0;
}

Result<void> refuse_annotations(const std::vector<std::string>& traces) {
  for (const std::string& trace : traces) {
    const auto annotations = looks_like_annotations(trace);
    if (annotations && *annotations && read_annotation_file(trace).ok()) {
      return Error{
          ErrorCode::invalid_argument,
          "it is an annotation file, and a trace is needed here; give each annotation file its own -a, or name the folder",
          trace,
          {}};
    }
  }
  return {};
}

}  // namespace graphtag::cli
