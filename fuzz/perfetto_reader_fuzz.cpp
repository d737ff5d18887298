// Any bytes as one of graphtag's recordings: no split of them changes what is read, and what is given out is valid JSON.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/checked_events.h"
#include "trace/perfetto/perfetto_reader.h"

namespace {

using namespace graphtag;

std::string read(std::string_view bytes, std::vector<std::size_t> chunks) {
  std::string text;
  CheckedEvents visitor(text);
  ReadResult result;
  ReadOptions options;
  options.survey = true;
  const auto source = memory_source(bytes, chunks);
  const auto again = [bytes]() -> Result<OpenedSource> { return OpenedSource{memory_source(bytes), bytes.size(), false}; };
  const Result<void> done = read_perfetto(*source, again, "a.pftrace", visitor, options, result);
  for (const std::string& key : result.info.annotation_keys) text += key;
  return text + test::describe(result.problems) + (done ? "" : done.error().to_string());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (read(bytes, {}) != read(bytes, {1, 7, 100})) std::abort();
  return 0;
}
