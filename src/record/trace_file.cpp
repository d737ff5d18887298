#include "record/trace_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/absolute_path.h"
#include "base/segment_files.h"

namespace graphtag {
namespace {

// Programs that close what they take for their own begin at 3.
constexpr int kFirstDescriptor = 200;

}  // namespace

TraceFile::~TraceFile() {
  close();
}

std::string TraceFile::path_of(std::uint32_t segment) const {
  return max_bytes_ == 0 ? path_ : segment_path(path_, segment);
}

Result<void> TraceFile::open(const std::string& path, std::uint64_t max_bytes) {
  path_ = absolute_path(path);
  max_bytes_ = max_bytes;
  if (open_file(path_of(1), true)) {
    // An earlier recording's would stand beside this one's, beyond the bound.
    if (max_bytes_ != 0) remove_segments(path_, 2);
    return {};
  }
  return Error{
      ErrorCode::io, std::string("cannot be made: ") + std::strerror(last_error_) + "; name another place", path_of(1), {}};
}

bool TraceFile::open_file(const std::string& path, bool replace) noexcept {
  // Not to wait for the reader of a pipe.
  const int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | (replace ? O_TRUNC : 0);
  int fd = ::open(path.c_str(), flags, 0666);
  struct stat status {};
  if (fd < 0 || fstat(fd, &status) != 0) {
    last_error_ = errno;
    if (fd >= 0) ::close(fd);
    return false;
  }
  if (!S_ISREG(status.st_mode)) {
    last_error_ = EINVAL;
    ::close(fd);
    return false;
  }
  if (const int higher = fcntl(fd, F_DUPFD_CLOEXEC, kFirstDescriptor); higher >= 0) {
    ::close(fd);
    fd = higher;
  }
  if (is_ours()) ::close(fd_);
  fd_ = fd;
  device_ = status.st_dev;
  inode_ = status.st_ino;
  bytes_ = static_cast<std::uint64_t>(status.st_size);
  return true;
}

// Whether the descriptor still stands for the file: the program may have closed it, and opened another file in its place.
bool TraceFile::is_ours() const noexcept {
  struct stat status {};
  return fd_ >= 0 && fstat(fd_, &status) == 0 && status.st_dev == device_ && status.st_ino == inode_;
}

bool TraceFile::remove_segment(std::uint32_t segment) const noexcept {
  try {
    return unlink(path_of(segment).c_str()) == 0;
  } catch (...) {
    return false;  // without memory for its name it stays
  }
}

void TraceFile::make_room(std::uint64_t bytes) noexcept {
  if (max_bytes_ == 0) return;
  while (!older_.empty() && older_bytes_ + bytes_ + bytes > max_bytes_) {
    const Segment oldest = older_.front();
    older_.pop_front();
    if (remove_segment(oldest.number)) {
      ++segments_deleted_;
      bytes_deleted_ += oldest.bytes;
    }
    older_bytes_ -= oldest.bytes;
  }
}

bool TraceFile::write(std::string_view packets) noexcept {
  if (std::exchange(begins_next_, false)) open_next();
  if (!is_ours()) {
    fd_ = -1;  // somebody else's by now, or nobody's
    const std::uint64_t inode = inode_, device = device_;
    try {
      if (!open_file(path_of(segment_), false)) return false;
    } catch (...) {
      last_error_ = ENOMEM;
      return false;
    }
    if (inode_ != inode || device_ != device) {
      // Another file, in which nothing stands that these packets rely on.
      last_error_ = ESTALE;
      return false;
    }
  }
  make_room(packets.size());
  std::size_t done = 0;
  while (done < packets.size()) {
    const ssize_t wrote = ::write(fd_, packets.data() + done, packets.size() - done);
    if (wrote > 0) {
      done += static_cast<std::size_t>(wrote);
      continue;
    }
    if (wrote < 0 && errno == EINTR) continue;
    last_error_ = wrote == 0 ? EIO : errno;
    if (done > 0 && ftruncate(fd_, static_cast<off_t>(bytes_)) != 0) last_error_ = errno;
    return false;
  }
  bytes_ += done;
  bytes_written_ += done;
  return true;
}

// If it cannot be made, the old one goes on.
void TraceFile::open_next() noexcept {
  try {
    const std::string path = path_of(segment_ + 1);
    const Segment finished{segment_, bytes_};
    older_.push_back(finished);
    if (!open_file(path, true)) {
      older_.pop_back();
      return;
    }
    ++segment_;
    older_bytes_ += finished.bytes;
  } catch (...) {
    // Without memory for its name.
  }
}

std::size_t TraceFile::chunk_bytes() const noexcept {
  constexpr std::uint64_t kChunk = std::uint64_t{1} << 20;
  return static_cast<std::size_t>(max_bytes_ == 0 ? kChunk : std::min(kChunk, max_bytes_ / kSegments / 4));
}

void TraceFile::close() noexcept {
  if (is_ours()) {
    // Nothing could be written into it: a reader would take it for damaged.
    if (segment_ > 1 && bytes_ == 0) remove_segment(segment_);
    ::close(fd_);
  }
  fd_ = -1;
}

void TraceFile::abandon() noexcept {
  if (is_ours()) ::close(fd_);
}

}  // namespace graphtag
