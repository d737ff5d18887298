// Recordings made by hand with the packets of base/, in the layout of base/recording_layout.h.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/perfetto_packets.h"
#include "base/recording_layout.h"

namespace graphtag::testing {

struct RecordedOperation {
  std::string_view category = recording::kKernel;
  std::string name = "gemm";
  std::uint64_t start_ns = 0, end_ns = 0;  // from kBase on
  std::uint64_t device = 0, stream = 7, correlation = 1;
  std::uint64_t node = 0;  // 0: not in a graph
  std::string origin = "callback";
  Json annotation = Json::object();  // as the file has it
  std::vector<std::string> path = {};
  bool bad_time = false;
};

class MadeRecording {
 public:
  static constexpr std::uint64_t kBase = 1790857026000000000;  // Unix time of its beginning
  static constexpr std::uint64_t kProcess = 1, kStatus = 2, kStream = 3, kThread = 4, kRuntime = 5, kCounter = 6;

  explicit MadeRecording(Json about = Json::object(), std::string_view schema = recording::kSchema)
      : about_(std::move(about)), schema_(schema) {
    begin_chapter();
  }

  void begin_chapter() {
    events_.emplace(recording::kEventSequence, strings_.emplace_back());
    const auto pid = about_.value("pid", std::int32_t{100});
    TrackDescription process;
    process.uuid = kProcess;
    process.process = ProcessIdentity{pid, "python3", {}};
    append_track(bytes, recording::kDescriptorSequence, process);
    track(kStatus, kProcess, recording::kStatusTrack);
    TrackDescription thread;
    thread.uuid = kThread;
    thread.parent = kProcess;
    thread.thread = ThreadIdentity{pid, pid + 1, "main"};
    append_track(bytes, recording::kDescriptorSequence, thread);
    track(kRuntime, kThread, recording::kRuntimeTrack);
    track(kStream, kProcess, "stream 7");
    append_unix_clock(bytes, recording::kStatusSequence, kBase);
    Json about{{"schema", schema_}, {"tool", "graphtag 0.1.0"}, {"host", "vm"},
               {"pid", 100},        {"process", "python3"},     {"begin_ns", kBase}};
    about.update(about_);
    status_event(recording::kBeginEvent, about);
    status_event(recording::kDeviceEvent, {{"device", 0}, {"name", "NVIDIA H200"}});
  }

  void status_event(std::string_view name, const Json& args, std::string_view category = recording::kStatusCategory) {
    InternedStrings strings;
    EventEncoder encoder(strings);
    encoder.category(category);
    encoder.name(name);
    {
      ArgWriter writer = encoder.args();
      for (const auto& arg : args.items()) write(writer, arg.key(), arg.value());
    }
    TrackEvent event;
    event.timestamp_ns = kBase;
    event.track = kStatus;
    event.body = encoder.body();
    event.used = encoder.used();
    PacketSequence::append_self_contained(bytes, recording::kStatusSequence, strings, event);
  }

  void counter(std::string_view name, std::int64_t value) {
    const std::uint64_t uuid = kCounter + std::hash<std::string_view>{}(name) % 1000;
    track(uuid, kProcess, name, true);
    InternedStrings strings;
    EventEncoder encoder(strings);
    encoder.counter(value);
    TrackEvent event;
    event.type = TrackEventType::counter;
    event.timestamp_ns = kBase;
    event.track = uuid;
    event.body = encoder.body();
    PacketSequence::append_self_contained(bytes, recording::kStatusSequence, strings, event);
  }

  void operation(const RecordedOperation& operation) {
    EventEncoder encoder(strings_.back());
    encoder.category(operation.category);
    encoder.name(operation.name);
    {
      ArgWriter args = encoder.args();
      args.unsigned_integer(recording::kDevice, operation.device);
      args.unsigned_integer(recording::kStream, operation.stream);
      args.unsigned_integer(recording::kCorrelation, operation.correlation);
      if (operation.node != 0) {
        args.unsigned_integer(recording::kGraphId, operation.node >> 32);
        args.unsigned_integer(recording::kGraphNodeId, operation.node);
        args.string(recording::kOrigin, operation.origin);
      }
      if (operation.category == recording::kKernel) {
        ArgWriter grid = args.array(recording::kGrid);
        for (const std::uint64_t size : {8, 2, 1}) grid.unsigned_integer({}, size);
      } else {
        args.unsigned_integer(recording::kBytes, 4096);
      }
      for (const auto& arg : operation.annotation.items()) write(args, arg.key(), arg.value());
      if (!operation.path.empty()) {
        ArgWriter path = args.array(recording::kPath);
        for (const std::string& part : operation.path) path.string({}, part);
      }
      if (operation.bad_time) {
        ArgWriter bad = args.dict(recording::kBadTime);
        bad.unsigned_integer("start", 5);
        bad.unsigned_integer("end", 3);
      }
    }
    slice(encoder, kStream, operation.start_ns, operation.end_ns);
  }

  void host_slice(std::string_view category, std::string_view name, std::uint64_t start_ns, std::uint64_t end_ns,
                  const Json& args, std::uint64_t track = kThread) {
    EventEncoder encoder(strings_.back());
    encoder.category(category);
    encoder.name(name);
    {
      ArgWriter writer = encoder.args();
      for (const auto& arg : args.items()) write(writer, arg.key(), arg.value());
    }
    slice(encoder, track, start_ns, end_ns);
  }

  void mark(std::string_view name, std::uint64_t time_ns) {
    EventEncoder encoder(strings_.back());
    encoder.category(recording::kRange);
    encoder.name(name);
    append(encoder, TrackEventType::instant, kThread, time_ns);
  }

  void end() { status_event(recording::kEndEvent, {{"state", "ended"}}); }

  std::string bytes;

 private:
  static void write(ArgWriter& args, std::string_view key, const Json& value) {
    if (value.is_boolean()) {
      args.boolean(key, value.get<bool>());
    } else if (value.is_number_unsigned()) {
      args.unsigned_integer(key, value.get<std::uint64_t>());
    } else if (value.is_number_integer()) {
      args.integer(key, value.get<std::int64_t>());
    } else if (value.is_number_float()) {
      args.real(key, value.get<double>());
    } else if (value.is_string()) {
      args.string(key, value.get<std::string>());
    } else if (value.is_object() && !value.empty()) {
      ArgWriter nested = args.dict(key);
      for (const auto& member : value.items()) write(nested, member.key(), member.value());
    } else if (value.is_array() && !value.empty()) {
      ArgWriter nested = args.array(key);
      for (const Json& element : value) write(nested, {}, element);
    } else {
      args.json(key, value.dump());
    }
  }

  void track(std::uint64_t uuid, std::uint64_t parent, std::string_view name, bool counter = false) {
    TrackDescription description;
    description.uuid = uuid;
    description.parent = parent;
    description.name = name;
    description.counter = counter;
    append_track(bytes, recording::kDescriptorSequence, description);
  }

  void append(const EventEncoder& encoder, TrackEventType type, std::uint64_t track, std::uint64_t time_ns) {
    TrackEvent event;
    event.type = type;
    event.timestamp_ns = kBase + time_ns;
    event.track = track;
    event.body = encoder.body();
    event.used = encoder.used();
    events_->append(bytes, event);
  }

  void slice(const EventEncoder& encoder, std::uint64_t track, std::uint64_t start_ns, std::uint64_t end_ns) {
    append(encoder, TrackEventType::slice_begin, track, start_ns);
    TrackEvent end;
    end.type = TrackEventType::slice_end;
    end.timestamp_ns = kBase + end_ns;
    end.track = track;
    events_->append(bytes, end);
  }

  Json about_;
  std::string schema_;
  std::deque<InternedStrings> strings_;  // of each chapter
  std::optional<PacketSequence> events_;
};

}  // namespace graphtag::testing
