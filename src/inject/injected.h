// What this library is in a process. Made at the first call from CUDA or NVTX, never destroyed: NVTX calls may come as late as the
// exit of the process.
#pragma once

#include "inject/chain.h"
#include "inject/control.h"
#include "inject/names.h"
#include "inject/options.h"
#include "inject/ranges.h"
#include "inject/session.h"

namespace graphtag::inject {

struct Injected {
  explicit Injected(Options read);

  // A CUDA driver starts in this process: recording begins, and then the tool that was named before.
  void cuda_started();
  // An NVTX starts in this process.
  void nvtx_started(nvtx::GetExportTable program);

  const Options options;
  Control control;
  Names names;
  Ranges ranges{names};
  Chain chain;
  // Another one in each child of a fork(), where the parent's is left alone.
  std::atomic<Session*> session;
};

// Null only where there was no memory for it.
Injected* injected() noexcept;

// nvtx_calls.cpp: has the program's NVTX call us. False: it is none that we know.
bool attach_to_nvtx(nvtx::GetExportTable program, bool with_chain);

}  // namespace graphtag::inject
