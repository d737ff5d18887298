// Any bytes as an SQLite export of Nsight Systems: read to its end or to an error, in bounded time, and twice the same.
#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "tests/support/read_everything.h"
#include "tests/support/valid_json.h"
#include "trace/nsys/nsys_reader.h"

namespace {

using namespace graphtag;

std::string read(const std::string& path) {
  class Visitor final : public EventVisitor {
   public:
    explicit Visitor(std::string& into) : into_(into) {}
    Result<void> on_events_begin(const TraceInfo& info) override {
      annotations_ = info.annotations;
      return {};
    }
    Result<void> on_event(const Event& event) override {
      if (!test::valid_json(event.json)) std::abort();
      if (static_cast<std::size_t>(event.annotation) >= annotations_->size()) std::abort();
      if (event.start_ns && event.duration_ns < 0) std::abort();
      // Enough to tell two readings apart.
      if (into_.size() < (std::size_t{1} << 20)) into_.append(event.json).append(std::to_string(static_cast<int>(event.origin)));
      return {};
    }

   private:
    std::string& into_;
    std::shared_ptr<const AnnotationTable> annotations_;
  };
  std::string text;
  Visitor visitor(text);
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
