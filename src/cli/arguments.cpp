#include "cli/arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <map>
#include <string_view>

#include "analyze/name_filter.h"
#include "base/version.h"
#include "cli/completion.h"
#include "cli/exit_code.h"
#include "cli/messages.h"
#include "cli/validators.h"

namespace graphtag::cli {
namespace {

// "key=value,key=value" -> pairs.
std::string split_pairs(const std::string& text, std::vector<std::pair<std::string, std::string>>& pairs) {
  std::stringstream stream(text);
  for (std::string item; std::getline(stream, item, ',');) {
    const auto equals = item.find('=');
    if (equals == std::string::npos || equals == 0) return "'" + item + "' is not KEY=VALUE";
    pairs.emplace_back(item.substr(0, equals), item.substr(equals + 1));
  }
  return {};
}

// "1.5ms" -> nanoseconds; a bare number is milliseconds.
std::optional<std::int64_t> parse_time_ns(const std::string& text) {
  static const std::map<std::string, double> units{{"", 1e6}, {"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
  std::size_t used = 0;
  double number = 0;
  try {
    number = std::stod(text, &used);
  } catch (const std::exception&) {
    return std::nullopt;
  }
  const auto unit = units.find(text.substr(used));
  if (unit == units.end() || !(number >= 0) || number * unit->second > 9e18) return std::nullopt;
  return static_cast<std::int64_t>(number * unit->second + 0.5);
}

// "FROM..TO" with either side left out.
std::string parse_window(const std::string& text, std::optional<std::pair<std::int64_t, std::int64_t>>& window) {
  const auto dots = text.find("..");
  const std::string problem = "'" + text + "' is not FROM..TO, such as 10ms..25ms";
  if (dots == std::string::npos) return problem;
  const std::string from = text.substr(0, dots), to = text.substr(dots + 2);
  const auto from_ns = from.empty() ? 0 : parse_time_ns(from);
  const auto to_ns = to.empty() ? kWindowOpen : parse_time_ns(to);
  if (!from_ns || !to_ns || *from_ns >= *to_ns) return problem;
  window = {*from_ns, *to_ns};
  return {};
}

std::string check_expression(const std::string& text) {
  const auto filter = NameFilter::compile(text, "the pattern");
  return filter ? std::string{} : filter.error().message;
}

constexpr const char* kAnnotationsHelp =
    "Annotation file, or a folder of them: graphtag's own, or a pickle or JSON of torch.cuda.graph_annotations; may repeat, the "
    "later wins";

void add_process(CLI::App& verb, std::optional<std::int64_t>& process) {
  verb.add_option("--process", process,
                  "Of an Nsight Systems export with several processes, or recordings joined with cat: this one")
      ->check(whole_number())
      ->type_name("PID");
}

void add_input(CLI::App& verb, TraceArguments& input) {
  verb.add_option("-a,--annotations", input.annotations, kAnnotationsHelp)
      ->check(file_name())
      ->type_name("FILE")
      ->allow_extra_args(false)
      ->option_text("FILE");  // without dots: one each time
  verb.add_flag("--force", input.force, "Use annotation files of another host, process or rank as well");
  add_process(verb, input.process);
}

void add_table(CLI::App& verb, TableArguments& table, const std::string& usual_rows) {
  const std::string group = "Output";
  verb.add_option("--format", table.format, "Table, or rows for programs; on a terminal: table, else tsv")
      ->check(one_of({"table", "tsv", "csv", "json", "md"}))
      ->type_name("table|tsv|csv|json|md")
      ->group(group);
  verb.add_option("-o,--out", table.out, "Write to FILE instead of standard output")
      ->check(file_name())
      ->type_name("FILE")
      ->group(group);
  verb.add_flag("--wide", table.wide, "Every column and whole names, whatever the terminal's width")->group(group);
  verb.add_option("--unit", table.unit, "Unit of times in table and md")
      ->check(one_of({"ns", "us", "ms", "s"}))
      ->type_name("ns|us|ms|s")
      ->group(group);
  verb.add_option("--columns", table.columns, "These columns, in this order")->delimiter(',')->type_name("A,B,..")->group(group);
  verb.add_option("--sort", table.sort, "Sort by a column; descending unless :asc")->type_name("COL[:asc]")->group(group);
  verb.add_option_function<std::string>(
          "--top",
          [&table](const std::string& text) {
            if (text == "all") {
              table.all_rows = true;
              return;
            }
            std::uint64_t rows = 0;
            if (!CLI::detail::lexical_cast(text, rows) || text[0] == '-')
              throw CLI::ValidationError("--top", "'" + text + "' is not a whole number or 'all'");
            table.top = rows;
          },
          "Show so many rows (" + usual_rows + ")")
      ->type_name("N|all")
      ->group(group);
}

constexpr const char* kCounted = "What is counted";

// Which records, of report and check.
void add_selection(CLI::App& verb, SelectionOptions& selection) {
  verb.add_option_function<std::vector<std::string>>(
          "--where",
          [&selection](const std::vector<std::string>& texts) {
            for (const auto& text : texts) {
              if (const auto problem = split_pairs(text, selection.where); !problem.empty())
                throw CLI::ValidationError("--where", problem);
            }
          },
          "Only records whose annotation has these values, such as bs=8; also graph, stream, device, phase (fwd, bwd), kind, "
          "rank")
      ->type_name("K=V,..")
      ->group(kCounted);
  verb.add_option_function<std::string>(
          "--kind",
          [&selection](const std::string& text) {
            selection.kind = text == "kernel"   ? OperationKind::kernel
                             : text == "memcpy" ? OperationKind::memcpy
                                                : OperationKind::memset;
          },
          "Only records of this kind")
      ->check(one_of({"kernel", "memcpy", "memset"}))
      ->type_name("kernel|memcpy|memset")
      ->group(kCounted);
  verb.add_option_function<std::string>(
          "--window",
          [&selection](const std::string& text) {
            if (const auto problem = parse_window(text, selection.window_ns); !problem.empty())
              throw CLI::ValidationError("--window", problem);
          },
          "Only this stretch of time, from the first GPU record on")
      ->type_name("FROM..TO")
      ->group(kCounted);
  verb.add_option("--skip-replays", selection.skip_replays, "Leave out the first N replays of each graph")
      ->check(whole_number(0))
      ->type_name("N")
      ->group(kCounted);
}

void add_regions(CLI::App& verb, RegionOptions& regions) {
  add_selection(verb, regions);
  const auto text_check = [](const std::string& text) { return check_expression(text); };
  verb.add_option("--include", regions.include, "Only regions whose full name has a match")
      ->check(text_check, "")
      ->type_name("RE")
      ->group(kCounted);
  verb.add_option("--exclude", regions.exclude, "No regions whose full name has a match")
      ->check(text_check, "")
      ->type_name("RE")
      ->group(kCounted);
  verb.add_option("--comm", regions.comm, "Kernel names that are communication")
      ->check(text_check, "")
      ->type_name("RE")
      ->group(kCounted);
  verb.add_option("--by", regions.by, "Split rows by these keys of the annotation; also graph, stream, device, phase, kind, rank")
      ->delimiter(',')
      ->type_name("K,..")
      ->group(kCounted);
  verb.add_option_function<std::string>(
          "--view",
          [&regions](const std::string& text) {
            regions.view = text == "pattern" ? RegionView::pattern : text == "tree" ? RegionView::tree : RegionView::flat;
          },
          "pattern: layers.* as one row (the default); tree: every region, indented; flat: every region, full names")
      ->check(one_of({"pattern", "tree", "flat"}))
      ->type_name("pattern|tree|flat")
      ->group(kCounted);
  verb.add_option("--depth", regions.depth, "Regions at most this deep; what is deeper counts for its ancestor")
      ->check(whole_number(1, 1 << 20))
      ->type_name("N")
      ->group(kCounted);
}

void add_run(CLI::App& verb, RunArguments& run) {
  // What follows the program is the program's, options too.
  verb.prefix_command();
  verb.add_option("-o,--out", run.out,
                  "Where the files go: a folder, or a file that ends with .pftrace (further processes get names beside it); else "
                  "the folder you are in")
      ->check(file_name())
      ->type_name("OUT");
  const auto add_duration = [&verb](const char* name, auto& ms, const char* description) {
    verb.add_option_function<std::string>(
            name,
            [name, &ms](const std::string& text) {
              const auto value = parse_duration_ms(text);
              if (!value) throw CLI::ValidationError(name, "'" + text + "' is not a time such as 10, 1.5s, 500ms or 2m");
              ms = *value;
            },
            description)
        ->type_name("TIME");
  };
  add_duration("--delay", run.delay_ms, "Record from so long after the start on (seconds, or with ms, s, m, h)");
  add_duration("--duration", run.duration_ms,
               "Record so long, in each process from when its recording begins; the program goes on");
  verb.add_option("--start-on", run.start_on, "Record from the first NVTX range of this text on")
      ->check(
          [](const std::string& text) {
            return text.starts_with("nvtx:") && text.size() > 5 ? std::string{} : "'" + text + "' is not nvtx:NAME";
          },
          "")
      ->type_name("nvtx:NAME");
  verb.add_flag("--no-api", run.no_api, "Without the program's calls of CUDA; work outside graphs gets no names then");
  verb.add_option_function<std::string>(
          "--max-size",
          [&run](const std::string& text) {
            const auto bytes = parse_size_bytes(text);
            if (!bytes || *bytes < (1U << 20))
              throw CLI::ValidationError("--max-size", "'" + text + "' is not a size of 1M or more, such as 500M");
            run.max_bytes = *bytes;
          },
          "Keep the newest so many bytes of each process's trace, in a ring of files NAME.1.pftrace, NAME.2.pftrace ..; those of "
          "an "
          "earlier run with the same -o NAME.pftrace are deleted")
      ->type_name("SIZE");
  verb.add_option_function<std::string>(
          "--buffers",
          [&run](const std::string& text) {
            const auto buffers = parse_buffers(text);
            if (!buffers)
              throw CLI::ValidationError("--buffers",
                                         "'" + text + "' is not COUNT or COUNTxSIZE (2 to 4096 of 4K to 64M), such as 64x1M");
            run.buffers = *buffers;
          },
          "Buffers that CUPTI fills (64x512K); more of them where records were dropped")
      ->type_name("COUNT[xSIZE]");
  verb.add_option("--nvtx-domains", run.nvtx_domains, "Only ranges of these NVTX domains; 'default' is the one without a name")
      ->type_name("A,B,..");
  verb.add_flag(
      "--no-guard", run.no_guard,
      "Preload nothing (LD_PRELOAD): a profiler that the program starts itself is refused by CUPTI then, and recording goes on");
}

// What CLI11 left over, and what stood behind the first "--" (which it would take for its own).
std::string take_command(const CLI::App& verb, const std::vector<std::string>& behind, RunArguments& run) {
  run.command = verb.remaining();
  // A mistyped option would be looked for as a program.
  if (!run.command.empty() && run.command.front().starts_with('-')) return "run has no option " + run.command.front();
  if (!run.command.empty() && !behind.empty()) run.command.emplace_back("--");
  run.command.insert(run.command.end(), behind.begin(), behind.end());
  return run.command.empty() ? "run needs a program: graphtag run [OPTIONS] -- PROGRAM [ARGUMENTS..]" : std::string{};
}

CLI::App* add_verb(CLI::App& app, const std::string& name, const std::string& description, const std::string& examples,
                   Common& common) {
  CLI::App* verb = app.add_subcommand(name, description);
  verb->footer(examples);
  verb->add_flag("-q,--quiet", common.quiet, "No progress bar and no summary; warnings stay");
  verb->add_option_function<std::string>(
          "--color",
          [&common](const std::string& text) {
            common.color = text == "always" ? When::always : text == "never" ? When::never : When::automatic;
          },
          "Colours; automatic: on a terminal, unless NO_COLOR is set")
      ->check(one_of({"auto", "always", "never"}))
      ->type_name("auto|always|never")
      ->default_str("auto");
  return verb;
}

}  // namespace

std::variant<Arguments, int> parse_arguments(int argc, const char* const* argv) {
  Common common;
  AnnotateArguments annotate;
  ReportArguments report;
  CheckArguments check;
  ShowArguments show;
  RunArguments run;
  DoctorArguments doctor;
  std::string shell;

  CLI::App app{"Names for the kernels of CUDA graphs.", "graphtag"};
  app.require_subcommand(1);
  app.set_version_flag("--version", "graphtag " + std::string(kVersion));
  app.failure_message(describe_failure);
  app.footer(
      "`graphtag VERB --help` has each verb's options and examples.\n\nExit codes: 0 done; 1 a bound was missed; 2 wrong command "
      "line;\n"
      "3 a file cannot be read or written; 4 a bound was asked for but the data cannot tell.");

  CLI::App* annotate_verb = add_verb(app, "annotate", "Write traces again with the names in",
                                     "Examples:\n"
                                     "  graphtag annotate trace.json.gz -a annotations.pkl -o named.json.gz\n"
                                     "  graphtag annotate trace.json.gz -a annotations.json --lanes all -o named.pftrace\n"
                                     "  graphtag annotate rank*.json.gz -a annotations/ -o named/\n",
                                     common);
  annotate_verb
      ->add_option("TRACE", annotate.traces,
                   "Traces of torch.profiler (Chrome JSON, plain or gzip), or SQLite exports of Nsight Systems")
      ->required()
      ->check(file_name())
      ->type_name("FILE");
  add_input(*annotate_verb, annotate.input);
  annotate_verb->get_option("--force")->description(
      "Use annotation files that do not fit the trace; annotate anew what is annotated already");
  annotate_verb
      ->add_option("-o,--out", annotate.out,
                   "What to write: X.json, X.json.gz, X.pftrace, X.pftrace.gz; or, and with several traces always, a folder, in "
                   "which names stay "
                   "and endings follow --format (chrome if not given: x.pftrace becomes x.json, x.sqlite becomes x.sqlite.json)")
      ->required()
      ->check(file_name())
      ->type_name("OUT");
  annotate_verb->add_option("--format", annotate.format, "Chrome JSON or Perfetto, where the name of OUT does not tell")
      ->check(one_of({"chrome", "perfetto"}))
      ->type_name("chrome|perfetto");
  annotate_verb
      ->add_option_function<std::string>(
          "--lanes", [&annotate](const std::string& text) { annotate.lanes = text == "all" ? Lanes::all : Lanes::none; },
          "all: graphed work moves to the stream that its annotation asks for, the rest of it to the default stream")
      ->check(one_of({"none", "all"}))
      ->type_name("none|all")
      ->default_str("none");
  annotate_verb
      ->add_option("--default-stream", annotate.default_stream, "Where --lanes all puts graphed work that asks for no stream")
      ->check(whole_number())
      ->capture_default_str()
      ->type_name("N");

  CLI::App* report_verb = add_verb(app, "report", "Where the GPU's time went, by region",
                                   "Examples:\n"
                                   "  graphtag report trace.json.gz -a annotations.pkl\n"
                                   "  graphtag report named.json.gz --view tree --depth 3\n"
                                   "  graphtag report named.json.gz --by bs --where phase=fwd --sort p95 --top all\n"
                                   "  graphtag report named.json.gz --format json -o report.json\n",
                                   common);
  report_verb->add_option("TRACE", report.trace, "A trace, annotated already or not")
      ->required()
      ->check(file_name())
      ->type_name("FILE");
  add_input(*report_verb, report.input);
  add_regions(*report_verb, report.regions);
  add_table(*report_verb, report.table, "30 in table and md, all elsewhere");
  report_verb->add_option("--min-pct", report.table.min_percent, "Leave out rows below this share of the busy time, in percent")
      ->check(number_between(0, 100))
      ->type_name("PERCENT")
      ->group("Output");

  CLI::App* check_verb = add_verb(app, "check", "How much of the graphed work has a name, and why the rest has none",
                                  "Examples:\n"
                                  "  graphtag check trace.json.gz -a annotations.pkl\n"
                                  "  graphtag check trace.json.gz -a annotations.pkl --min-time 0.95   # exit code 1 below\n"
                                  "  graphtag check trace.json.gz -a annotations.pkl --where bs=8 --skip-replays 1\n",
                                  common);
  check_verb->add_option("TRACE", check.trace, "A trace, annotated already or not")
      ->required()
      ->check(file_name())
      ->type_name("FILE");
  add_input(*check_verb, check.input);
  check_verb
      ->add_option("--min-time", check.options.min_time,
                   "Fail (exit code 1) if less than this share of the GPU time has a name, 0 to 1")
      ->check(number_between(0, 1))
      ->type_name("SHARE");
  add_selection(*check_verb, check.options);
  add_table(*check_verb, check.table, "all");

  CLI::App* show_verb = add_verb(app, "show", "What is in an annotation file or a trace",
                                 "Examples:\n"
                                 "  graphtag show annotations.pkl\n"
                                 "  graphtag show trace.json.gz --json\n",
                                 common);
  show_verb->add_option("FILE", show.file, "An annotation file or a trace")->required()->check(file_name())->type_name("FILE");
  add_process(*show_verb, show.process);
  show_verb->add_flag("--json", show.json, "The same as JSON");

  CLI::App* run_verb =
      add_verb(app, "run", "Run a program unchanged, and record its GPU work with names",
               "Examples:\n"
               "  graphtag run -- python serve.py\n"
               "  graphtag run -o traces/ --duration 30 -- torchrun --nproc-per-node 8 train.py\n"
               "  graphtag run -o app.pftrace --start-on nvtx:decode --no-api -- ./app --batch 8\n\n"
               "The exit code is the program's: 128 + N if signal N killed it, 127 if there is no such program, 126 if it cannot "
               "be executed.\n",
               common);
  add_run(*run_verb, run);

  CLI::App* doctor_verb = app.add_subcommand("doctor", "What works on this machine, and what to do about the rest");
  doctor_verb->footer(
      "Needs no rights. Exit code 0 if capture can work here, else 1.\n\nExamples:\n"
      "  graphtag doctor\n"
      "  graphtag doctor --json\n");
  doctor_verb->add_flag("--json", doctor.json, "The same as JSON (graphtag.doctor/1)");

  CLI::App* completion_verb = app.add_subcommand("completion", "Print a completion script for a shell");
  completion_verb->footer(
      "Examples:\n"
      "  graphtag completion bash > ~/.local/share/bash-completion/completions/graphtag\n"
      "  graphtag completion zsh > \"${fpath[1]}/_graphtag\"\n"
      "  graphtag completion fish > ~/.config/fish/completions/graphtag.fish\n");
  completion_verb->add_option("SHELL", shell, "bash, zsh or fish")
      ->required()
      ->check(one_of({"bash", "zsh", "fish"}))
      ->type_name("bash|zsh|fish");

  std::vector<std::string> behind;
  if (argc > 1 && std::string_view(argv[1]) == "run") {
    const char* const* end = argv + argc;
    const char* const* mark = std::find(argv + 2, end, std::string_view("--"));
    if (mark != end) behind.assign(mark + 1, end);
    argc = static_cast<int>(mark - argv);
  }
  const auto is_named = [&](const CLI::App* verb) { return argc > 1 && verb->check_name(argv[1]); };
  if (argc > 1 && argv[1][0] != '-' && app.get_subcommands(is_named).empty()) {
    return fail(
        {ErrorCode::invalid_argument, "there is no verb '" + std::string(argv[1]) + "'; graphtag --help lists them", {}, {}});
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? kOk : kUsage;
  }
  if (annotate_verb->parsed()) return Arguments{common, std::move(annotate)};
  if (report_verb->parsed()) return Arguments{common, std::move(report)};
  if (check_verb->parsed()) return Arguments{common, std::move(check)};
  if (show_verb->parsed()) return Arguments{common, std::move(show)};
  if (run_verb->parsed()) {
    if (const std::string problem = take_command(*run_verb, behind, run); !problem.empty()) {
      return fail({ErrorCode::invalid_argument, problem + "; graphtag run --help says more", {}, {}});
    }
    return Arguments{common, std::move(run)};
  }
  if (doctor_verb->parsed()) return Arguments{common, doctor};
  return Arguments{common, CompletionArguments{completion_script(app, shell)}};
}

}  // namespace graphtag::cli
