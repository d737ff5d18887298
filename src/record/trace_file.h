// The file, or the ring of segments, of a recording. What is written is whole packets, each time with one write(2); where that fails half-way,
// the file is cut back to what it was, so that whatever is in it can be read.
//
//   max_bytes 0    app.pftrace
//   else           app.1.pftrace (deleted)  app.2.pftrace  app.3.pftrace ...     together at most max_bytes
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "base/error.h"

namespace graphtag {

class TraceFile {
 public:
  static constexpr std::uint64_t kSegments = 8;  // of a ring, about

  TraceFile() = default;
  ~TraceFile();
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  // Makes the file, or the first segment; what exists of that name is replaced, a ring as a whole. `path` becomes absolute. Errors: io.
  Result<void> open(const std::string& path, std::uint64_t max_bytes);

  // At the end of the file. False: nothing of it is in the file, now or later.
  bool write(std::string_view packets) noexcept;

  // Whether the segment is as large as it is to become.
  bool is_segment_full() const noexcept { return max_bytes_ != 0 && bytes_ >= max_bytes_ / kSegments; }
  // What is written from here on goes into the next one. It is made when that comes, so that none is left empty.
  void next_segment() noexcept { begins_next_ = true; }
  // How much to write at once at most.
  std::size_t chunk_bytes() const noexcept;

  void close() noexcept;
  // In a child of fork(): lets go of the file without a word to it. Safe where another thread was inside.
  void abandon() noexcept;

  std::uint32_t segment() const noexcept { return segment_ + (begins_next_ ? 1 : 0); }  // that is written to next, from 1
  std::uint64_t bytes_written() const noexcept { return bytes_written_; }
  std::uint64_t bytes_deleted() const noexcept { return bytes_deleted_; }
  std::uint32_t segments_deleted() const noexcept { return segments_deleted_; }
  int last_error() const noexcept { return last_error_; }  // errno of the last failure

 private:
  std::string path_of(std::uint32_t segment) const;
  bool open_file(const std::string& path, bool replace) noexcept;
  void open_next() noexcept;
  bool is_ours() const noexcept;
  bool remove_segment(std::uint32_t segment) const noexcept;
  void make_room(std::uint64_t bytes) noexcept;

  struct Segment {
    std::uint32_t number;
    std::uint64_t bytes;
  };

  std::string path_;
  std::uint64_t max_bytes_ = 0;
  int fd_ = -1;
  std::uint64_t device_ = 0, inode_ = 0;  // of the file behind fd_
  std::uint32_t segment_ = 1;
  bool begins_next_ = false;
  std::uint64_t bytes_ = 0;    // of the segment
  std::deque<Segment> older_;  // segments that are still there
  std::uint64_t older_bytes_ = 0;
  std::uint64_t bytes_written_ = 0, bytes_deleted_ = 0;
  std::uint32_t segments_deleted_ = 0;
  int last_error_ = 0;
};

}  // namespace graphtag
