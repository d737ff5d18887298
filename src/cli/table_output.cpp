#include "cli/table_output.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "base/version.h"
#include "cli/exit_code.h"
#include "cli/file_kind.h"
#include "cli/messages.h"
#include "cli/output_names.h"
#include "cli/progress.h"
#include "cli/terminal.h"

namespace graphtag::cli {
namespace {

TimeUnit unit_from(const std::string& text) {
  if (text == "ns") return TimeUnit::ns;
  if (text == "us") return TimeUnit::us;
  if (text == "ms") return TimeUnit::ms;
  return text == "s" ? TimeUnit::s : TimeUnit::automatic;
}

}  // namespace

ReportStyle report_style(const TableArguments& table, const Common& common) {
  const bool to_terminal = table.out.empty() && is_terminal(STDOUT_FILENO);
  ReportStyle style;
  style.format = to_terminal ? TableFormat::table : TableFormat::tsv;
  if (const auto asked = table_format_from_string(table.format)) style.format = *asked;
  style.terminal.width = static_cast<std::size_t>(terminal_width(STDOUT_FILENO));
  style.terminal.wide = table.wide;
  style.terminal.utf8 = is_utf8_locale();
  style.terminal.color = table.out.empty() ? use_color(common.color, STDOUT_FILENO) : common.color == When::always;
  style.terminal.unit = unit_from(table.unit);
  style.columns = table.columns;
  style.sort = table.sort;
  style.top = table.all_rows ? kAllRows : table.top;
  style.min_percent = table.min_percent;
  return style;
}

ReportContext report_context(const std::string& trace, const OperationTable& operations) {
  ReportContext context;
  context.tool = "graphtag " + std::string(kVersion);
  context.inputs.push_back({trace, std::nullopt});
  for (const auto& input : operations.annotations.inputs()) context.inputs.push_back({input.path, input.sha256});
  return context;
}

Result<std::optional<AtomicFile>> open_out(const TableArguments& table, const std::string& trace, const TraceArguments& input) {
  if (table.out.empty()) return std::optional<AtomicFile>();
  if (auto refused = refuse_inputs(table.out, {trace}); !refused) return std::move(refused).error();
  if (auto refused = refuse_inputs(table.out, input.annotations); !refused) return std::move(refused).error();
  Result<AtomicFile> file = AtomicFile::create(table.out);
  if (!file) return std::move(file).error();
  return std::optional(std::move(file).value());
}

int print_rendered(const Rendered& rendered, std::optional<AtomicFile>& out, const Common& common) {
  if (!rendered.notes.empty() && !common.quiet) write_stderr(rendered.notes);
  if (!out) {
    std::fwrite(rendered.text.data(), 1, rendered.text.size(), stdout);
    return kOk;
  }
  Result<void> written = out->write(rendered.text);
  if (written) written = out->commit();
  return written ? kOk : fail(written.error());
}

Result<OperationTable> read_with_progress(const std::string& trace, const TraceArguments& input, const Common& common) {
  if (auto refused = refuse_annotations({trace}); !refused) return std::move(refused).error();
  auto sources = read_annotation_sources(input.annotations);
  if (!sources) return std::move(sources).error();
  Progress progress(std::filesystem::path(trace).filename().string(), common.quiet);
  JoinOptions options;
  options.force = input.force;
  options.read.process = input.process;
  options.read.progress = [&](std::uint64_t done, std::uint64_t total) { progress.update(done, total); };
  return read_operations(trace, *sources, options);
}

}  // namespace graphtag::cli
