// The args of an event, typed: the same keys and values as in Chrome output.
#pragma once

#include <memory>
#include <string_view>

#include "base/perfetto_packets.h"
#include "join/annotate.h"

namespace graphtag {

class PerfettoArgs {
 public:
  PerfettoArgs();
  ~PerfettoArgs();
  // Before the first event.
  void begin(const AnnotatedTrace& trace);

  // The profiler's args with the annotation's keys, as Chrome output has them.
  void write_event(ArgWriter& args, const NamedEvent& named);

  // One JSON value as an arg. Objects and arrays are nested; null, empty ones and integers beyond 64 bits go in as JSON text, and so does a value of
  // more than 1 MiB. `json` is valid JSON.
  void write_json(ArgWriter& args, std::string_view key, std::string_view json);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace graphtag
