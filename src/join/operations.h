// The GPU operations of a trace, each with its annotation: what reports and timelines are made of.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/grow_array.h"
#include "base/interner.h"
#include "join/annotation_set.h"
#include "model/gpu_operation.h"
#include "trace/reader.h"

namespace graphtag {

// All records of one graph launch: they share graph id and correlation id.
struct Replay {
  GraphId graph;  // the exec graph
  std::uint64_t correlation = 0;
};

struct OperationTable {
  GrowArray<GpuOperation> operations;  // in file order
  std::vector<Replay> replays;         // index: GpuOperation::replay
  Interner names;                      // id: GpuOperation::name
  std::vector<std::int64_t> devices;   // index: GpuOperation::device -> the trace's device id (or pid)
  AnnotationSet
      annotations;  // ids: GpuOperation::annotation. Annotations that the trace itself carries in args are in its table too.
  ReadResult read;
  std::vector<std::string> passed_over;  // annotation files of a folder that do not fit this trace
  std::optional<std::string> ambiguity;  // of annotation files of a folder (ambiguous_sources.h)
  std::uint64_t bad_times = 0;           // GPU records without a usable time: not in `operations`

  // Whether anything could name a record: a file, the trace's args, or a format that knows names itself, also where it knows none here.
  bool has_annotations() const {
    return !annotations.empty() || annotations.annotations().size() > 1 || read.info.annotations != nullptr;
  }
};

struct JoinOptions {
  bool force = false;  // annotation files of other hosts, pids, ranks as well
  ReadOptions read;
};

// Reads `trace_path` once. Without sources the names come from the events' args: of a trace that is annotated already (the keys its "graphtag" object
// lists; else all args that no profiler writes). With sources too, theirs win key by key.
Result<OperationTable> read_operations(const std::string& trace_path, const std::vector<AnnotationSource>& sources,
                                       const JoinOptions& options = {});

}  // namespace graphtag
