#include "inject/control.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <ctime>

#include "base/process_image.h"

namespace graphtag::inject {
namespace {

void wake(std::atomic<std::uint32_t>& word) noexcept {
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

// Of at most `size` bytes, the terminating NUL included. UTF-8 stays whole in our own messages, which are short.
void put(char* to, std::size_t size, std::string_view text) noexcept {
  const std::size_t length = std::min(text.size(), size - 1);
  std::memcpy(to, text.data(), length);
  to[length] = '\0';
}

}  // namespace

std::int64_t monotonic_ns() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

Control::Control(const std::string& path) noexcept {
  if (path.empty()) return;
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return;
  struct stat facts {};
  if (fstat(fd, &facts) == 0 && facts.st_size == static_cast<off_t>(sizeof(run::ControlFile))) {
    void* mapped = mmap(nullptr, sizeof(run::ControlFile), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (mapped != MAP_FAILED) {
      file_ = static_cast<run::ControlFile*>(mapped);
      if (file_->header.magic.load() != run::kMagic || file_->header.version.load() != run::kVersion) {
        munmap(mapped, sizeof(run::ControlFile));
        file_ = nullptr;
      }
    }
  }
  close(fd);
}

void Control::tell() noexcept {
  file_->header.news.fetch_add(1);
  wake(file_->header.news);
}

void Control::nvtx_started() noexcept {
  if (file_ != nullptr) file_->header.nvtx_processes.fetch_add(1);
}

void Control::next_failed() noexcept {
  if (file_ != nullptr) file_->header.next_failed.fetch_add(1);
}

std::int64_t Control::begun_ns() const noexcept {
  return file_ != nullptr ? file_->header.begun_ns.load() : monotonic_ns();
}

bool Control::take_file() noexcept {
  return file_->header.file_taken.exchange(1) == 0;
}

void Control::enter() noexcept {
  if (file_ == nullptr) return;
  const std::uint32_t place = file_->header.processes.fetch_add(1);
  if (place >= run::kProcesses) return;
  self_ = &file_->processes[place];
  const auto pid = static_cast<std::uint32_t>(getpid());
  self_->pid.store(pid);
  self_->stack.store(process_image(pid).stack);
  self_->flushed.store(file_->header.flush_asked.load());
}

void Control::set_trace(std::string_view path) noexcept {
  if (self_ != nullptr) put(self_->trace, run::kPathBytes, path);
}

void Control::set_message(std::string_view text) noexcept {
  if (self_ != nullptr) put(self_->message, run::kMessageBytes, text);
}

void Control::set_state(run::State state, run::Reason reason) noexcept {
  if (self_ == nullptr) return;
  self_->reason.store(static_cast<std::uint32_t>(reason));
  self_->state.store(static_cast<std::uint32_t>(state));
  tell();
}

std::uint32_t Control::flush_asked() const noexcept {
  return file_ == nullptr ? 0 : file_->header.flush_asked.load();
}

std::uint32_t Control::flushed() const noexcept {
  return self_ == nullptr ? 0 : self_->flushed.load();
}

std::uint32_t Control::wait_for_flush(std::uint32_t seen, std::int64_t timeout_ns) noexcept {
  std::atomic<std::uint32_t>& word = file_ == nullptr ? nobody_asks_ : file_->header.flush_asked;
  const timespec timeout{static_cast<time_t>(timeout_ns / 1'000'000'000), static_cast<long>(timeout_ns % 1'000'000'000)};
  if (timeout_ns > 0) syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAIT, seen, &timeout, nullptr, 0);
  return word.load();
}

void Control::set_flushed(std::uint32_t flush) noexcept {
  if (self_ == nullptr) return;
  self_->flushed.store(flush);
  tell();
}

}  // namespace graphtag::inject
