#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "join/annotation_set.h"
#include "join/peek.h"

namespace graphtag {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFileLimitBytes = std::size_t{256} << 20;

Result<std::string> sha256_of(std::string_view content) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  if (EVP_Digest(content.data(), content.size(), digest.data(), &size, EVP_sha256(), nullptr) != 1) {
    return Error{ErrorCode::io, "OpenSSL cannot compute SHA-256; check its configuration", {}, {}};
  }
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (unsigned int i = 0; i < size; ++i) {
    text += kDigits[digest[i] >> 4];
    text += kDigits[digest[i] & 15];
  }
  return text;
}

Result<AnnotationSource> read_source(const std::string& path) {
  Result<std::string> content = read_file(path, kFileLimitBytes);
  if (!content) return content.error();
  Result<std::string> digest = sha256_of(*content);
  if (!digest) return digest.error();
  Result<AnnotationFile> file = parse_annotation_file(*content, path);
  if (!file) return file.error();
  return AnnotationSource{std::make_shared<AnnotationFile>(*std::move(file)),
                          {fs::path(path).filename().string(), *std::move(digest), path},
                          false,
                          {}};
}

// The annotation files directly in a folder, by name.
Result<std::vector<std::string>> files_in(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string extension = entry->path().extension().string();
    std::error_code type_error;
    if ((extension == ".pkl" || extension == ".pickle" || extension == ".json") && entry->is_regular_file(type_error)) {
      paths.push_back(entry->path().string());
    }
  }
  if (error) return Error{ErrorCode::io, "cannot list the folder: " + error.message(), folder, {}};
  std::sort(paths.begin(), paths.end());
  return paths;
}

Result<void> read_folder(const std::string& folder, std::vector<AnnotationSource>& sources) {
  Result<std::vector<std::string>> paths = files_in(folder);
  if (!paths) return paths.error();
  std::optional<Error> first_error;
  bool any = false;
  for (const std::string& path : *paths) {
    Result<AnnotationSource> source = read_source(path);
    if (source) {
      any = true;
      source->from_folder = true;
      sources.push_back(*std::move(source));
      continue;
    }
    AnnotationSource unreadable;
    unreadable.input.name = fs::path(path).filename().string();
    unreadable.from_folder = true;
    unreadable.unreadable = source.error().message;
    sources.push_back(std::move(unreadable));
    if (!first_error) first_error = source.error();
  }
  if (any) return {};
  if (first_error) return *first_error;
  return Error{
      ErrorCode::not_found, "no annotation file in this folder (*.pkl, *.pickle, *.json); name the file itself", folder, {}};
}

std::string quoted(const std::string& text) {
  return '"' + text + '"';
}
std::string number(std::int64_t value) {
  return std::to_string(value);
}

template <typename T, typename Print>
void compare(std::string_view what, const T& file, const T& trace, Print print, std::string& reason) {
  if (file == trace) return;
  if (!reason.empty()) reason += "; ";
  reason.append(what).append(" ").append(print(file)).append(", the trace has ").append(what).append(" ").append(print(trace));
}

// Why a file does not fit a trace: "rank 1, the trace has rank 0". Empty: it fits.
std::string misfit(const Producer& producer, const TraceInfo& info) {
  std::string reason;
  if (!producer.host.empty() && !info.host.empty()) compare("host", producer.host, info.host, quoted, reason);
  if (producer.pid && info.pid) compare("pid", *producer.pid, *info.pid, number, reason);
  if (producer.rank && info.rank) compare("rank", *producer.rank, *info.rank, number, reason);
  return reason;
}

// Only what stands around the events is of interest.
class NoEvents final : public EventVisitor {
  Result<void> on_event(const Event&) override { return {}; }
};

// Whether it matters what the trace says of this fact: sources that can be read differ in it, or one that says it need not fit.
template <typename Of>
bool matters(const std::vector<AnnotationSource>& sources, Fit how, Of of) {
  using Fact = decltype(of(std::declval<const Producer&>()));
  std::optional<Fact> first;
  for (const AnnotationSource& source : sources) {
    if (!source.unreadable.empty()) continue;
    Fact fact = of(source.file->producer);
    if (fact == Fact{}) continue;
    if (source.from_folder || how == Fit::several || (first && *first != fact)) return true;
    first = std::move(fact);
  }
  return false;
}

Error misfit_error(const AnnotationSource& source, const std::string& reason) {
  return {ErrorCode::invalid_argument,
          "these annotations are of another process: " + reason +
              "; give the file of the process that was profiled, or use it all the same with --force",
          source.file->path,
          {}};
}

}  // namespace

Result<std::vector<AnnotationSource>> read_annotation_sources(const std::vector<std::string>& paths) {
  std::vector<AnnotationSource> sources;
  for (const std::string& path : paths) {
    std::error_code error;
    if (fs::is_directory(path, error)) {
      if (Result<void> read = read_folder(path, sources); !read) return read.error();
      continue;
    }
    Result<AnnotationSource> source = read_source(path);
    if (!source) return source.error();
    sources.push_back(*std::move(source));
  }
  return sources;
}

Result<FitResult> choose_sources(const std::vector<AnnotationSource>& sources, TraceInfo info, Fit how) {
  FitResult result;
  result.info = std::move(info);
  for (const AnnotationSource& source : sources) {
    if (!source.unreadable.empty()) {
      result.passed_over.push_back(source.input.name + ": " + source.unreadable);
      continue;
    }
    const std::string reason = how == Fit::forced ? std::string{} : misfit(source.file->producer, result.info);
    if (reason.empty()) {
      result.fitting.push_back(&source);
    } else if (source.from_folder || how == Fit::several) {
      result.passed_over.push_back(source.input.name + ": " + reason);
    } else {
      return misfit_error(source, reason);
    }
  }
  return result;
}

Result<void> require_still_fit(const std::vector<const AnnotationSource*>& fitting, const TraceInfo& info, Fit how) {
  if (how == Fit::forced) return {};
  for (const AnnotationSource* source : fitting) {
    if (const std::string reason = misfit(source->file->producer, info); !reason.empty()) return misfit_error(*source, reason);
  }
  return {};
}

Result<FitResult> choose_sources_for(const std::string& trace_path, const std::vector<AnnotationSource>& sources, Fit how,
                                     const ReadOptions& options) {
  const bool process_matters = how != Fit::forced && std::any_of(sources.begin(), sources.end(), [](const AnnotationSource& s) {
                                 return s.file->producer.pid.has_value();
                               });
  Result<TraceInfo> info = peek_trace(trace_path, process_matters, options);
  if (!info) return info.error();
  // What the trace did not say yet it may say behind its events: worth a pass over it where the choice hangs on just that.
  if (how != Fit::forced && ((info->host.empty() && matters(sources, how, [](const Producer& p) { return p.host; })) ||
                             (!info->rank && matters(sources, how, [](const Producer& p) { return p.rank; })))) {
    NoEvents ignore_all;
    ReadOptions pass;
    pass.process = options.process;
    Result<ReadResult> read = read_trace(trace_path, ignore_all, pass);
    if (!read) return read.error();
    if (info->host.empty()) info->host = read->info.host;
    if (!info->rank) info->rank = read->info.rank;
  }
  return choose_sources(sources, *std::move(info), how);
}

Result<void> require_fits(const std::vector<AnnotationSource>& sources, const std::vector<std::string>& trace_paths,
                          const ReadOptions& options) {
  std::vector<FitResult> fits;
  for (const std::string& path : trace_paths) {
    Result<FitResult> fit = choose_sources_for(path, sources, Fit::several, options);
    if (!fit) return fit.error();
    fits.push_back(*std::move(fit));
  }
  for (const AnnotationSource& source : sources) {
    const bool fits_one = std::any_of(fits.begin(), fits.end(), [&](const FitResult& fit) {
      return std::find(fit.fitting.begin(), fit.fitting.end(), &source) != fit.fitting.end();
    });
    if (!fits_one && !source.from_folder) return misfit_error(source, misfit(source.file->producer, fits.front().info));
  }
  return {};
}

}  // namespace graphtag
