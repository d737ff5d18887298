// graphtag's own recordings (.pftrace, graphtag run and gt_record_begin; base/recording_layout.h), plain or decompressed.
//
// Operations come with the names that the recorder gave them. Times are given from the start of the recording on (TraceInfo::base_time_ns). What the
// recorder itself lost is a problem of the kind lost_by_recorder. A file that ends anywhere is read up to its last whole slice.
#pragma once

#include <string>

#include "base/error.h"
#include "trace/byte_stream.h"
#include "trace/event.h"
#include "trace/reader.h"

namespace graphtag {

// Reads to the end. With options.survey `source_again` opens the file once more, for the keys of all annotations before the first event. Errors: a
// Perfetto trace of somebody else; nothing in it.
Result<void> read_perfetto(ByteSource& source, const std::function<Result<OpenedSource>()>& source_again, const std::string& path,
                           EventVisitor& visitor, const ReadOptions& options, ReadResult& result);

}  // namespace graphtag
