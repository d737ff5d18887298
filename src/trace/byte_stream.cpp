#include "trace/byte_stream.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "base/file.h"
#include "trace/sink_thread.h"

namespace graphtag {
namespace {

class FileSource final : public ByteSource {
 public:
  FileSource(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;
  ~FileSource() override { ::close(fd_); }

  Result<std::size_t> read(char* buffer, std::size_t capacity) override {
    for (;;) {
      const ssize_t got = ::read(fd_, buffer, capacity);
      if (got >= 0) {
        consumed_.fetch_add(static_cast<std::uint64_t>(got), std::memory_order_relaxed);
        return static_cast<std::size_t>(got);
      }
      if (errno != EINTR)
        return Error{ErrorCode::io, std::string("cannot read on: ") + std::strerror(errno), path_, consumed_.load()};
    }
  }
  std::uint64_t consumed_bytes() const override { return consumed_.load(std::memory_order_relaxed); }

 private:
  int fd_;
  std::string path_;
  std::atomic<std::uint64_t> consumed_{0};
};

class MemorySource final : public ByteSource {
 public:
  MemorySource(std::string_view content, std::span<const std::size_t> chunks)
      : content_(content), chunks_(chunks.begin(), chunks.end()) {}

  Result<std::size_t> read(char* buffer, std::size_t capacity) override {
    const std::size_t position = position_.load(std::memory_order_relaxed);
    std::size_t size = std::min(capacity, content_.size() - position);
    if (!chunks_.empty()) size = std::min(size, std::max<std::size_t>(chunks_[turn_++ % chunks_.size()], 1));
    if (size != 0) std::memcpy(buffer, content_.data() + position, size);
    position_.store(position + size, std::memory_order_relaxed);
    return size;
  }
  std::uint64_t consumed_bytes() const override { return position_.load(std::memory_order_relaxed); }

 private:
  std::string_view content_;
  std::vector<std::size_t> chunks_;
  std::size_t turn_ = 0;
  std::atomic<std::size_t> position_{0};
};

// Gives out again what was looked at to tell the format.
class PrefixedSource final : public ByteSource {
 public:
  PrefixedSource(std::string prefix, std::unique_ptr<ByteSource> rest) : prefix_(std::move(prefix)), rest_(std::move(rest)) {}

  Result<std::size_t> read(char* buffer, std::size_t capacity) override {
    if (position_ == prefix_.size()) return rest_->read(buffer, capacity);
    const std::size_t size = std::min(capacity, prefix_.size() - position_);
    std::memcpy(buffer, prefix_.data() + position_, size);
    position_ += size;
    return size;
  }
  std::uint64_t consumed_bytes() const override { return rest_->consumed_bytes(); }

 private:
  std::string prefix_;
  std::size_t position_ = 0;
  std::unique_ptr<ByteSource> rest_;
};

class FileSink final : public ByteSink {
 public:
  explicit FileSink(AtomicFile file) : file_(std::move(file)) {}
  Result<void> write(std::string_view bytes) override { return file_.write(bytes); }
  Result<void> finish() override { return file_.commit(); }

 private:
  AtomicFile file_;
};

class StringSink final : public ByteSink {
 public:
  explicit StringSink(std::string& out) : out_(out) {}
  Result<void> write(std::string_view bytes) override {
    out_ += bytes;
    return {};
  }
  Result<void> finish() override { return {}; }

 private:
  std::string& out_;
};

}  // namespace

Result<OpenedSource> open_source(const std::string& path, Problems& problems) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    const int number = errno;
    return Error{number == ENOENT ? ErrorCode::not_found : ErrorCode::io, open_failure(number), path, {}};
  }
  OpenedSource opened;
  opened.source = std::make_unique<FileSource>(fd, path);
  struct stat status {};
  if (fstat(fd, &status) == 0) {
    if (S_ISDIR(status.st_mode)) return Error{ErrorCode::io, "it is a folder; name a trace in it", path, {}};
    if (S_ISREG(status.st_mode)) opened.size_bytes = static_cast<std::uint64_t>(status.st_size);
  }
  // Best effort: the kernel may read ahead further.
  (void)posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);

  std::string start;
  std::array<char, 2> magic{};
  while (start.size() < magic.size()) {
    const auto got = opened.source->read(magic.data(), magic.size() - start.size());
    if (!got) return got.error();
    if (*got == 0) break;
    start.append(magic.data(), *got);
  }
  opened.gzip = start == "\x1f\x8b";
  opened.source = std::make_unique<PrefixedSource>(std::move(start), std::move(opened.source));
  opened.source =
      opened.gzip ? gzip_source(std::move(opened.source), problems, path) : read_ahead_source(std::move(opened.source));
  return opened;
}

std::unique_ptr<ByteSource> memory_source(std::string_view content, std::span<const std::size_t> chunks) {
  return std::make_unique<MemorySource>(content, chunks);
}

Result<std::unique_ptr<ByteSink>> open_sink(const std::string& path, bool gzip) {
  auto file = AtomicFile::create(path);
  if (!file) return std::move(file).error();
  std::unique_ptr<ByteSink> sink = std::make_unique<FileSink>(std::move(file).value());
  if (gzip) return gzip_sink(std::move(sink));
  // The copy into the page cache costs time that another core can spend.
  return std::unique_ptr<ByteSink>(std::make_unique<SinkThread>(std::move(sink), [](std::string_view bytes, bool, ByteSink& out) {
    return bytes.empty() ? Result<void>{} : out.write(bytes);
  }));
}

std::unique_ptr<ByteSink> string_sink(std::string& out) {
  return std::make_unique<StringSink>(out);
}

}  // namespace graphtag
