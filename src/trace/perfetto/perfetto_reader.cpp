#include "trace/perfetto/perfetto_reader.h"

#include <optional>
#include <set>
#include <utility>

#include "base/recording_layout.h"
#include "trace/perfetto/packet_stream.h"
#include "trace/perfetto/recorded_processes.h"
#include "trace/perfetto/recording_events.h"

namespace graphtag {
namespace {

using perfetto::Packet;
using perfetto::PacketStream;

constexpr std::size_t kKeysMax = std::size_t{1} << 16;

// Every name of an arg that events of a recording use and records do not have themselves: among them are all keys of annotations.
Result<void> survey_keys(ByteSource& source, std::optional<std::int64_t> wanted_pid, TraceInfo& info) {
  std::set<std::string, std::less<>> seen;
  const auto take = [&](std::string_view name) {
    if (perfetto::RecordingEvents::is_record_key(name)) return;
    std::string_view key = name == recording::kAnnotatedStream ? recording::kStream : name;
    if (key.starts_with(recording::kPrefix)) key.remove_prefix(recording::kPrefix.size());
    if (seen.contains(key)) return;
    if (seen.size() == kKeysMax) {
      ++info.unlisted_keys;
      return;
    }
    seen.emplace(key);
    info.annotation_keys.emplace_back(key);
  };
  const perfetto::StringTable none;
  perfetto::ChapterBegins begins;
  bool is_others = false;
  PacketStream packets(source);
  Packet packet;
  for (;;) {
    const auto bytes = packets.next();
    if (!bytes) return bytes.error();
    if (!*bytes) break;
    if (!perfetto::decode_packet(**bytes, packet)) continue;
    if (const auto process = begins.add(packet)) is_others = wanted_pid && process->pid != wanted_pid;
    if (is_others || packet.sequence != recording::kEventSequence) continue;
    for (const perfetto::InternedString& string : packet.strings) {
      if (string.kind == perfetto::StringKind::arg_name) take(string.text);
    }
    if (!packet.event) continue;
    // Once its table of strings is full, the recorder writes a key into the event itself.
    for (const std::string_view arg : packet.event->args) {
      std::string_view key;
      if (perfetto::arg_key(arg, none, key)) take(key);
    }
  }
  return {};
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
    if (auto surveyed = survey_keys(*again->source, options.process, result.info); !surveyed) return surveyed;
  }
  perfetto::RecordingEvents events(visitor, result, options.process);
  const auto failure = [&](Error error) -> Error {
    if (!events.needs_choice()) return with_path(std::move(error), path);
    const Result<OpenedSource> again = source_again();
    return with_path(again ? perfetto::not_one_process(*again->source, options.process) : again.error(), path);
  };
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
    if (auto added = events.add(packet, packets.offset()); !added) return failure(added.error());
  }
  if (packets.garbage())
    result.problems.add(ProblemKind::trailing_garbage, packets.offset(), "bytes that are no packet: reading ends here");
  if (packets.passed_over() != 0) {
    result.problems.add(ProblemKind::event_too_large, packets.offset(), "packets of more than 8 MiB", packets.passed_over());
  }
  if (packets.cut()) result.problems.add(ProblemKind::truncated, packets.offset(), "the file ends within a packet");
  if (auto finished = events.finish(); !finished) return failure(finished.error());
  return {};
}

}  // namespace graphtag
