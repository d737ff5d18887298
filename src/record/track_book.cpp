#include "record/track_book.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "base/recording_layout.h"
#include "base/unix_time.h"
#include "driver/device_uuid.h"
#include "model/ids.h"

namespace graphtag {
namespace {

// A thread's name, as the system has it; nothing once it is gone.
std::string name_of_thread(std::int64_t thread) {
  const std::string path = "/proc/self/task/" + std::to_string(thread) + "/comm";
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return "thread " + std::to_string(thread);
  char text[64];
  const ssize_t size = read(file, text, sizeof text);
  close(file);
  std::string name(text, size > 0 ? static_cast<std::size_t>(size) : 0);
  while (!name.empty() && name.back() == '\n') name.pop_back();
  return name.empty() ? "thread " + std::to_string(thread) : name;
}

}  // namespace

std::uint64_t TrackBook::uuid_of(Kind kind, std::uint64_t a, std::uint64_t b, std::uint64_t c) const {
  std::uint64_t hash = mix_bits(owner_.seed + static_cast<std::uint64_t>(kind));
  for (const std::uint64_t part : {a, b, c}) hash = mix_bits(hash ^ (part + 0x9e3779b97f4a7c15ULL));
  // Short ones make shorter packets.
  return (hash >> 16) | 1;
}

std::uint64_t TrackBook::flow_id(std::uint32_t correlation) const {
  return mix_bits(owner_.seed) ^ correlation;
}

bool TrackBook::is_new(std::uint64_t uuid) {
  if (described_.size() >= kMostTracks) {
    // Threads that came and went: whoever is still there is described again.
    described_.clear();
  }
  std::uint32_t& chapter = described_[uuid];
  if (chapter == chapter_) return false;
  chapter = chapter_;
  return true;
}

void TrackBook::describe(const TrackDescription& track) {
  append_track(*out_, recording::kDescriptorSequence, track);
}

void TrackBook::begin_chapter() {
  ++chapter_;
  process_uuid_ = uuid_of(Kind::process);
  status_uuid_ = uuid_of(Kind::status);
  TrackDescription process;
  process.uuid = process_uuid_;
  process.process = ProcessIdentity{static_cast<std::int32_t>(owner_.pid), owner_.process, {}};
  describe(process);
  TrackDescription status;
  status.uuid = status_uuid_;
  status.parent = process_uuid_;
  status.name = recording::kStatusTrack;
  describe(status);
}

std::uint64_t TrackBook::device(std::uint32_t device) {
  const std::uint64_t uuid = uuid_of(Kind::device, device);
  if (is_new(uuid)) {
    std::array<char, 256> name{};
    if (!driver_.device_name(static_cast<int>(device), name.data(), name.size()).ok()) name[0] = '\0';
    tell_device(device, name.data());
    TrackDescription track;
    track.uuid = uuid;
    track.parent = process_uuid_;
    track.name = "GPU " + std::to_string(device);
    if (name[0] != '\0') track.name += std::string(" ") + name.data();
    track.orders_children = true;
    track.order = static_cast<std::int32_t>(std::min<std::uint32_t>(device, 1U << 16));
    describe(track);
  }
  return uuid;
}

void TrackBook::tell_device(std::uint32_t device, const std::string& name) {
  InternedStrings strings;
  EventEncoder event{strings};
  event.category(recording::kStatusCategory);
  event.name(recording::kDeviceEvent);
  {
    ArgWriter args = event.args();
    args.unsigned_integer("device", device);
    if (!name.empty()) args.string("name", name);
    std::uint8_t uuid[16] = {};
    if (driver_.device_uuid(static_cast<int>(device), uuid).ok()) args.string("uuid", uuid_text(uuid));
  }
  TrackEvent packet;
  packet.timestamp_ns = static_cast<std::uint64_t>(unix_time_ns());
  packet.track = status_uuid_;
  packet.body = event.body();
  packet.used = event.used();
  PacketSequence::append_self_contained(*out_, recording::kStatusSequence, strings, packet);
}

TrackBook::Rows& TrackBook::rows_of(std::uint64_t first_uuid) {
  if (rows_.size() >= kMostTracks) rows_.clear();
  Rows& rows = rows_[first_uuid];
  if (rows.chapter != chapter_) {
    rows = {};
    rows.chapter = chapter_;
  }
  return rows;
}

template <typename Describe>
std::uint64_t TrackBook::place(Rows& rows, std::uint64_t start_ns, std::uint64_t end_ns, Describe describe_row) {
  const std::size_t count = std::min(rows.rows.size(), kMostRows);
  std::size_t index = 0;
  while (index < count && rows.rows[index].free_from_ns > start_ns) ++index;
  if (index == kMostRows) {
    // Its place is given to a new one.
    index = rows.made % kMostRows;
    rows.rows[index] = {describe_row(rows.made++), 0};
  } else if (index == rows.rows.size()) {
    rows.rows.push_back({describe_row(rows.made++), 0});
  }
  Row& row = rows.rows[index];
  row.free_from_ns = std::max(row.free_from_ns, end_ns);
  return row.uuid;
}

std::uint64_t TrackBook::stream(std::uint32_t device_number, std::uint32_t context, std::uint32_t stream, std::uint64_t start_ns,
                                std::uint64_t end_ns) {
  const std::uint64_t first = uuid_of(Kind::stream, device_number, std::uint64_t{context} << 32 | stream, 0);
  Rows& rows = rows_of(first);
  return place(rows, start_ns, end_ns, [&](std::uint64_t number) {
    const std::uint64_t uuid = uuid_of(Kind::stream, device_number, std::uint64_t{context} << 32 | stream, number);
    const std::uint64_t parent = device(device_number);
    const std::uint32_t main = main_context_.try_emplace(device_number, context).first->second;
    TrackDescription track;
    track.uuid = uuid;
    track.parent = parent;
    track.name = "stream " + std::to_string(stream);
    if (context != main) track.name += " of context " + std::to_string(context);
    track.merge_key = track.name;
    track.order = static_cast<std::int32_t>(std::min<std::uint32_t>(stream, 1U << 30));
    describe(track);
    return uuid;
  });
}

std::uint64_t TrackBook::thread(std::int64_t thread, HostTrack what) {
  const auto number = static_cast<std::uint64_t>(thread);
  const std::uint64_t uuid = uuid_of(Kind::thread, number);
  if (is_new(uuid)) {
    TrackDescription track;
    track.uuid = uuid;
    track.parent = process_uuid_;
    track.thread = ThreadIdentity{static_cast<std::int32_t>(owner_.pid), thread, name_of_thread(thread)};
    describe(track);
  }
  if (what == HostTrack::ranges) return uuid;
  const bool runtime = what == HostTrack::runtime;
  const std::uint64_t child = uuid_of(runtime ? Kind::runtime : Kind::driver, number);
  if (is_new(child)) {
    TrackDescription track;
    track.uuid = child;
    track.parent = uuid;
    track.name = runtime ? recording::kRuntimeTrack : recording::kDriverTrack;
    describe(track);
  }
  return child;
}

std::uint64_t TrackBook::overlapping(std::int64_t thread_number, std::uint64_t start_ns, std::uint64_t end_ns) {
  const auto number = static_cast<std::uint64_t>(thread_number);
  const std::uint64_t parent = thread(thread_number, HostTrack::ranges);
  Rows& rows = rows_of(uuid_of(Kind::overlap, number, 0));
  return place(rows, start_ns, end_ns, [&](std::uint64_t row) {
    TrackDescription track;
    track.uuid = uuid_of(Kind::overlap, number, row);
    track.parent = parent;
    track.name = recording::kOverlapTrack;
    track.merge_key = track.name;
    describe(track);
    return track.uuid;
  });
}

std::uint64_t TrackBook::overhead(std::uint64_t start_ns, std::uint64_t end_ns) {
  Rows& rows = rows_of(uuid_of(Kind::overhead));
  return place(rows, start_ns, end_ns, [&](std::uint64_t row) {
    TrackDescription track;
    track.uuid = uuid_of(Kind::overhead, row);
    track.parent = process_uuid_;
    track.name = recording::kOverheadTrack;
    track.merge_key = track.name;
    describe(track);
    return track.uuid;
  });
}

std::uint64_t TrackBook::counter(std::string_view name) {
  const std::uint64_t uuid = uuid_of(Kind::counter, std::hash<std::string_view>{}(name));
  if (is_new(uuid)) {
    TrackDescription track;
    track.uuid = uuid;
    track.parent = process_uuid_;
    track.name = name;
    track.counter = true;
    describe(track);
  }
  return uuid;
}

}  // namespace graphtag
