// Which annotation was open when a CUDA call was made, by the call's correlation id: for work outside graphs. Only the last calls are kept.
#pragma once

#include <cstdint>
#include <vector>

#include "model/annotation.h"

namespace graphtag {

class ExternalNames {
 public:
  static constexpr std::uint32_t kCalls = std::uint32_t{1} << 16;

  ExternalNames() : entries_(kCalls) {}

  void add(std::uint32_t correlation, AnnotationId annotation) noexcept {
    entries_[correlation % kCalls] = {correlation, annotation};
  }
  AnnotationId of(std::uint32_t correlation) const noexcept {
    const Entry& entry = entries_[correlation % kCalls];
    return entry.correlation == correlation ? entry.annotation : AnnotationId::none;
  }

 private:
  struct Entry {
    std::uint32_t correlation = 0;
    AnnotationId annotation = AnnotationId::none;
  };
  std::vector<Entry> entries_;  // index: correlation % kCalls
};

}  // namespace graphtag
