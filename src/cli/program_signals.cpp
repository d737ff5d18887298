#include "cli/program_signals.h"

#include <algorithm>
#include <array>
#include <ctime>

namespace graphtag::cli {
namespace {

constexpr std::array kDeadly = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
constexpr std::array kOthers = {SIGUSR1, SIGUSR2, SIGCONT, SIGWINCH, SIGCHLD};
constexpr timespec kTick{0, 200'000'000};

}  // namespace

ProgramSignals::ProgramSignals() : pipe_before_(std::signal(SIGPIPE, SIG_IGN)) {
  sigemptyset(&held_);
  for (const int signal : kDeadly) sigaddset(&held_, signal);
  for (const int signal : kOthers) sigaddset(&held_, signal);
  sigprocmask(SIG_BLOCK, nullptr, &before_);
}

void ProgramSignals::hold() {
  sigprocmask(SIG_BLOCK, &held_, nullptr);
  // An ignored signal would not wait.
  child_before_ = std::signal(SIGCHLD, SIG_DFL);
}

ProgramSignals::~ProgramSignals() {
  sigprocmask(SIG_SETMASK, &before_, nullptr);
}

void ProgramSignals::give_back() const {
  std::signal(SIGXFSZ, SIG_DFL);
  std::signal(SIGPIPE, pipe_before_);
  std::signal(SIGCHLD, child_before_);
  sigprocmask(SIG_SETMASK, &before_, nullptr);
}

bool ProgramSignals::wait(siginfo_t& signal) const {
  return sigtimedwait(&held_, &signal, &kTick) > 0;
}

bool is_deadly(int signal) {
  return std::find(kDeadly.begin(), kDeadly.end(), signal) != kDeadly.end();
}

}  // namespace graphtag::cli
