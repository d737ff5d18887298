// This process's side of the control file (base/run_protocol.h). Without a file, or with one of another version, everything works but
// what needs `graphtag run`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/run_protocol.h"

namespace graphtag::inject {

class Control {
 public:
  explicit Control(const std::string& path) noexcept;
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;

  void nvtx_started() noexcept;
  void next_failed() noexcept;
  // CLOCK_MONOTONIC of the beginning of the run; now, if that is not known.
  std::int64_t begun_ns() const noexcept;
  bool is_open() const noexcept { return file_ != nullptr; }
  // True for one process of the run. Only where there is a control file.
  bool take_file() noexcept;

  // Takes a place of its own for this process.
  void enter() noexcept;
  // In the child of a fork(): the place is the parent's.
  void leave() noexcept { self_ = nullptr; }
  // What `graphtag run` shows; each before the state that it belongs to.
  void set_trace(std::string_view path) noexcept;
  void set_message(std::string_view text) noexcept;
  void set_state(run::State state, run::Reason reason = run::Reason::none) noexcept;
  run::Counts* counts() noexcept { return self_ == nullptr ? nullptr : &self_->counts; }

  // Waits until a flush is asked for that `seen` does not count yet, or for `timeout_ns`. What is asked for now.
  std::uint32_t wait_for_flush(std::uint32_t seen, std::int64_t timeout_ns) noexcept;
  std::uint32_t flush_asked() const noexcept;
  // The last flush that this process has done, or that was asked before it entered.
  std::uint32_t flushed() const noexcept;
  void set_flushed(std::uint32_t flush) noexcept;

 private:
  void tell() noexcept;

  run::ControlFile* file_ = nullptr;
  run::Process* self_ = nullptr;
  std::atomic<std::uint32_t> nobody_asks_{0};
};

// CLOCK_MONOTONIC.
std::int64_t monotonic_ns() noexcept;

}  // namespace graphtag::inject
