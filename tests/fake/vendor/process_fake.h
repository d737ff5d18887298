// The FakeCuda behind the false libcuda.so.1 and libcupti.so.13 of this process: a test acts on it as the program would on CUDA,
// while graphtag finds the two libraries and calls them as it would the real ones.
#pragma once

#include "tests/fake/fake_cuda.h"

namespace graphtag::fake {

FakeCuda& process_fake();

}  // namespace graphtag::fake
