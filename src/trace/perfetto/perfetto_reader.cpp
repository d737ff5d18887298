#include "trace/perfetto/perfetto_reader.h"

#include <set>
#include <utility>

#include "base/recording_layout.h"
#include "trace/perfetto/packet_stream.h"
#include "trace/perfetto/recording_events.h"

namespace graphtag {
namespace {

using perfetto::Packet;
using perfetto::PacketStream;

constexpr std::size_t kKeysMax = std::size_t{1} << 16;

// Every name of an arg that events of a recording use and records do not have themselves: among them are all keys of annotations.
Result<std::vector<std::string>> survey_keys(ByteSource& source) {
  std::vector<std::string> keys;
  std::set<std::string, std::less<>> seen;
  PacketStream packets(source);
  Packet packet;
  for (;;) {
    const auto bytes = packets.next();
    if (!bytes) return bytes.error();
    if (!*bytes) break;
    if (!perfetto::decode_packet(**bytes, packet) || packet.sequence != recording::kEventSequence) continue;
    for (const perfetto::InternedString& string : packet.strings) {
      if (string.kind != perfetto::StringKind::arg_name || perfetto::RecordingEvents::is_record_key(string.text)) continue;
      std::string_view key = string.text == recording::kAnnotatedStream ? recording::kStream : string.text;
      if (key.starts_with(recording::kPrefix)) key.remove_prefix(recording::kPrefix.size());
      if (keys.size() < kKeysMax && seen.emplace(key).second) keys.emplace_back(key);
    }
  }
  return keys;
}

Error with_path(Error error, const std::string& path) {
  if (error.file.empty()) error.file = path;
  return error;
}

}  // namespace

Result<void> read_perfetto(ByteSource& source, const std::function<Result<OpenedSource>()>& source_again, const std::string& path,
                           EventVisitor& visitor, const ReadOptions& options, ReadResult& result) {
  if (options.survey) {
    const Result<OpenedSource> again = source_again();
    if (!again) return again.error();
    Result<std::vector<std::string>> keys = survey_keys(*again->source);
    if (!keys) return keys.error();
    result.info.annotation_keys = *std::move(keys);
  }
  perfetto::RecordingEvents events(visitor, result);
  PacketStream packets(source);
  Packet packet;
  for (;;) {
    const auto bytes = packets.next();
    if (!bytes) return bytes.error();
    result.content_bytes = packets.content_bytes();
    if (!*bytes) break;
    if (!perfetto::decode_packet(**bytes, packet)) {
      result.problems.add(ProblemKind::unparsable_event, packets.offset(), "a packet that cannot be read");
      continue;
    }
    if (auto added = events.add(packet, packets.offset()); !added) return with_path(added.error(), path);
  }
  if (packets.garbage())
    result.problems.add(ProblemKind::trailing_garbage, packets.offset(), "bytes that are no packet: reading ends here");
  if (packets.passed_over() != 0) {
    result.problems.add(ProblemKind::event_too_large, packets.offset(), "packets of more than 8 MiB", packets.passed_over());
  }
  if (packets.cut()) result.problems.add(ProblemKind::truncated, packets.offset(), "the file ends within a packet");
  if (auto finished = events.finish(); !finished) return with_path(finished.error(), path);
  return {};
}

}  // namespace graphtag
