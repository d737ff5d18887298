// What a trace says about itself outside its events.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "trace/event.h"

namespace graphtag::kineto {

class TraceFacts {
 public:
  explicit TraceFacts(TraceInfo& info) : info_(info) {}

  // A top-level member: valid JSON. False: it should tell something, and what it says cannot be used.
  bool learn_member(std::string_view key, std::string_view value);
  void learn_event(const Event& event) {
    if (!info_.pid) learn_pid(event);
  }
  // Before the first event and at the end: fills in what needs several facts.
  void conclude(bool at_end);

 private:
  void learn_pid(const Event& event);

  TraceInfo& info_;
  std::optional<std::int64_t> labelled_pid_;  // of the process labelled "CPU"
  bool has_schema_ = false, has_cuda_version_ = false, has_devices_ = false;
};

}  // namespace graphtag::kineto
