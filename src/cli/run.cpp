#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <string_view>

#include "base/file.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/messages.h"

namespace graphtag::cli {
namespace {

// Leaves nothing behind, then dies of the signal as if it had not been caught.
extern "C" void on_deadly_signal(int number) {
  remove_unfinished_files();
  std::signal(number, SIG_DFL);
  raise(number);
}

void install_signal_handlers() {
  std::signal(SIGXFSZ, SIG_IGN);  // a file beyond the size limit is an error of write()
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
    struct sigaction action {};
    sigaction(number, nullptr, &action);
    if (action.sa_handler == SIG_IGN) continue;  // nohup
    action.sa_handler = on_deadly_signal;
    sigaction(number, &action, nullptr);
  }
}

// A closed standard stream would hand its number to the next file that is opened. What a verb writes to a closed output is an error,
// also through the name /dev/stdout; a program that `run` starts may do as it likes.
void open_standard_streams(bool runs_a_program) {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) != -1) continue;
    const bool takes_nothing = fd == STDOUT_FILENO && !runs_a_program;
    if (takes_nothing && open("/dev/full", O_WRONLY) == fd) continue;
    (void)open("/dev/null", fd == STDIN_FILENO || takes_nothing ? O_RDONLY : O_WRONLY);
  }
}

int dispatch(const Arguments& arguments) {
  struct Visitor {
    const Common& common;
    int operator()(const AnnotateArguments& verb) const { return run_annotate(verb, common); }
    int operator()(const ReportArguments& verb) const { return run_report(verb, common); }
    int operator()(const CheckArguments& verb) const { return run_check(verb, common); }
    int operator()(const ShowArguments& verb) const { return run_show(verb, common); }
    int operator()(const RunArguments& verb) const { return run_run(verb, common); }
    int operator()(const DoctorArguments& verb) const { return run_doctor(verb, common); }
    int operator()(const CompletionArguments& verb) const {
      std::fputs(verb.text.c_str(), stdout);
      return kOk;
    }
  };
  return std::visit(Visitor{arguments.common}, arguments.verb);
}

}  // namespace

int run(int argc, const char* const* argv) {
  open_standard_streams(argc > 1 && std::string_view(argv[1]) == "run");
  install_signal_handlers();
  try {
    const auto parsed = parse_arguments(argc, argv);
    int code = std::holds_alternative<int>(parsed) ? std::get<int>(parsed) : dispatch(std::get<Arguments>(parsed));
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
      code = fail({ErrorCode::io, "cannot write to standard output (is it closed, or the disk full?)", {}, {}});
    }
    return code;
  } catch (const std::bad_alloc&) {
    return fail({ErrorCode::too_large, "out of memory", {}, {}});
  } catch (const std::exception& error) {
    return fail({ErrorCode::unsupported, std::string("a mistake of graphtag's own, please report it: ") + error.what(), {}, {}});
  }
}

}  // namespace graphtag::cli
