// Pickles, sound or hostile: never a crash, and what is read can be written and read again.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "fuzz/round_trip.h"
#include "model/annotation_file_formats.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file = graphtag::read_torch_pickle({reinterpret_cast<const char*>(data), size}, "input");
  if (file) graphtag::check_round_trip(*file);
  return 0;
}
