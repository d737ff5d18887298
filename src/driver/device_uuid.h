// The UUIDs of devices, as nvidia-smi writes them.
#pragma once

#include <cstdint>
#include <string>

namespace graphtag {

// "GPU-01010101-0101-0101-0101-010101010101"
std::string uuid_text(const std::uint8_t (&uuid)[16]);

}  // namespace graphtag
