// Printing the tables of report and check: style from the command line and the terminal, destination, notes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "cli/arguments.h"
#include "join/operations.h"
#include "write/report_style.h"

namespace graphtag::cli {

// The style that the command line and the place of the output ask for.
ReportStyle report_style(const TableArguments& table, const Common& common);

// Tool, inputs with digests (of the annotation files), and warnings about files that were passed over.
ReportContext report_context(const std::string& trace, const OperationTable& operations);

// The file that was asked for; nothing stands for standard output. To be opened before a trace is read, which may take long. Errors: it is read
// itself (invalid_argument); as AtomicFile::create.
Result<std::optional<AtomicFile>> open_out(const TableArguments& table, const std::string& trace, const TraceArguments& input);

// Writes to `out`; notes go to standard error unless quiet. Returns the exit code.
int print_rendered(const Rendered& rendered, std::optional<AtomicFile>& out, const Common& common);

// Reads annotation files and trace, with a progress bar.
Result<OperationTable> read_with_progress(const std::string& trace, const TraceArguments& input, const Common& common);

}  // namespace graphtag::cli
