// What holds for every event that a reader gives of a trace that carries names itself, whatever its bytes were.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "tests/support/read_everything.h"
#include "tests/support/valid_json.h"

namespace graphtag {

// Into a text, so that two readings can be compared; up to 1 MiB of it, for a few bytes can stand for many events.
class CheckedEvents final : public EventVisitor {
 public:
  explicit CheckedEvents(std::string& into) : into_(into) {}
  Result<void> on_member(std::string_view key, std::string_view value, bool) override {
    if (!test::valid_json(value)) std::abort();
    keep(key);
    keep(value);
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
    keep(event.json);
    keep(test::describe(event));
    keep(std::to_string(static_cast<int>(event.origin)));
    return {};
  }

 private:
  void keep(std::string_view text) {
    if (into_.size() < (std::size_t{1} << 20)) into_ += text;
  }

  std::string& into_;
  std::shared_ptr<const AnnotationTable> annotations_;
};

}  // namespace graphtag
