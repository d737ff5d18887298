// graphtag run: what there is to say before, while and after a program runs; the program itself is run_program.h's.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>

#include "base/segment_files.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/messages.h"
#include "cli/output_names.h"
#include "cli/own_library.h"
#include "cli/preload.h"
#include "cli/program_file.h"
#include "cli/program_signals.h"
#include "cli/run_control.h"
#include "cli/run_program.h"

namespace graphtag::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLibrary = "libgraphtag_inject.so";
constexpr const char* kGuard = "libgraphtag_guard.so";
constexpr const char* kPreload = "LD_PRELOAD";
constexpr const char* kSanitizerOptions = "ASAN_OPTIONS";
constexpr std::chrono::milliseconds kFlushLimit{3000};
constexpr const char* kHelp = "docs/run.md says what to do when nothing was recorded";

Result<std::string> find_library() {
  std::string path = own_library(kLibrary);
  if (!path.empty()) return path;
  return Error{ErrorCode::not_found,
               std::string("there is no ") + kLibrary + " beside the command or in ../lib; " + kInstallWhole,
               {},
               {}};
}

// With --max-size: the segments of one process, as a shell finds them.
std::string segments_of(const std::string& trace) {
  const std::size_t stem =
      trace.ends_with(run::kTraceSuffix) ? trace.size() - std::string_view(run::kTraceSuffix).size() : trace.size();
  return trace.substr(0, stem) + ".*" + trace.substr(stem);
}

// The library that an injection variable names, unless it is ours (a run within a run).
std::string next_library(const char* variable, const std::string& ours) {
  const char* value = std::getenv(variable);
  if (value == nullptr || *value == '\0') return {};
  std::error_code ignored;
  return fs::equivalent(value, ours, ignored) ? std::string{} : std::string{value};
}

// Makes sure of the place for the files, so that a run of hours does not end with none. An absolute path.
Result<std::string> prepare_out(const std::string& out, bool is_ring) {
  std::error_code error;
  const fs::path path = fs::absolute(out.empty() ? "." : out, error).lexically_normal();
  const bool is_file = out.ends_with(run::kTraceSuffix);
  for (const std::string_view ending : {".json", ".json.gz", ".pftrace.gz"}) {
    // A trace is what is meant, and that it cannot be.
    if (out.ends_with(ending) && !fs::is_directory(path, error)) {
      return Error{
          ErrorCode::invalid_argument,
          "recordings are .pftrace files: name one that ends so, or a folder (with a / at its end); graphtag annotate makes "
          "others of it",
          out,
          {}};
    }
  }
  const fs::path folder = is_file ? path.parent_path() : path;
  fs::create_directories(folder, error);
  if (error) {
    return Error{ErrorCode::io,
                 "this folder cannot be made: " + error.message() + "; -o takes a folder, or a file that ends with .pftrace",
                 folder.string(),
                 {}};
  }
  if (access(folder.c_str(), W_OK | X_OK) != 0)
    return Error{ErrorCode::io, "files cannot be made in this folder; choose another with -o", folder.string(), {}};
  if (is_file && fs::is_directory(path, error))
    return Error{ErrorCode::invalid_argument, "-o names a folder here, and ends with .pftrace", path.string(), {}};
  // Of an earlier run: nobody shall take it for this one's.
  if (is_file) {
    fs::remove(path, error);
    const std::string trace = path.string();
    fs::remove(trace.substr(0, trace.size() - std::string_view(run::kTraceSuffix).size()) + run::kAnnotationsSuffix, error);
  }
  if (is_file && is_ring) remove_segments(path.string(), 1);
  return path.string();
}

std::map<std::string, std::string> make_environment(const RunArguments& arguments, const std::string& library,
                                                    const std::string& out, const RunControl& control) {
  std::map<std::string, std::string> environment{
      {run::kCudaInjection, library},
      {run::kNvtxInjection, library},
      {run::kControl, control.path()},
      {run::kOut, out},
      {run::kDelay, std::to_string(arguments.delay_ms)},
      {run::kDuration, arguments.duration_ms ? std::to_string(*arguments.duration_ms) : ""},
      {run::kStartOn, arguments.start_on},
      {run::kNoApi, arguments.no_api ? "1" : ""},
      {run::kMaxBytes, std::to_string(arguments.max_bytes)},
      {run::kBufferCount, std::to_string(arguments.buffers.count)},
      {run::kBufferBytes, std::to_string(arguments.buffers.bytes)},
      {run::kDomains, arguments.nvtx_domains}};
  environment[run::kNextCuda] = next_library(run::kCudaInjection, library);
  environment[run::kNextNvtx] = next_library(run::kNvtxInjection, library);
  return environment;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

// What makes a profiler of the program's own pass through the guard, so that recording ends before it starts.
std::map<std::string, std::string> preload_guard(const RunArguments& arguments, Linkage linkage) {
  const std::string before = variable(kPreload);
  // One of a run around this one.
  const std::string without = preload_without(kGuard, before);
  std::map<std::string, std::string> nothing;
  if (without != before) nothing[kPreload] = without;
  // The loader of another word size would complain, and nothing is recorded there. A statically linked launcher has no loader, but its children have.
  if (arguments.no_guard || linkage == Linkage::other_machine) return nothing;
  const std::string guard = own_library(kGuard);
  const auto preload = guard.empty() ? std::nullopt : preload_first(guard, before);
  if (!preload) {
    const std::string why = guard.empty() ? std::string("there is no ") + kGuard + " beside the command or in ../lib"
                                          : guard + " cannot be preloaded, for a blank, a colon or a $ in its path";
    warn(why + ": a profiler that the program starts itself will be refused by CUPTI");
    return nothing;
  }
  return {{kPreload, *preload}, {kSanitizerOptions, sanitizer_with_preload(variable(kSanitizerOptions))}};
}

std::string percent(std::uint64_t part, std::uint64_t whole) {
  return fmt::format("{:.1f} %", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

// What one process did, once: when its recording ends before the program does, else at the end.
class Reporter {
 public:
  Reporter(const RunControl& control, bool is_ring, bool quiet) : control_(&control), is_ring_(is_ring), quiet_(quiet) {}

  void tick() {
    if (control_->news() == seen_) return;
    seen_ = control_->news();
    for (const run::Process* process : control_->processes()) {
      const auto state = static_cast<run::State>(process->state.load());
      const auto reason = static_cast<run::Reason>(process->reason.load());
      if (state == run::State::failed) say(*process);
      if (state == run::State::ended && reason != run::Reason::exit) say(*process);
    }
  }

  void finish(const std::string& program) {
    const auto all = control_->processes();
    if (all.empty()) {
      warn(fmt::format("no CUDA work was seen: {} started CUDA in no process, so nothing was written; {}", program, kHelp));
    }
    for (const run::Process* process : all) say(*process);
    const run::Header& header = control_->header();
    if (header.processes.load() > run::kProcesses)
      warn(fmt::format("{} more processes recorded without being listed here", header.processes.load() - run::kProcesses));
    if (header.next_failed.load() > 0)
      warn("the injection library that CUDA_INJECTION64_PATH or NVTX_INJECTION64_PATH named before could not be loaded");
    if (!all.empty() && header.nvtx_processes.load() == 0 && !quiet_)
      note("no NVTX was seen: kernels are recorded without names, unless the program names them through graphtag itself");
  }

 private:
  void say(const run::Process& process) {
    if (!said_.insert(&process).second) return;
    const auto state = static_cast<run::State>(process.state.load());
    const auto pid = process.pid.load();
    const std::string trace = is_ring_ ? segments_of(process.trace) : process.trace;
    switch (state) {
      case run::State::none:
        return;
      case run::State::failed:
        return warn(fmt::format("process {}: nothing is recorded: {}", pid, process.message));
      case run::State::waiting:
        return warn(
            fmt::format("process {}: recording never began: the delay or the range that --start-on names did not come", pid));
      case run::State::recording:
        if (lives(process)) {
          warn(fmt::format("process {} still runs and records: {}", pid, trace));
        } else {
          warn(fmt::format(
              "process {} was killed, or left by _exit or exec: {} has what it had written until then, a second before at most",
              pid, trace));
        }
        break;
      case run::State::ended:
        break;
    }
    summary(process, trace);
    if (state == run::State::ended) reason(process, trace);
    losses(process.counts, trace);
  }

  void summary(const run::Process& process, const std::string& trace) const {
    if (quiet_) return;
    const run::Counts& counts = process.counts;
    const std::uint64_t records = counts.kernels + counts.memcpys + counts.memsets;
    std::string text = fmt::format("{}: {} kernels, {} copies, {} sets, {} API calls, {} ranges", trace, counts.kernels.load(),
                                   counts.memcpys.load(), counts.memsets.load(), counts.api_calls.load(), counts.ranges.load());
    if (counts.graph_operations > 0) {
      text += fmt::format("; named {} of {} graphed records ({})", counts.graph_named.load(), counts.graph_operations.load(),
                          percent(counts.graph_named, counts.graph_operations));
    }
    const std::uint64_t outside = records - counts.graph_operations;
    if (outside > 0) text += fmt::format("; {} of {} outside graphs", counts.other_named.load(), outside);
    text += fmt::format("; {} dropped", counts.dropped.load());
    note(text);
  }

  void reason(const run::Process& process, const std::string& trace) const {
    switch (static_cast<run::Reason>(process.reason.load())) {
      case run::Reason::duration:
        if (!quiet_) note(fmt::format("{}: the time that --duration gives is over; the program goes on", trace));
        return;
      case run::Reason::other_profiler:
        return warn(fmt::format("{}: a profiler of the program's own took CUPTI's records over: recording ended there", trace));
      case run::Reason::made_way:
        return warn(fmt::format(
            "{}: the program started a profiler of its own after {:.1f} s: recording stopped there, its own profiler went on",
            trace, static_cast<double>(process.counts.recorded_ms) / 1e3));
      case run::Reason::cupti_failed:
        return warn(fmt::format("{}: CUPTI refused to go on; what was recorded until then is there", trace));
      case run::Reason::file:
        return warn(fmt::format("{}: not everything could be written: {}", trace, process.message));
      default:
        return;
    }
  }

  static void losses(const run::Counts& counts, const std::string& trace) {
    const auto say_if = [&](std::uint64_t count, const char* what) {
      if (count > 0) warn(fmt::format("{}: {} {}", trace, count, what));
    };
    say_if(counts.dropped, "records were dropped by CUPTI for want of buffers: --buffers gives more");
    say_if(counts.buffers_kept, "buffers were not given back by CUPTI, with what was in them");
    say_if(counts.lost, "records were lost, as the file could not be written: is the disk full?");
    say_if(counts.ranges_dropped, "NVTX ranges were not drawn, for want of room between two writings");
    say_if(counts.bad_times, "records have times that cannot be right; they are marked");
    say_if(counts.segments_deleted, "segments were deleted, to stay below --max-size");
    say_if(counts.names_refused, "NVTX ranges gave no name, as there are too many distinct ones: put what varies into payloads");
    say_if(counts.texts_mended, "texts of NVTX were not UTF-8 or longer than 4096 bytes, and were mended");
  }

  const RunControl* control_;
  const bool is_ring_, quiet_;
  std::uint32_t seen_ = 0;
  std::set<const run::Process*> said_;
};

void warn_of_linkage(const std::string& path, Linkage linkage) {
  switch (linkage) {
    case Linkage::dynamic:
      return;
    case Linkage::fixed:
      return warn(path +
                  " is statically linked, so that nothing can be injected into it: it runs unrecorded (programs that it starts "
                  "may be recorded)");
    case Linkage::other_machine:
      return warn(path + " is of another processor or word size, so that nothing can be injected into it: it runs unrecorded");
  }
}

}  // namespace

int run_run(const RunArguments& arguments, const Common& common) {
  ProgramSignals signals;
  const auto library = find_library();
  if (!library) return fail(library.error());
  const char* search = std::getenv("PATH");
  const auto found = find_program(arguments.command.front(), search != nullptr ? search : "/usr/local/bin:/usr/bin:/bin");
  const auto cannot_run = [](const CannotRun& why) {
    fail(Error{ErrorCode::not_found, why.what, {}, {}});
    return why.exit_code;
  };
  if (std::holds_alternative<CannotRun>(found)) return cannot_run(std::get<CannotRun>(found));
  const std::string& path = std::get<std::string>(found);
  const Linkage linkage = linkage_of(path, variable("PATH"));
  warn_of_linkage(path, linkage);
  const auto out = prepare_out(arguments.out, arguments.max_bytes != 0);
  if (!out) return fail(out.error());
  signals.hold();
  const auto control = RunControl::create();
  if (!control) return fail(control.error());

  Reporter reporter(**control, arguments.max_bytes != 0, common.quiet);
  ProgramHooks hooks;
  hooks.tick = [&] { reporter.tick(); };
  hooks.before_deadly_signal = [&] {
    if (!(*control)->flush(kFlushLimit)) warn("some process did not write out in time; the signal is passed on all the same");
  };
  auto environment = make_environment(arguments, *library, *out, **control);
  environment.merge(preload_guard(arguments, linkage));
  const auto ended = run_program({path, arguments.command, environment}, signals, hooks);
  if (std::holds_alternative<CannotRun>(ended)) return cannot_run(std::get<CannotRun>(ended));
  reporter.finish(arguments.command.front());
  return std::get<int>(ended);
}

}  // namespace graphtag::cli
