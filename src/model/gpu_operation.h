// One GPU record of a trace, as the tables of the right half hold it.
#pragma once

#include <cstdint>

#include "model/annotation.h"
#include "model/annotation_file.h"

namespace graphtag {

enum class OperationKind : std::uint8_t { kernel, memcpy, memset };

constexpr std::uint32_t kNoReplay = 0xffffffff;

// 48 bytes: reports and lanes hold one of these a record.
struct GpuOperation {
  std::int64_t start_ns = 0;         // on the trace's own clock
  std::int64_t end_ns = 0;           // half-open; >= start_ns
  std::uint64_t bytes = 0;           // copies and memsets; 0 where unknown
  std::uint32_t replay = kNoReplay;  // index of a Replay; kNoReplay outside graphs
  AnnotationId annotation = AnnotationId::none;
  std::uint32_t name = 0;  // index of an interned string: the kernel's name, or the copy's ("Memcpy HtoD (Pinned -> Device)")
  std::int32_t stream = 0;
  std::uint32_t local_id = 0;  // of the graph node
  std::uint16_t device = 0;    // index of a device of the trace
  OperationKind kind = OperationKind::kernel;
  Origin origin = Origin::no_node_id;  // provenance, or why there is no annotation
};
static_assert(sizeof(GpuOperation) == 48);

}  // namespace graphtag
