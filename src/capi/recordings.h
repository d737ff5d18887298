// The recording of this process, for those parts of the C ABI that it concerns.
#pragma once

#include "capture/process.h"

namespace graphtag::capi {

// The scopes of the calling thread have changed: CUDA calls that it makes from here on are recorded under them. Nothing where no recording goes on.
void note_scopes(Process& process) noexcept;

}  // namespace graphtag::capi
