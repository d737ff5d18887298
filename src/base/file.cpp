#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace graphtag {
namespace {

Error io_error(const std::string& file, const std::string& what) {
  const int number = errno;
  return {number == ENOENT ? ErrorCode::not_found : ErrorCode::io, what + ": " + std::strerror(number), file, {}};
}

// Names of temporary files that a signal handler may have to remove. Slots are claimed by `state`; the name is written before a
// slot is published.
struct UnfinishedFile {
  enum State : int { free, claimed, open };
  std::atomic<int> state{free};
  std::array<char, PATH_MAX> path{};
};
std::array<UnfinishedFile, 64> unfinished;

void remember(const std::string& path) {
  for (auto& slot : unfinished) {
    int expected = UnfinishedFile::free;
    if (path.size() < slot.path.size() && slot.state.compare_exchange_strong(expected, UnfinishedFile::claimed)) {
      std::memcpy(slot.path.data(), path.c_str(), path.size() + 1);
      slot.state.store(UnfinishedFile::open);
      return;
    }
  }
}

void forget(const std::string& path) {
  for (auto& slot : unfinished) {
    if (slot.state.load() == UnfinishedFile::open && path == slot.path.data()) {
      slot.state.store(UnfinishedFile::free);
      return;
    }
  }
}

// The file that a symbolic link stands for: it is written, and the link stays.
std::string resolve_links(const std::string& path) {
  char* const resolved = ::realpath(path.c_str(), nullptr);
  if (resolved == nullptr) return path;
  std::string target = resolved;
  std::free(resolved);
  return target;
}

}  // namespace

std::string open_failure(int number) {
  const char* remedy = "; check its path";
  if (number == ENOENT || number == ENOTDIR || number == ENAMETOOLONG) remedy = "; check its name and folder";
  if (number == EACCES || number == EPERM) remedy = "; ask its owner for the right, or copy it to where you have it";
  if (number == EMFILE || number == ENFILE) remedy = "; close other files, or raise the limit (ulimit -n)";
  return std::string("cannot open it: ") + std::strerror(number) + remedy;
}

Result<void> refuse_pipe(const std::string& path) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0 || !(S_ISFIFO(facts.st_mode) || S_ISSOCK(facts.st_mode))) return {};
  return Error{ErrorCode::invalid_argument, "a pipe cannot be read twice, and this file is; write it to a file first", path, {}};
}

Result<std::string> read_file(const std::string& path, std::size_t limit_bytes) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return Error{errno == ENOENT ? ErrorCode::not_found : ErrorCode::io, open_failure(errno), path, {}};
  std::string content;
  Result<std::string> result = std::string{};
  struct stat status {};
  if (fstat(fd, &status) == 0 && S_ISDIR(status.st_mode)) {
    result = Error{ErrorCode::io, "it is a folder; a file is needed", path, {}};
  } else {
    const auto too_large = [&](std::uint64_t size) {
      return Error{ErrorCode::too_large,
                   "at least " + std::to_string(size) + " bytes; the limit is " + std::to_string(limit_bytes),
                   path,
                   {}};
    };
    if (S_ISREG(status.st_mode) && static_cast<std::uint64_t>(status.st_size) > limit_bytes) {
      result = too_large(static_cast<std::uint64_t>(status.st_size));
    } else {
      // The size is only a hint: pipes have none and files may grow.
      std::array<char, 65536> block;
      content.reserve(S_ISREG(status.st_mode) ? static_cast<std::size_t>(status.st_size) : 0);
      for (;;) {
        const ssize_t got = ::read(fd, block.data(), block.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) {
          result = io_error(path, "cannot read it");
          break;
        }
        if (got == 0) {
          result = std::move(content);
          break;
        }
        if (content.size() + static_cast<std::size_t>(got) > limit_bytes) {
          result = too_large(content.size() + static_cast<std::size_t>(got));
          break;
        }
        content.append(block.data(), static_cast<std::size_t>(got));
      }
    }
  }
  ::close(fd);
  return result;
}

Result<void> write_file(const std::string& path, std::string_view content) {
  auto file = AtomicFile::create(path);
  if (!file) return std::move(file).error();
  if (auto written = file->write(content); !written) return written;
  return file->commit();
}

Result<AtomicFile> AtomicFile::create(const std::string& path) {
  AtomicFile file;
  file.path_ = path;
  struct stat status {};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) {
    return Error{ErrorCode::io, "it is a folder; name a file", path, {}};
  }
  if (exists && !S_ISREG(status.st_mode)) {  // /dev/null, /dev/stdout, a pipe: not to be replaced by a file
    file.fd_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (file.fd_ < 0) return Error{ErrorCode::io, open_failure(errno), path, {}};
    return file;
  }
  file.target_ = exists ? resolve_links(path) : path;
  // Two writers of one path in one process must not share a temporary file.
  static std::atomic<unsigned> serial{0};
  file.temporary_ = file.target_ + ".graphtag-" + std::to_string(getpid()) + "-" + std::to_string(serial++) + ".tmp";
  remember(file.temporary_);  // before it exists: a signal may come in between
  file.fd_ = ::open(file.temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file.fd_ < 0) {
    const int number = errno;
    Error error = io_error(path, "cannot write into its folder");
    error.message += number == ENOENT || number == ENOTDIR ? "; make the folder first" : "; choose another folder";
    forget(file.temporary_);
    return error;
  }
  return file;
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      target_(std::move(other.target_)),
      temporary_(std::move(other.temporary_)),
      fd_(std::exchange(other.fd_, -1)) {}

AtomicFile& AtomicFile::operator=(AtomicFile&& other) noexcept {
  if (this != &other) {
    discard();
    path_ = std::move(other.path_);
    target_ = std::move(other.target_);
    temporary_ = std::move(other.temporary_);
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

AtomicFile::~AtomicFile() {
  discard();
}

void AtomicFile::discard() noexcept {
  if (fd_ < 0) return;
  ::close(fd_);
  fd_ = -1;
  remove_temporary();
}

void AtomicFile::remove_temporary() noexcept {
  if (temporary_.empty()) return;
  ::unlink(temporary_.c_str());
  forget(temporary_);
}

Result<void> AtomicFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd_, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return io_error(path_, "cannot write it (is the disk full?)");
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return {};
}

Result<void> AtomicFile::commit() {
  if (::close(std::exchange(fd_, -1)) != 0) {
    const Error error = io_error(path_, "cannot write it (is the disk full?)");
    remove_temporary();
    return error;
  }
  if (temporary_.empty()) return {};
  if (std::rename(temporary_.c_str(), target_.c_str()) != 0) {
    const Error error = io_error(path_, "cannot rename the finished file to it");
    remove_temporary();
    return error;
  }
  forget(temporary_);
  return {};
}

void remove_unfinished_files() noexcept {
  for (auto& slot : unfinished) {
    if (slot.state.load() == UnfinishedFile::open) ::unlink(slot.path.data());
  }
}

}  // namespace graphtag
