// What the recorder says of itself in a recording: its beginning, the devices, its end.
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/json.h"
#include "base/recording_layout.h"
#include "trace/perfetto/recording_events.h"

namespace graphtag::perfetto {
namespace {

namespace layout = recording;

constexpr std::size_t kDevicesMax = 4096;

}  // namespace

Error RecordingEvents::no_recording() {
  return {
      ErrorCode::unsupported,
      "it is a Perfetto trace, but no recording of graphtag (graphtag run, graphtag.record); if graphtag annotate drew it, take "
      "the trace that it was drawn from, or let it write Chrome JSON",
      {},
      {}};
}

Json RecordingEvents::facts_at(const PacketEvent& event, const Sequence& sequence, std::uint64_t offset) {
  std::uint64_t unreadable = 0;
  Json facts = facts_of(event, sequence.strings, unreadable);
  if (unreadable != 0) {
    result_.problems.add(ProblemKind::unusable_fact, offset, "an arg of the recorder's own events that cannot be read",
                         unreadable);
  }
  return facts;
}

Result<void> RecordingEvents::status(const Packet& packet, const Sequence& sequence, std::string_view name,
                                     std::uint64_t offset) {
  if (name == layout::kBeginEvent) return begin_recording(packet, sequence, offset);
  // All that is in one that was drawn of nothing.
  if (name == layout::kDrawnEvent && !chapters_) return no_recording();
  if (is_others_) return {};
  if (name == layout::kEndEvent) ended_[recording_ns_] = true;
  if (name == layout::kDeviceEvent) {
    const Json args = facts_at(*packet.event, sequence, offset);
    const auto device = number_at<std::uint64_t>(args, "device");
    if (device && *device < kDevicesMax) {
      auto& names = result_.info.device_names;
      if (names.size() <= *device) names.resize(*device + 1);
      names[*device] = text_at(args, "name");
    }
  }
  return {};
}

Result<void> RecordingEvents::begin_recording(const Packet& packet, const Sequence& sequence, std::uint64_t offset) {
  const Json args = facts_at(*packet.event, sequence, offset);
  const std::string schema = text_at(args, "schema");
  if (schema != layout::kSchema) {
    const std::string known(layout::kSchema);
    if (schema.empty())
      return Error{
          ErrorCode::malformed, "the recording does not say its schema (" + known + "): its beginning is damaged", {}, {}};
    return Error{ErrorCode::unsupported,
                 "it is a recording of schema " + schema + ", and this graphtag reads " + known + "; take a newer graphtag",
                 {},
                 {}};
  }
  if (open_) {
    result_.problems.add(ProblemKind::unparsable_event, open_->offset, "a slice without an END");
    open_.reset();
  }
  chapters_ = true;
  RecordedProcess whose = process_of(args);
  is_others_ = wanted_pid_ && whose.pid != wanted_pid_;
  if (is_others_) return {};
  recording_ns_ = number_at<std::int64_t>(args, "begin_ns").value_or(0);
  ended_.try_emplace(recording_ns_, false);
  if (begun_) {
    needs_choice_ = whose != process_;
    return needs_choice_ ? Result<void>(Error{ErrorCode::invalid_argument, "it has recordings of several processes", {}, {}})
                         : Result<void>();
  }
  begun_ = true;
  process_ = std::move(whose);
  TraceInfo& info = result_.info;
  info.host = process_.host;
  info.pid = process_.pid;
  info.rank = number_at<std::int64_t>(args, "rank");
  const std::string tool = text_at(args, "tool");
  info.producer = (tool.empty() ? "graphtag" : tool) + " recording";
  base_ns_ =
      number_at<std::int64_t>(args, "begin_ns").value_or(static_cast<std::int64_t>(packet.time_ns & (~std::uint64_t{0} >> 1)));
  info.base_time_ns = base_ns_;
  info.annotations = annotations_;
  if (auto given = visitor_.on_member("baseTimeNanoseconds", std::to_string(base_ns_), false); !given) return given;
  if (!info.host.empty()) {
    if (auto given = visitor_.on_member("host_name", dump_json(Json(info.host)), false); !given) return given;
  }
  if (info.rank) {
    if (auto given = visitor_.on_member("distributedInfo", "{\"rank\":" + std::to_string(*info.rank) + "}", false); !given)
      return given;
  }
  if (auto begun = visitor_.on_events_begin(info); !begun) return begun;
  if (!info.pid) return {};
  const std::string name = text_at(args, "process");
  std::string process;
  if (!name.empty()) append_json_string(process, name);
  for (const auto& [what, key, value] :
       {std::tuple("\"process_name\"", "name", std::string_view(process)), {"\"process_labels\"", "labels", "\"CPU\""}}) {
    if (value.empty()) continue;
    builder_.begin(EventKind::metadata, 'M', {}, what);
    builder_.place(*info.pid, 0);
    builder_.time(0);
    builder_.argument_json(key, value);
    if (auto given = give(builder_.finish(0)); !given) return given;
  }
  return {};
}

}  // namespace graphtag::perfetto
