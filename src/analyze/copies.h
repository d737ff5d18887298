// Copies and memsets by direction.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyze/regions.h"
#include "base/interner.h"
#include "model/gpu_operation.h"

namespace graphtag {

class CopySums {
 public:
  explicit CopySums(const Interner& names) : names_(&names) {}

  // `inside_ns`: how much of a memcpy or memset is in the window.
  void add(const GpuOperation& operation, std::int64_t inside_ns);
  std::vector<CopyRow> rows() const;

 private:
  struct Sums {
    CopyRow row;
    std::uint64_t known_bytes = 0;
    std::int64_t known_time_ns = 0;  // of the copies whose size is known, whole
  };

  const Interner* names_;
  std::vector<std::uint32_t> of_name_;  // index: name -> sums + 1; 0: not seen
  std::vector<Sums> sums_;
};

}  // namespace graphtag
