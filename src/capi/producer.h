// Who writes an annotation file: this process, its machine, its driver.
#pragma once

#include "capture/recorder.h"
#include "model/annotation_file.h"

namespace graphtag::capi {

// `seen` says which observer was at work; what was counted goes into the file, but for zeros.
Producer this_producer(const RecorderCounters& seen, const RegistryCounters& kept);

}  // namespace graphtag::capi
