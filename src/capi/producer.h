// Who writes an annotation file: this process, its machine, its driver.
#pragma once

#include "capture/recorder.h"
#include "model/annotation_file.h"

namespace graphtag::capi {

// `seen` says which observer was at work; what was counted goes into the file, but for zeros.
Producer this_producer(const RecorderCounters& seen, const RegistryCounters& kept);

// "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", as nvidia-smi writes it.
std::string uuid_text(const std::uint8_t (&uuid)[16]);

}  // namespace graphtag::capi
