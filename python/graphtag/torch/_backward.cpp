// What graphtag.torch._backward calls: graphtag/torch.hpp for ctypes. Compiled on the machine that uses it, for its PyTorch.
#include <graphtag/torch.hpp>

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
}
