#include "cli/run_program.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

extern char** environ;

namespace graphtag::cli {
namespace {

std::vector<std::string> environment_with(const std::map<std::string, std::string>& changes) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (changes.count(text.substr(0, text.find('='))) == 0) all.push_back(text);
  }
  for (const auto& [name, value] : changes) all.push_back(name + "=" + value);
  return all;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (const auto& text : texts) all.push_back(const_cast<char*>(text.c_str()));
  all.push_back(nullptr);
  return all;
}

// Between fork and exec: nothing here may take memory.
[[noreturn]] void become(const char* path, char* const* words, char* const* environment, const ProgramSignals& signals,
                         int report) {
  signals.give_back();
  execve(path, words, environment);
  const int problem = errno;
  (void)!write(report, &problem, sizeof problem);
  _exit(127);
}

int exit_code_of(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

// Whether the program has this signal already. A terminal sends those of its keys to all processes of the foreground, but when it goes away it tells the
// leader of the session alone: this process, behind ssh, exec, tmux or docker.
bool has_come_to_all(const siginfo_t& signal) {
  return signal.si_code == SI_KERNEL && !(signal.si_signo == SIGHUP && getsid(0) == getpid());
}

// A script without a first line that names its interpreter is the shell's, as everywhere.
std::vector<std::string> through_shell(const ProgramToRun& program) {
  std::vector<std::string> words{"/bin/sh", program.path};
  words.insert(words.end(), program.words.begin() + 1, program.words.end());
  return words;
}

struct Started {
  pid_t pid = -1;
  int problem = 0;  // errno
};

Started start(const std::string& path, const std::vector<std::string>& words, const std::vector<std::string>& environment,
              const ProgramSignals& signals) {
  const std::vector<char*> argv = pointers(words), envp = pointers(environment);
  std::array<int, 2> report{};
  if (pipe2(report.data(), O_CLOEXEC) != 0) return {-1, errno};
  const pid_t pid = fork();
  if (pid == 0) become(path.c_str(), argv.data(), envp.data(), signals, report[1]);
  const int fork_problem = pid < 0 ? errno : 0;
  close(report[1]);
  int problem = fork_problem;
  ssize_t got = 0;
  do {
    got = read(report[0], &problem, sizeof problem);
  } while (got < 0 && errno == EINTR);
  close(report[0]);
  if (pid > 0 && got == sizeof problem) {
    waitpid(pid, nullptr, 0);
    return {-1, problem};
  }
  return {pid, fork_problem};
}

}  // namespace

std::variant<int, CannotRun> run_program(const ProgramToRun& program, const ProgramSignals& signals, const ProgramHooks& hooks) {
  const std::vector<std::string> environment = environment_with(program.environment);
  Started started = start(program.path, program.words, environment, signals);
  if (started.problem == ENOEXEC) started = start("/bin/sh", through_shell(program), environment, signals);
  if (started.problem != 0)
    return CannotRun{started.problem == ENOENT ? 127 : 126,
                     program.path + ": it cannot be run: " + std::strerror(started.problem)};

  while (true) {
    siginfo_t signal{};
    const bool came = signals.wait(signal);
    int status = 0;
    if (waitpid(started.pid, &status, WNOHANG) == started.pid) return exit_code_of(status);
    hooks.tick();
    if (!came || signal.si_signo == SIGCHLD) continue;
    if (is_deadly(signal.si_signo)) hooks.before_deadly_signal();
    if (!has_come_to_all(signal)) kill(started.pid, signal.si_signo);
  }
}

}  // namespace graphtag::cli
