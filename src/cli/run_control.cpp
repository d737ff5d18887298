#include "cli/run_control.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "base/process_image.h"

namespace graphtag::cli {
namespace {

std::uint32_t* word(const std::atomic<std::uint32_t>& atomic) {
  return reinterpret_cast<std::uint32_t*>(const_cast<std::atomic<std::uint32_t>*>(&atomic));
}

std::string make_private_folder() {
  const char* temporary = std::getenv("TMPDIR");
  for (const char* parent : {"/dev/shm", temporary != nullptr ? temporary : "/tmp"}) {
    std::string name = std::string(parent) + "/graphtag-run-XXXXXX";
    if (mkdtemp(name.data()) != nullptr) return name;
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<RunControl>> RunControl::create() {
  std::unique_ptr<RunControl> control(new RunControl);
  control->folder_ = make_private_folder();
  const auto refused = [&](const std::string& what) {
    return Error{
        ErrorCode::io, what + ": " + std::strerror(errno) + "; is there room in /dev/shm, or set TMPDIR", control->path_, {}};
  };
  if (control->folder_.empty()) return refused("no folder can be made in /dev/shm or TMPDIR");
  control->path_ = control->folder_ + "/control";
  const int fd = open(control->path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return refused("cannot make it");
  // All of it, or a process that writes to its place when the disk is full would be killed.
  errno = posix_fallocate(fd, 0, sizeof(run::ControlFile));
  if (errno != 0) {
    close(fd);
    return refused("cannot make it");
  }
  void* mapped = mmap(nullptr, sizeof(run::ControlFile), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (mapped == MAP_FAILED) return refused("cannot map it");
  control->file_ = static_cast<run::ControlFile*>(mapped);
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  run::Header& header = control->file_->header;
  header.begun_ns = std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
  header.version = run::kVersion;
  header.magic = run::kMagic;
  return control;
}

RunControl::~RunControl() {
  if (file_ != nullptr) munmap(file_, sizeof(run::ControlFile));
  if (!path_.empty()) unlink(path_.c_str());
  if (!folder_.empty()) rmdir(folder_.c_str());
}

std::vector<const run::Process*> RunControl::processes() const {
  std::vector<const run::Process*> found;
  const std::size_t count = std::min<std::size_t>(file_->header.processes.load(), run::kProcesses);
  for (std::size_t i = 0; i < count; ++i) {
    // A place that was taken is filled a moment later.
    if (file_->processes[i].state.load() != static_cast<std::uint32_t>(run::State::none)) found.push_back(&file_->processes[i]);
  }
  return found;
}

bool RunControl::flush(std::chrono::milliseconds limit) {
  const auto until = std::chrono::steady_clock::now() + limit;
  run::Header& header = file_->header;
  const std::uint32_t asked = header.flush_asked.fetch_add(1) + 1;
  syscall(SYS_futex, word(header.flush_asked), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  while (true) {
    const std::uint32_t seen = header.news.load();
    const auto all = processes();
    const bool done = std::all_of(all.begin(), all.end(), [&](const run::Process* process) {
      return process->state.load() != static_cast<std::uint32_t>(run::State::recording) || process->flushed.load() >= asked ||
             !lives(*process);
    });
    if (done) return true;
    const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(until - std::chrono::steady_clock::now()).count();
    if (left <= 0) return false;
    // A process that dies tells nobody: look again soon.
    const timespec timeout{0, static_cast<long>(std::min<std::int64_t>(left, 50'000'000))};
    syscall(SYS_futex, word(header.news), FUTEX_WAIT, seen, &timeout, nullptr, 0);
  }
}

bool lives(const run::Process& process) {
  const ProcessImage image = process_image(process.pid.load());
  const std::uint64_t stack = process.stack.load();
  return image.lives && (image.stack == 0 || stack == 0 || image.stack == stack);
}

}  // namespace graphtag::cli
