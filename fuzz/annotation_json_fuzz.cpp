// Annotation files in JSON, of both schemas: never a crash, and what is read can be written and read again.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "fuzz/round_trip.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file = graphtag::parse_annotation_file({reinterpret_cast<const char*>(data), size}, "input");
  if (file) graphtag::check_round_trip(*file);
  return 0;
}
