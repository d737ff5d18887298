// A progress bar on standard error: bytes, rate and time left. Silent unless that is a terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace graphtag::cli {

class Progress {
 public:
  // Shows nothing where `quiet` or where standard error is no terminal.
  Progress(std::string_view title, bool quiet);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Draws at most ten times a second.
  void update(std::uint64_t done_bytes, std::uint64_t total_bytes);
  // Takes the bar away, so that other output starts on a clean line.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  std::string title_;
  bool shown_;
  bool drawn_ = false;
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_ = start_;
};

// One line without its newline: "decode.json.gz  [######----]  42 %  1.2 GB of 2.9 GB  310 MB/s  5 s left", fitted to `width`.
std::string progress_line(const std::string& title, std::uint64_t done_bytes, std::uint64_t total_bytes, double seconds,
                          int width);

}  // namespace graphtag::cli
