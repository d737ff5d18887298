// Keeps what a reader gives of a trace that carries names itself (recordings, exports of Nsight Systems): events, and their annotations.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "tests/support/read_everything.h"
#include "trace/reader.h"

namespace graphtag::test {

struct NamedEvent {
  std::string json, fields;
  EventKind kind;
  // Its annotation: the object, and what the table has beside it.
  Json annotation;
  std::string name;
  std::vector<std::string> path;
  Origin origin;
  std::uint64_t node = 0;
  std::optional<std::int64_t> start_ns;
  std::int64_t duration_ns = 0;
  bool operator==(const NamedEvent&) const = default;
};

struct NamedReading {
  std::string error;  // empty if there was none
  std::vector<NamedEvent> events;
  std::map<std::string, Json> members;
  ReadResult result;

  std::vector<NamedEvent> of(EventKind kind) const {
    return those([kind](const NamedEvent& event) { return event.kind == kind; });
  }
  std::vector<NamedEvent> operations() const {
    return those([](const NamedEvent& event) { return is_gpu_operation(event.kind); });
  }

 private:
  template <typename Predicate>
  std::vector<NamedEvent> those(Predicate predicate) const {
    std::vector<NamedEvent> some;
    std::copy_if(events.begin(), events.end(), std::back_inserter(some), predicate);
    return some;
  }
};

class NamedCollector final : public EventVisitor {
 public:
  explicit NamedCollector(NamedReading& into) : into_(into) {}
  Result<void> on_member(std::string_view key, std::string_view value, bool) override {
    into_.members[std::string(key)] = Json::parse(value);
    return {};
  }
  Result<void> on_events_begin(const TraceInfo& info) override {
    annotations_ = info.annotations;
    return {};
  }
  Result<void> on_event(const Event& event) override {
    const Annotation& annotation = (*annotations_)[event.annotation];
    into_.events.push_back({std::string(event.json), describe(event), event.kind, *annotation.object, annotation.name,
                            annotation.path, event.origin, event.node_id, event.start_ns, event.duration_ns});
    return {};
  }

 private:
  NamedReading& into_;
  std::shared_ptr<const AnnotationTable> annotations_;
};

// Each event's fields are those that a reader of Chrome JSON finds in its text.
inline void expect_events_are_what_their_text_says(const NamedReading& reading) {
  std::string text = "[";
  for (const NamedEvent& event : reading.events) text += (text.size() > 1 ? "," : "") + event.json;
  const Everything again = read_everything(text + "]");
  ASSERT_EQ(again.error + again.problems, "");
  ASSERT_EQ(again.events.size(), reading.events.size());
  for (std::size_t i = 0; i < again.events.size(); ++i)
    EXPECT_EQ(again.events[i].fields, reading.events[i].fields) << reading.events[i].json;
}

}  // namespace graphtag::test
