// The fast reader: many clean events at once, over simdjson's index of their tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/error.h"
#include "trace/kineto/event_fields.h"
#include "trace/kineto/token_index.h"

namespace graphtag::kineto {

// Takes what is valid JSON beyond doubt (everything in it is checked), and leaves all else, separators that are out of place included, to the plain
// reader.
class FastEvents {
 public:
  explicit FastEvents(EventFields& fields) : fields_(fields) {}

  // How much of `view` to give to start(): through the end of what seems to be its last whole event. 0 if there is none.
  static std::size_t guess_end(std::string_view view);

  // `text` begins with an event, or with the comma before one if `comma`. False if it is not clean. The byte behind it is overwritten and put back by
  // stop(); 64 bytes behind it must be readable.
  bool start(char* text, std::size_t size, bool comma);
  void stop();

  // Reads the next event into the fields: their finish() completes it. False if there is none, or it is not clean.
  bool next();
  // Of the event that next() read.
  std::size_t begin() const { return begin_; }
  std::size_t end() const { return end_; }

 private:
  struct Value {
    std::uint32_t end = 0;  // behind its last byte; 0 if it is no value
    ValueType type = ValueType::literal;
  };

  bool event();
  bool args();
  bool key(TextSpan& inside, bool& escaped);
  Value value(int depth);
  template <typename Take>
  bool members(Take take);
  bool object(int depth);
  bool array(int depth);
  std::uint32_t string_end(std::uint32_t begin, std::uint32_t next) const;
  std::uint32_t number_end(std::uint32_t begin, std::uint32_t next);
  std::uint32_t literal_end(std::uint32_t begin, std::uint32_t next, std::string_view word) const;
  bool has_backslash(std::uint32_t begin, std::uint32_t end);
  bool string_is_clean(std::uint32_t begin, std::uint32_t end);

  EventFields& fields_;
  TokenIndex index_;
  char* text_ = nullptr;
  std::size_t size_ = 0;
  char behind_ = 0;                       // the byte that stood at text_[size_]
  const std::uint32_t* token_ = nullptr;  // the next one's position; the last is size_, where a 0 stands that no rule accepts
  bool comma_ = false;                    // one is needed before the next event
  std::uint32_t begin_ = 0, end_ = 0;     // of the event
  std::uint32_t backslash_ = 0;           // the first one at or behind what was asked for last
};

}  // namespace graphtag::kineto
