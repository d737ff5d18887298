// Any bytes as one of graphtag's recordings: no split of them changes what is read, and what is given out is valid JSON.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/read_everything.h"
#include "tests/support/valid_json.h"
#include "trace/perfetto/perfetto_reader.h"

namespace {

using namespace graphtag;

std::string read(std::string_view bytes, std::vector<std::size_t> chunks) {
  class Visitor final : public EventVisitor {
   public:
    explicit Visitor(std::string& into) : into_(into) {}
    Result<void> on_member(std::string_view key, std::string_view value, bool) override {
      if (!test::valid_json(value)) std::abort();
      into_.append(key).append(value);
      return {};
    }
    Result<void> on_events_begin(const TraceInfo& info) override {
      annotations_ = info.annotations;
      return {};
    }
    Result<void> on_event(const Event& event) override {
      if (!test::valid_json(event.json)) std::abort();
      if (event.start_ns && event.duration_ns < 0) std::abort();
      if (static_cast<std::size_t>(event.annotation) >= annotations_->size()) std::abort();
      if (is_provenance(event.origin) != (event.annotation != AnnotationId::none) && is_gpu_operation(event.kind)) std::abort();
      into_.append(event.json).append(test::describe(event));
      return {};
    }

   private:
    std::string& into_;
    std::shared_ptr<const AnnotationTable> annotations_;
  };
  std::string text;
  Visitor visitor(text);
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
