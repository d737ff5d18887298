// As checked_calls.h, for CUPTI.
#pragma once

#include <cupti.h>

#include <cstdio>
#include <cstdlib>

namespace gpu_test {

inline void check(CUptiResult result, const char* what) {
  if (result == CUPTI_SUCCESS) return;
  const char* text = "";
  cuptiGetResultString(result, &text);
  std::fprintf(stderr, "%s: %s\n", what, text);
  std::exit(2);
}

}  // namespace gpu_test
