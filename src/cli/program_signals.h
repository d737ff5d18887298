// The signals of `graphtag run`: they wait for it to pass them on, and the program gets them as they were.
#pragma once

#include <csignal>

namespace graphtag::cli {

class ProgramSignals {
 public:
  // From here on a reader of our messages that is gone ends nothing (SIGPIPE): the program's exit code counts.
  ProgramSignals();
  // From here on the others wait, so that none comes between what is made for the run and its removal.
  void hold();
  // Those that came and were not taken, come now.
  ~ProgramSignals();
  ProgramSignals(const ProgramSignals&) = delete;
  ProgramSignals& operator=(const ProgramSignals&) = delete;

  // In the program, between fork and exec. The command ignores SIGXFSZ for itself.
  void give_back() const;
  // False: none came for a while.
  bool wait(siginfo_t& signal) const;

 private:
  using Handler = void (*)(int);
  sigset_t held_{}, before_{};
  Handler pipe_before_ = SIG_DFL, child_before_ = SIG_DFL;
};

// Whether the signal usually ends a program.
bool is_deadly(int signal);

}  // namespace graphtag::cli
