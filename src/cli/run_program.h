// Runs a program as if it had been started itself: its exit status, its signals, its standard streams.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "cli/program_file.h"
#include "cli/program_signals.h"

namespace graphtag::cli {

struct ProgramToRun {
  std::string path;                                // as find_program() gave it
  std::vector<std::string> words;                  // the program's name and its arguments
  std::map<std::string, std::string> environment;  // variables to set; the rest stays
};

struct ProgramHooks {
  // Before a signal that usually ends a program is passed on.
  std::function<void()> before_deadly_signal;
  // A few times a second.
  std::function<void()> tick;
};

// The program's exit code, 128 + N if signal N killed it; or why it could not be run. Signals that `signals` holds are passed on, except those that
// the terminal has sent to the program as well.
std::variant<int, CannotRun> run_program(const ProgramToRun& program, const ProgramSignals& signals, const ProgramHooks& hooks);

}  // namespace graphtag::cli
