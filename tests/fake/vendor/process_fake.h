// The FakeCuda behind the false libcuda.so.1 and libcupti.so.13 of this process: a test acts on it as the program would on CUDA,
// while graphtag finds the two libraries and calls them as it would the real ones.
#pragma once

#include <atomic>

#include "tests/fake/fake_cuda.h"

namespace graphtag::fake {

FakeCuda& process_fake();

// While `held`, cuptiGetVersion, which graphtag asks when it has found CUPTI, does not come back; `inside` says that one waits.
struct HeldCall {
  std::atomic<bool> held{false}, inside{false};
};
HeldCall& version_call();

}  // namespace graphtag::fake
