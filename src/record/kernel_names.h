// The names of kernels as people write them: "void gemm<float>(float*)" for "_Z4gemmIfEvPT_". Each distinct one is made once.
#pragma once

#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace graphtag {

class KernelNames {
 public:
  struct Name {
    std::string mangled;
    std::string text;
    std::uint32_t number = 0;   // what the user of this class made of it,
    std::uint32_t chapter = 0;  // and when
  };

  // Valid until the next call. Beyond kBytes of names all are forgotten.
  Name& of(const char* mangled);

 private:
  static constexpr std::size_t kBytes = std::size_t{4} << 20;
  static constexpr std::size_t kLongest = 16384;  // longer ones stay mangled

  struct Recent {
    const char* mangled = nullptr;  // as it was asked for: what stands there may be another name by now
    Name* name = nullptr;
  };

  Name& find_or_make(const char* mangled);

  boost::unordered_flat_map<std::string_view, std::unique_ptr<Name>> names_;  // mangled, held by the value -> name
  std::array<Recent, 256> recent_{};  // index: of the address. Hashing a text costs more than comparing it
  std::size_t bytes_ = 0;
};

}  // namespace graphtag
