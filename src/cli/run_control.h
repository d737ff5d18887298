// The side of `graphtag run` of the control file (base/run_protocol.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/run_protocol.h"

namespace graphtag::cli {

class RunControl {
 public:
  // In a folder of its own, that only this user can read, in memory where there is such a folder.
  static Result<std::unique_ptr<RunControl>> create();
  ~RunControl();  // removes the file; processes that still run keep what they mapped
  RunControl(const RunControl&) = delete;
  RunControl& operator=(const RunControl&) = delete;

  const std::string& path() const { return path_; }
  const run::Header& header() const { return file_->header; }
  // Those that took a place, in the order in which CUDA started in them.
  std::vector<const run::Process*> processes() const;
  // Changes whenever a process has something to say.
  std::uint32_t news() const { return file_->header.news.load(); }

  // Has each process that records, and lives, write out what it has. False: some had not by the time limit.
  bool flush(std::chrono::milliseconds limit);

 private:
  RunControl() = default;

  std::string folder_, path_;
  run::ControlFile* file_ = nullptr;
};

// Whether the process is there, is no zombie, and has not become another program by exec.
bool lives(const run::Process& process);

}  // namespace graphtag::cli
