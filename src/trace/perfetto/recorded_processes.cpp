#include "trace/perfetto/recorded_processes.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "base/object_filler.h"
#include "base/recording_layout.h"
#include "trace/perfetto/packet_stream.h"

namespace graphtag::perfetto {
namespace {

namespace layout = recording;

constexpr std::size_t kListed = 64;

// "100, 101"; with hosts where there are several.
std::string listed(const std::vector<RecordedProcess>& processes) {
  const bool hosts = std::any_of(processes.begin(), processes.end(),
                                 [&](const RecordedProcess& process) { return process.host != processes.front().host; });
  std::string text;
  for (const RecordedProcess& process : processes) {
    if (!text.empty()) text += ", ";
    text += process.pid ? std::to_string(*process.pid) : "one without an id";
    if (hosts && !process.host.empty()) text += " on " + process.host;
  }
  return text;
}

}  // namespace

Json facts_of(const PacketEvent& event, const StringTable& strings, std::uint64_t& unreadable) {
  Json facts = Json::object();
  ObjectFiller filler(facts);
  std::string text;
  for (const std::string_view arg : event.args) {
    std::string_view key;
    text.clear();
    if (arg_key(arg, strings, key) && append_arg_value(arg, strings, text)) {
      if (Result<Json> value = parse_json(text)) {
        filler.set(std::string(key), *std::move(value));
        continue;
      }
    }
    ++unreadable;
  }
  return facts;
}

std::string text_at(const Json& facts, const char* key) {
  const auto found = facts.find(key);
  return found != facts.end() && found->is_string() ? found->get<std::string>() : std::string{};
}

RecordedProcess process_of(const Json& facts) {
  RecordedProcess process;
  process.host = text_at(facts, "host");
  process.pid = number_at<std::int64_t>(facts, "pid");
  process.loaded_ns = number_at<std::int64_t>(facts, "loaded_ns");
  return process;
}

std::optional<RecordedProcess> ChapterBegins::add(const Packet& packet) {
  if (packet.sequence != layout::kStatusSequence) return std::nullopt;
  if (packet.clears_state) strings_.clear();
  for (const InternedString& string : packet.strings) strings_.add(string);
  if (!packet.event || packet.event->type != EventType::instant ||
      strings_.find(StringKind::category, packet.event->category) != layout::kStatusCategory ||
      strings_.find(StringKind::event_name, packet.event->name) != layout::kBeginEvent) {
    return std::nullopt;
  }
  std::uint64_t unreadable = 0;
  return process_of(facts_of(*packet.event, strings_, unreadable));
}

Error not_one_process(ByteSource& source, std::optional<std::int64_t> wanted) {
  std::vector<RecordedProcess> all;
  ChapterBegins begins;
  PacketStream packets(source);
  Packet packet;
  while (all.size() < kListed) {
    const auto bytes = packets.next();
    if (!bytes) return bytes.error();
    if (!*bytes) break;
    if (!decode_packet(**bytes, packet)) continue;
    const auto process = begins.add(packet);
    if (process && std::find(all.begin(), all.end(), *process) == all.end()) all.push_back(*process);
  }
  const auto is_wanted = [&](const RecordedProcess& process) { return process.pid == wanted; };
  std::string what;
  if (!wanted) {
    what =
        "it has recordings of several processes: " + listed(all) + "; choose one with --process PID, or give each file by itself";
  } else if (std::none_of(all.begin(), all.end(), is_wanted)) {
    what = "it has no recording of process " + std::to_string(*wanted) + "; there is one of " + listed(all);
  } else {
    what = "it has recordings of several processes that had the id " + std::to_string(*wanted) + ", among " + listed(all) +
           ": give each file by itself";
  }
  return {ErrorCode::invalid_argument, std::move(what), {}, {}};
}

}  // namespace graphtag::perfetto
