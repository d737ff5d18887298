// The array of events, from behind its `[`.
#pragma once

#include <cstdint>
#include <string>

#include "trace/kineto/event_fields.h"
#include "trace/kineto/event_start.h"
#include "trace/kineto/fast_events.h"
#include "trace/kineto/reading.h"

namespace graphtag::kineto {

class EventArray {
 public:
  explicit EventArray(Reading& reading) : reading_(reading), window_(reading.window) {}

  // Gives every event to the visitor, through the array's `]` or to the file's end.
  Result<void> read();

  bool closed() const { return closed_; }  // by its `]`
  bool cut() const { return cut_; }        // the file ended inside an event, which is a problem already

 private:
  enum class Place : std::uint8_t { before_first, after_event, after_comma };
  enum class Reached : std::uint8_t { event, array_end, file_end };

  Result<void> clean_stretch();
  Result<void> step();
  Result<void> event();
  Result<void> repaired_event();
  Result<void> other_element();
  Result<void> bracket();
  // Leaves out what begins here and goes on to where the next event seems to begin, or else the array to end. `at_end`: the file ended before it
  // was over.
  Result<void> leave_out(ProblemKind kind, bool at_end = false);
  Result<Reached> skip_to_event();
  Result<void> give_out(const Event& event);

  Reading& reading_;
  Window& window_;
  EventFields fields_;
  FastEvents fast_{fields_};
  std::uint64_t plain_until_ = 0;  // offset before which the fast reader found, or expects, what it cannot read
  EventStart event_start_;
  std::string repaired_;
  Place place_ = Place::before_first;
  bool closed_ = false;
  bool cut_ = false;
};

}  // namespace graphtag::kineto
