// A temporary file without a name: it vanishes with the process, whatever happens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace graphtag {

// The file lies in $TMPDIR, or /tmp. It is created by the first append. Errors (io) name the folder and say how to choose
// another.
class Spool {
 public:
  Spool() = default;
  Spool(Spool&& other) noexcept;
  Spool& operator=(Spool&& other) noexcept;
  ~Spool();

  Result<void> append(std::string_view bytes);
  // Fills `capacity` bytes, or what is left of the file behind `offset`.
  Result<std::size_t> read_at(std::uint64_t offset, char* buffer, std::size_t capacity) const;
  std::uint64_t size_bytes() const { return size_bytes_; }

 private:
  Result<void> create();

  int fd_ = -1;
  std::uint64_t size_bytes_ = 0;
  std::string folder_;
};

}  // namespace graphtag
