// The members around the events.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "trace/kineto/event_array.h"
#include "trace/kineto/reading.h"

namespace graphtag::kineto {

class Document {
 public:
  Document(Reading& reading, const std::string& path)
      : reading_(reading), window_(reading.window), path_(path), events_(reading) {}

  // To the file's end.
  Result<void> read();

 private:
  struct Member;

  Result<void> object();
  Result<void> array();
  Result<void> member();
  Result<Outcome> read_member(Member& member);
  Result<void> give_out(const Member& member);
  Result<void> skip_member();
  Result<void> begin_events();
  Result<void> end();
  Error error(std::string message) const;

  Reading& reading_;
  Window& window_;
  const std::string& path_;
  EventArray events_;
  EventStart none_;             // members begin like nothing that is known
  std::set<std::string> keys_;  // of the members so far
  bool after_events_ = false;
  bool closed_ = false;
};

}  // namespace graphtag::kineto
