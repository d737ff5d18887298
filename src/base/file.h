// Whole files in and out. Traces are streamed by trace/ instead.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/error.h"

namespace graphtag {

// "cannot open it: ", why (an errno), and what to do about it.
std::string open_failure(int number);

// Refuses (invalid_argument) what can be read once alone: a pipe, a socket.
Result<void> refuse_pipe(const std::string& path);

// The content of `path`; ErrorCode::too_large beyond `limit_bytes`, which is checked before memory is taken.
Result<std::string> read_file(const std::string& path, std::size_t limit_bytes);

// Writes `content` beside `path` and renames it, so that no half-written file is ever seen at `path`.
Result<void> write_file(const std::string& path, std::string_view content);

// A file that appears at its path whole, or not at all: it is written beside `path` (PATH.graphtag-PID.tmp) and renamed by
// commit(). Without commit the destructor removes it, and so does remove_unfinished_files(). Of a symbolic link the file that it stands for is
// replaced; a pipe or a device is written in place.
class AtomicFile {
 public:
  static Result<AtomicFile> create(const std::string& path);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&& other) noexcept;
  ~AtomicFile();

  Result<void> write(std::string_view bytes);
  Result<void> commit();
  const std::string& path() const { return path_; }

 private:
  AtomicFile() = default;
  void discard() noexcept;
  void remove_temporary() noexcept;

  std::string path_;
  std::string target_;     // what `path_` stands for, its links followed
  std::string temporary_;  // empty where the file is written in place
  int fd_ = -1;
};

// Removes the temporary files of all AtomicFiles that are open. Safe to call in a signal handler.
void remove_unfinished_files() noexcept;

}  // namespace graphtag
