// What graphtag.torch._backward calls: graphtag/torch.hpp for ctypes. Compiled on the machine that uses it, for its PyTorch.
#include <graphtag/torch.hpp>

#include <new>

extern "C" {

__attribute__((visibility("default"))) std::uint64_t gt_backward_open_interval(std::uint64_t annotation) {
  return gt::autograd::open_interval({annotation});
}
__attribute__((visibility("default"))) int gt_backward_close_interval(std::uint64_t token) {
  return gt::autograd::close_interval(token) ? 1 : 0;
}
__attribute__((visibility("default"))) void gt_backward_forget() {
  gt::autograd::forget();
}
__attribute__((visibility("default"))) void gt_backward_counters(gt::autograd::Counters* counters) {
  *counters = gt::autograd::counters();
}

// Whether anything is recorded now, and what is open on this thread.
__attribute__((visibility("default"))) int gt_backward_current(std::uint64_t* annotation) {
  gt_annotation open{0};
  if (!gt_active() || gt_scope_current(&open) != GT_OK) return 0;
  *annotation = open.value;
  return 1;
}
// Null where there is no memory: then the recomputation is of the node's region.
__attribute__((visibility("default"))) void* gt_backward_begin_recomputation(std::uint64_t annotation) {
  return new (std::nothrow) gt::autograd::Recomputation({annotation});
}
__attribute__((visibility("default"))) void gt_backward_end_recomputation(void* recomputation) {
  delete static_cast<gt::autograd::Recomputation*>(recomputation);
}
}
