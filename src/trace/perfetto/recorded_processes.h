// Whose a chapter of a recording is: files of several processes may have been joined.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/json.h"
#include "trace/byte_stream.h"
#include "trace/perfetto/packet.h"

namespace graphtag::perfetto {

struct RecordedProcess {
  std::string host;
  std::optional<std::int64_t> pid;
  // When graphtag came into it: an image that was executed by the process, and a later process, may have the same id, and other graphs of the
  // same ids.
  std::optional<std::int64_t> loaded_ns;
  bool operator==(const RecordedProcess&) const = default;
};

// All args of an event of the recorder's own; `unreadable` is how many more there are.
Json facts_of(const PacketEvent& event, const StringTable& strings, std::uint64_t& unreadable);
// One of the facts. Nothing, or an empty text, if there is none of that kind.
template <typename T>
std::optional<T> number_at(const Json& facts, const char* key) {
  const auto found = facts.find(key);
  if (found == facts.end() || !found->is_number_integer()) return std::nullopt;
  return found->template get<T>();
}
std::string text_at(const Json& facts, const char* key);

// Of the facts of kBeginEvent.
RecordedProcess process_of(const Json& facts);

// Finds the begins of chapters among packets.
class ChapterBegins {
 public:
  // The next packet: whose chapter it begins, if it begins one.
  std::optional<RecordedProcess> add(const Packet& packet);

 private:
  StringTable strings_;  // of kStatusSequence
};

// What to say where `wanted` does not choose one process of a recording, by a pass over it. Errors: the source's.
Error not_one_process(ByteSource& source, std::optional<std::int64_t> wanted);

}  // namespace graphtag::perfetto
