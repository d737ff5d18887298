// Sorts records of bytes that need not fit into memory.
//
// Records are collected in a buffer; a full buffer is sorted and written to a temporary file as a run; at the end the runs are
// merged:
//
//   add        [c1 a2 b1] -> run  a2 b1 c1      [a1 d1] -> run  a1 d1
//   for_each   a1 a2 b1 c1 d1
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/spool.h"

namespace graphtag {

// Compared from the first number to the last.
using SortKey = std::array<std::uint64_t, 3>;

struct ExternalSortOptions {
  std::size_t run_bytes = std::size_t{8} << 20;           // the buffer, which is all the memory that adding takes
  std::size_t merge_bytes = std::size_t{8} << 20;         // of all runs' read buffers together
  std::size_t merge_runs = 256;                           // how many runs are merged at once
  std::size_t large_record_bytes = std::size_t{4} << 10;  // larger records are written apart and read when they are due
};

class ExternalSort {
 public:
  explicit ExternalSort(const ExternalSortOptions& options = {});

  // Errors: the temporary file cannot be written.
  Result<void> add(const SortKey& key, std::string_view record);

  // Gives every record in the order of the keys; records of equal keys in the order in which they were added. Once, at the end.
  // Views live until `visit` returns; its first error ends the pass. Errors: `visit`'s; the temporary file cannot be written or
  // read.
  Result<void> for_each(const std::function<Result<void>(const SortKey&, std::string_view)>& visit);

  std::uint64_t size() const { return count_; }
  std::uint64_t spooled_bytes() const { return spool_.size_bytes(); }

 private:
  struct Entry {
    SortKey key;
    std::uint32_t offset = 0;  // in buffer_
    std::uint32_t size = 0;
  };
  struct Run {
    std::uint64_t begin = 0, end = 0;  // bytes of the temporary file
  };
  class RunReader;
  using Visit = std::function<Result<void>(const SortKey&, std::string_view)>;

  void sort_buffer();
  Result<void> write_run();
  Result<Run> merge_into_run(std::size_t first, std::size_t last);
  Result<void> merge(const std::vector<Run>& runs, const Visit& visit) const;
  Result<void> visit_large(const SortKey& key, std::string_view stored, const Visit& visit, std::string& storage) const;

  ExternalSortOptions options_;
  std::vector<Entry> entries_;
  std::string buffer_;
  std::vector<Run> runs_;
  Spool spool_;
  std::uint64_t count_ = 0;
};

}  // namespace graphtag
