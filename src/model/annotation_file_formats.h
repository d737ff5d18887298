// The readers behind parse_annotation_file, one a format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/json.h"
#include "model/annotation_file.h"

namespace graphtag {

constexpr std::string_view kAnnotationSchema = "graphtag.annotations/1";
constexpr std::size_t kAnnotationFileLimitBytes = std::size_t{256} << 20;
constexpr int kAnnotationNesting = 64;
// An annotation lies up to three containers deep in its file.
constexpr int kAnnotationFileNesting = kAnnotationNesting + 3;

// A JSON object with kAnnotationSchema. Errors name the JSON pointer of what is wrong.
Result<AnnotationFile> read_schema_file(const Json& root, const std::string& path);

// dict[int, list[dict]] and its older forms, with ids as decimal strings. Several dicts in a list: of two that know an id the later wins.
Result<AnnotationFile> read_torch_json(const Json& root, const std::string& path);

// What a file's notes say of NaN and infinities.
std::string numbers_became_null(std::uint64_t count);

// The same, pickled.
Result<AnnotationFile> read_torch_pickle(std::string_view content, const std::string& path);

}  // namespace graphtag
