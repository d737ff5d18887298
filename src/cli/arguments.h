// The command line as plain data. CLI11 is seen by arguments.cpp alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "analyze/check.h"
#include "analyze/regions.h"
#include "cli/run_values.h"
#include "join/annotate.h"

namespace graphtag::cli {

enum class When : std::uint8_t { automatic, always, never };

struct Common {
  bool quiet = false;  // no progress, no summary; errors and warnings stay
  When color = When::automatic;
};

// Which traces, and whose.
struct TraceArguments {
  std::vector<std::string> annotations;
  bool force = false;
  std::optional<std::int64_t> process;  // of files with several
};

struct AnnotateArguments {
  std::vector<std::string> traces;
  TraceArguments input;
  std::string out;
  std::string format;  // "chrome", "perfetto", or "" (from the name of `out`)
  Lanes lanes = Lanes::none;
  std::int64_t default_stream = 7;
};

// Where a table goes and how it looks: shared by report and check.
struct TableArguments {
  std::string format;  // "table", "tsv", "csv", "json", "md", or "" (table on a terminal, else tsv)
  std::string out;     // "" for standard output
  bool wide = false;
  std::string unit;                  // "ns", "us", "ms", "s", or "" (chosen by the values)
  std::vector<std::string> columns;  // empty: the usual ones
  std::string sort;                  // "COLUMN" or "COLUMN:asc"
  std::optional<std::uint64_t> top;  // nothing: as usual for the format
  bool all_rows = false;
  double min_percent = 0;
};

struct ReportArguments {
  std::string trace;
  TraceArguments input;
  RegionOptions regions;
  TableArguments table;
};

struct CheckArguments {
  std::string trace;
  TraceArguments input;
  CheckOptions options;
  TableArguments table;
};

struct ShowArguments {
  std::string file;
  std::optional<std::int64_t> process;
  bool json = false;
};

struct RunArguments {
  std::vector<std::string> command;  // the program and its arguments
  std::string out;                   // a folder, or a file that ends with .pftrace; "": here
  std::int64_t delay_ms = 0;
  std::optional<std::int64_t> duration_ms;
  std::string start_on;  // "nvtx:NAME", or "" (at once)
  bool no_api = false;
  std::uint64_t max_bytes = 0;  // 0: no limit
  Buffers buffers;
  std::string nvtx_domains;  // "A,B"; "": all
  bool no_guard = false;
};

struct DoctorArguments {
  bool json = false;
};

struct CompletionArguments {
  std::string text;  // the finished script
};

using Verb = std::variant<AnnotateArguments, ReportArguments, CheckArguments, ShowArguments, RunArguments, DoctorArguments,
                          CompletionArguments>;

struct Arguments {
  Common common;
  Verb verb;
};

// What to do, or the exit code after --help, --version or a usage error, which are printed here.
std::variant<Arguments, int> parse_arguments(int argc, const char* const* argv);

}  // namespace graphtag::cli
