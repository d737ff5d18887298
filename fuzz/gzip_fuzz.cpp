// Any bytes as a gzip file: no split of them changes what comes out; and what is compressed comes back.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/read_everything.h"

namespace {

using namespace graphtag;

// What the file holds, and what was said of it. Bombs are read only so far.
std::string inflate(std::string_view bytes, std::vector<std::size_t> chunks) {
  constexpr std::size_t kLimit = std::size_t{8} << 20;
  Problems problems;
  std::string content;
  const auto source = gzip_source(memory_source(bytes, chunks), problems);
  std::string block(40000, '\0');
  while (content.size() < kLimit) {
    const auto got = source->read(block.data(), block.size());
    if (!got) return content + "error: " + got.error().to_string();
    if (*got == 0) return content + test::describe(problems);
    content.append(block, 0, *got);
  }
  return content.substr(0, kLimit);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string whole = inflate(text, {});
  if (inflate(text, {1, 7, 100}) != whole) std::abort();

  std::string compressed;
  const auto sink = gzip_sink(string_sink(compressed));
  if (!sink->write(text) || !sink->finish()) std::abort();
  if (inflate(compressed, {}) != text) std::abort();
  return 0;
}
