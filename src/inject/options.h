// What to do, as `graphtag run` (or whoever sets the variables of base/run_protocol.h) says through the environment.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace graphtag::inject {

struct Options {
  std::string control;  // "": no control file
  std::string out;      // a folder, or a file of the first process; "": the folder in which the process is
  std::int64_t delay_ms = 0;
  std::optional<std::int64_t> duration_ms;
  std::string start_on;  // the text of a range; "": at once
  bool has_api = true;
  std::uint64_t max_bytes = 0;
  std::uint32_t buffer_count = 0;
  std::uint32_t buffer_bytes = 0;
  std::optional<std::vector<std::string>> domains;
  std::string next_cuda;  // paths; "": none
  std::string next_nvtx;
};

// The value of an environment variable; null if it is not set.
using Environment = std::function<const char*(const char* name)>;

// What is not understood is as if it were not set: `graphtag run` has looked at it before.
Options read_options(const Environment& environment);

// The rank that a launcher gave the process (base/rank_variables.h).
std::optional<std::int64_t> rank_of(const Environment& environment);

// "graphtag.HOST.PID.pftrace", with ".rankN" before the process id if there is one; the host's name as far as its first dot.
std::string trace_name(const std::string& host, std::optional<std::int64_t> rank, std::int64_t pid);

}  // namespace graphtag::inject
