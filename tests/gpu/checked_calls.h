// What programs for a GPU do where CUDA or graphtag refuses something: say what it was, and end with 2.
#pragma once

#include <cuda_runtime.h>
#include <graphtag/graphtag.h>

#include <cstdio>
#include <cstdlib>

namespace gpu_test {

inline void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  std::exit(2);
}

inline void check(gt_status status, const char* what) {
  if (status == GT_OK) return;
  std::fprintf(stderr, "%s: %s: %s\n", what, gt_status_name(status), gt_last_error());
  std::exit(2);
}

}  // namespace gpu_test
