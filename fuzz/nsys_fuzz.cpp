// Any bytes as an SQLite export of Nsight Systems: read to its end or to an error, in bounded time, and twice the same.
#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "fuzz/checked_events.h"
#include "trace/nsys/nsys_reader.h"

namespace {

using namespace graphtag;

std::string read(const std::string& path) {
  std::string text;
  CheckedEvents visitor(text);
  ReadResult result;
  const Result<void> done = read_nsys(path, visitor, {}, result);
  // SQLite itself words the same damage in one way or another.
  return text + test::describe(result.problems) + (done ? "" : "error " + std::to_string(static_cast<int>(done.error().code)));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // SQLite opens by name: a file in memory, one a process.
  const std::string path = "/dev/shm/graphtag-nsys-fuzz-" + std::to_string(getpid());
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0 || ::write(file, data, size) != static_cast<ssize_t>(size)) std::abort();
  close(file);
  if (read(path) != read(path)) std::abort();
  unlink(path.c_str());
  return 0;
}
