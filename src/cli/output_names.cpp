#include "cli/output_names.h"

#include <filesystem>
#include <map>
#include <optional>

#include "model/annotation_file.h"

namespace graphtag::cli {
namespace {

namespace fs = std::filesystem;

struct Ending {
  const char* text;
  OutputFormat format;
  bool gzip;
};
constexpr Ending kEndings[] = {
    {".json.gz", OutputFormat::chrome, true},           {".json", OutputFormat::chrome, false},
    {".pftrace.gz", OutputFormat::perfetto, true},      {".pftrace", OutputFormat::perfetto, false},
    {".perfetto-trace", OutputFormat::perfetto, false}, {".perfetto-trace.gz", OutputFormat::perfetto, true},
};

std::optional<Ending> ending_of(const std::string& name) {
  for (const Ending& ending : kEndings) {
    if (name.size() > std::string_view(ending.text).size() && name.ends_with(ending.text)) return ending;
  }
  return std::nullopt;
}

Error unknown(const std::string& out) {
  return {ErrorCode::invalid_argument,
          "the name does not tell the format: end it in .json, .json.gz, .pftrace or .pftrace.gz, or give --format",
          out,
          {}};
}

// Keeps the trace's name; an ending that does not fit the format is replaced.
Output inside_folder(const fs::path& folder, const std::string& trace, const std::string& format) {
  std::string name = fs::path(trace).filename().string();
  const auto ending = ending_of(name);
  const OutputFormat wanted = format == "perfetto" ? OutputFormat::perfetto : OutputFormat::chrome;
  if (ending && ending->format == wanted) return {(folder / name).string(), wanted, ending->gzip};
  if (ending) name.resize(name.size() - std::string_view(ending->text).size());
  const bool gzip = ending ? ending->gzip : name.ends_with(".gz");
  if (!ending && gzip) name.resize(name.size() - 3);
  name += std::string(wanted == OutputFormat::chrome ? ".json" : ".pftrace") + (gzip ? ".gz" : "");
  return {(folder / name).string(), wanted, gzip};
}

}  // namespace

Result<std::vector<Output>> plan_outputs(const std::vector<std::string>& traces, const std::string& out,
                                         const std::string& format) {
  std::error_code ignored;
  const bool folder = traces.size() > 1 || out.ends_with('/') || fs::is_directory(out, ignored);
  if (!folder) {
    const auto ending = ending_of(out);
    if (format.empty() && !ending) return unknown(out);
    Output output{out, ending ? ending->format : OutputFormat::chrome, ending ? ending->gzip : out.ends_with(".gz")};
    if (!format.empty()) output.format = format == "perfetto" ? OutputFormat::perfetto : OutputFormat::chrome;
    return std::vector<Output>{output};
  }
  if (fs::exists(out, ignored) && !fs::is_directory(out, ignored)) {
    return Error{ErrorCode::invalid_argument, "several traces need a folder, and this is a file; name a folder", out, {}};
  }
  std::vector<Output> outputs;
  std::map<std::string, std::string> taken;  // output path -> the trace that has it
  for (const std::string& trace : traces) {
    outputs.push_back(inside_folder(out, trace, format));
    const auto [other, fresh] = taken.emplace(outputs.back().path, trace);
    if (!fresh)
      return Error{
          ErrorCode::invalid_argument, "would be written to the same file as " + other->second + "; rename one", trace, {}};
  }
  return outputs;
}

Result<void> refuse_inputs(const std::string& out, const std::vector<std::string>& inputs) {
  std::error_code ignored;
  if (!fs::is_regular_file(out, ignored)) return {};
  for (const std::string& input : inputs) {
    const bool is_read = fs::is_directory(input, ignored)
                             ? fs::equivalent(fs::absolute(out).parent_path(), input, ignored) && read_annotation_file(out).ok()
                             : fs::equivalent(out, input, ignored);
    if (is_read)
      return Error{ErrorCode::invalid_argument, "is read for this, and would be overwritten; give another name with -o", out, {}};
  }
  return {};
}

Result<void> make_folder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return Error{ErrorCode::io, "cannot make this folder: " + error.message() + "; choose another with -o", path, {}};
  return {};
}

}  // namespace graphtag::cli
