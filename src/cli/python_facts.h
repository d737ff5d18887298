// Which PyTorch a Python has, without importing it.
#pragma once

#include <optional>
#include <string>

namespace graphtag::cli {

struct PythonFacts {
  std::string path;                       // of the interpreter; empty: there is none on PATH
  std::string version;                    // "3.11.2"
  std::string problem;                    // why the rest is not known; else empty
  std::string torch_version, torch_path;  // empty: no PyTorch
  std::string cupti_version, cupti_path;  // of the package that PyTorch brings (nvidia-cuda-cupti); empty: none
  std::string graphtag_version;           // of the Python package; empty: not installed
};

// Asks the python3 that `search_path` (the value of PATH) finds first. It runs for at most `limit_ms`.
PythonFacts examine_python(const std::string& search_path, int limit_ms = 20000);

}  // namespace graphtag::cli
