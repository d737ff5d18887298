// Where libcuda and CUPTI may be. Looks at the process and at folders; loads nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace graphtag {

// The paths of all shared libraries in the process, in load order.
std::vector<std::string> mapped_libraries();

// How many libraries were ever loaded into the process: unchanged means that a new search finds what the last one did.
std::uint64_t libraries_ever_mapped();

// Is this path a libcupti.so, of any version?
bool is_cupti(const std::string& path);

// The value of an environment variable; empty if there is none.
using Environment = std::function<std::string(const char* name)>;

// What to give to dlopen for CUPTI where none is mapped yet, best first: beside the process's own PyTorch (which will load that
// copy), by name along the loader's path, CUDA_HOME and CUDA_PATH, and the usual folders of toolkits under `root`. Of CUDA 12 and
// 13, the one of the driver's release comes first: an older CUPTI works on a newer driver, a newer one need not work on an older
// driver. `driver_version` as of cuDriverGetVersion.
std::vector<std::string> cupti_candidates(int driver_version, const std::vector<std::string>& mapped,
                                          const Environment& environment, const std::string& root = "/");

}  // namespace graphtag
