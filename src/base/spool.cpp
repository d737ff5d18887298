#include "base/spool.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace graphtag {
namespace {

Error spool_error(const std::string& folder, const std::string& what, int number) {
  return {ErrorCode::io,
          what + ": " + std::strerror(number) + "; set TMPDIR to a folder that can be written and has more room",
          folder,
          {}};
}

}  // namespace

Spool::Spool(Spool&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), size_bytes_(std::exchange(other.size_bytes_, 0)), folder_(std::move(other.folder_)) {}

Spool& Spool::operator=(Spool&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(size_bytes_, other.size_bytes_);
  std::swap(folder_, other.folder_);
  return *this;
}

Spool::~Spool() {
  if (fd_ >= 0) ::close(fd_);
}

Result<void> Spool::create() {
  const char* wanted = std::getenv("TMPDIR");
  folder_ = wanted != nullptr && *wanted != '\0' ? wanted : "/tmp";
  fd_ = ::open(folder_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd_ >= 0) return {};
  // Some file systems have no unnamed files: make one with a name and take the name away.
  std::string path = folder_ + "/graphtag-XXXXXX";
  fd_ = ::mkostemp(path.data(), O_CLOEXEC);
  if (fd_ < 0) return spool_error(folder_, "cannot make a temporary file", errno);
  ::unlink(path.c_str());
  return {};
}

Result<void> Spool::append(std::string_view bytes) {
  if (fd_ < 0) {
    if (auto created = create(); !created) return created;
  }
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(size_bytes_));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return spool_error(folder_, "cannot write the temporary file", written < 0 ? errno : ENOSPC);
    size_bytes_ += static_cast<std::uint64_t>(written);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

Result<std::size_t> Spool::read_at(std::uint64_t offset, char* buffer, std::size_t capacity) const {
  std::size_t got = 0;
  while (got < capacity && offset + got < size_bytes_) {
    const ssize_t count = ::pread(fd_, buffer + got, capacity - got, static_cast<off_t>(offset + got));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return spool_error(folder_, "cannot read the temporary file", errno);
    if (count == 0) break;
    got += static_cast<std::size_t>(count);
  }
  return got;
}

}  // namespace graphtag
