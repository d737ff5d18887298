#include <fmt/format.h>

#include <filesystem>
#include <set>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/file_kind.h"
#include "cli/messages.h"
#include "cli/output_names.h"
#include "cli/progress.h"
#include "write/trace_writer.h"

namespace graphtag::cli {
namespace {

std::string percent(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? std::string("-") : fmt::format("{:.1f} %", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

void print_summary(const std::string& out, const AnnotateOutcome& outcome) {
  const Coverage& coverage = outcome.coverage;
  std::string text = fmt::format("{}: named {} of {} graphed records ({})", out, coverage.named, coverage.records,
                                 percent(coverage.named, coverage.records));
  const char* separator = "; ";
  for (const auto& [origin, count] : coverage.unnamed) {
    text += fmt::format("{}{} {}", separator, count, to_string(origin));
    separator = ", ";
  }
  if (coverage.outside_graphs > 0) text += fmt::format("; {} outside graphs", coverage.outside_graphs);
  if (outcome.dropped_slices > 0)
    text += fmt::format("; {} gpu_user_annotation slices left out with the lanes that lost all work", outcome.dropped_slices);
  note(text);
}

Result<AnnotateOutcome> annotate_one(const std::string& trace, const Output& output, const std::vector<AnnotationSource>& sources,
                                     const AnnotateArguments& arguments, const Common& common) {
  auto sink = open_sink(output.path, output.gzip);
  if (!sink) return std::move(sink).error();
  const auto writer = output.format == OutputFormat::chrome ? chrome_writer(**sink) : perfetto_writer(**sink);
  Progress progress(std::filesystem::path(trace).filename().string(), common.quiet);
  AnnotateOptions options;
  options.lanes = arguments.lanes;
  options.default_stream = arguments.default_stream;
  options.fit = arguments.traces.size() > 1 ? Fit::several : Fit::strict;
  options.force = arguments.input.force;
  options.read.process = arguments.input.process;
  options.read.progress = [&](std::uint64_t done, std::uint64_t total) { progress.update(done, total); };
  return annotate_trace(trace, sources, options, *writer);
}

}  // namespace

int run_annotate(const AnnotateArguments& arguments, const Common& common) {
  if (auto refused = refuse_annotations(arguments.traces); !refused) return fail(refused.error());
  const auto outputs = plan_outputs(arguments.traces, arguments.out, arguments.format);
  if (!outputs) return fail(outputs.error());
  for (const Output& output : *outputs) {
    if (auto refused = refuse_inputs(output.path, arguments.input.annotations); !refused) return fail(refused.error());
    // Who names a trace itself as OUT wants it replaced.
    if (output.path == arguments.out) continue;
    if (auto refused = refuse_inputs(output.path, arguments.traces); !refused) return fail(refused.error());
  }
  const auto sources = read_annotation_sources(arguments.input.annotations);
  if (!sources) return fail(sources.error());

  const bool several = arguments.traces.size() > 1;
  if (several && !arguments.input.force) {
    ReadOptions read;
    read.process = arguments.input.process;
    if (auto fit = require_fits(*sources, arguments.traces, read); !fit) return fail(fit.error());
  }
  if (several || arguments.out.ends_with('/')) {
    if (auto made = make_folder(arguments.out); !made) return fail(made.error());
  }
  for (std::size_t i = 0; i < arguments.traces.size(); ++i) {
    const auto outcome = annotate_one(arguments.traces[i], (*outputs)[i], *sources, arguments, common);
    if (!outcome) return fail(outcome.error());
    for (const auto& line : describe(outcome->read.problems)) warn(arguments.traces[i] + ": " + line);
    for (const auto& text : outcome->warnings) warn(arguments.traces[i] + ": " + text);
    for (const auto& text : outcome->passed_over) warn(arguments.traces[i] + ": passed over " + text);
    if (!common.quiet) print_summary((*outputs)[i].path, *outcome);
  }
  return kOk;
}

}  // namespace graphtag::cli
