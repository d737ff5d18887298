// Trace files out: Chrome JSON and Perfetto.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "join/annotate.h"
#include "trace/byte_stream.h"

namespace graphtag {

// Chrome JSON into `sink` (finished by the writer's finish()). Events that need no change are copied byte for byte.
std::unique_ptr<NamedEventConsumer> chrome_writer(ByteSink& sink);

// Perfetto's protobuf into `sink`. Slices that must wait for their order are spooled to an unlinked temporary file.
std::unique_ptr<NamedEventConsumer> perfetto_writer(ByteSink& sink);

}  // namespace graphtag
