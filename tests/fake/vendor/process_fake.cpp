#include "tests/fake/vendor/process_fake.h"

namespace graphtag::fake {

FakeCuda& process_fake() {
  static auto* fake = new FakeCuda;  // callbacks may come at exit
  return *fake;
}

HeldCall& version_call() {
  static auto* call = new HeldCall;
  return *call;
}

}  // namespace graphtag::fake
