#include "write/perfetto_rows.h"

#include <algorithm>
#include <charconv>
#include <limits>

namespace graphtag {
namespace {

// The sequence of descriptors, which use no interned strings.
constexpr std::uint32_t kDescriptorSequence = 1;

std::optional<std::int64_t> integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return {};
  return value;
}

bool is_int32(std::int64_t value) {
  return value >= std::numeric_limits<std::int32_t>::min() && value <= std::numeric_limits<std::int32_t>::max();
}

std::string trimmed(std::string_view text) {
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  return std::string{text};
}

// The value of a metadata event's arg.
std::optional<std::string_view> arg(const Event& event, std::string_view key) {
  for (const auto& member : event.members) {
    if (event.text(member.key) == key) return event.text(member.value);
  }
  return {};
}

}  // namespace

std::uint32_t TimelineRows::process(const std::string& pid) {
  const auto [place, fresh] = process_ids_.try_emplace(pid, static_cast<std::uint32_t>(processes_.size()));
  if (fresh) {
    Process process;
    process.pid = pid;
    process.number = integer(pid);
    processes_.push_back(std::move(process));
  }
  return place->second;
}

TimelineRows::Thread* TimelineRows::thread(std::uint32_t process, std::string_view tid) {
  key_ = std::to_string(process);
  key_ += ':';
  key_ += tid;
  const auto found = threads_.find(key_);
  if (found != threads_.end()) return &found->second;
  if (threads_.size() >= kMaxRows) return nullptr;
  return &threads_[key_];
}

const TimelineRows::Thread* TimelineRows::find_thread(std::uint32_t process, const std::string& tid) const {
  const auto found = threads_.find(std::to_string(process) + ":" + tid);
  return found == threads_.end() ? nullptr : &found->second;
}

std::optional<std::uint32_t> TimelineRows::row(RowKind kind, std::string_view pid_token, std::string_view thread) {
  key_.assign(1, static_cast<char>('0' + static_cast<int>(kind)));
  key_ += unescape(pid_token, pid_storage_);
  key_ += '\0';
  key_ += unescape(thread, thread_storage_);
  const auto found = row_ids_.find(key_);
  if (found != row_ids_.end()) return found->second;
  if (rows_.size() >= kMaxRows) return {};
  const auto id = static_cast<std::uint32_t>(rows_.size());
  row_ids_.emplace(key_, id);
  Row row{kind, process(std::string{unescape(pid_token, pid_storage_)}), std::string{unescape(thread, thread_storage_)}};
  rows_.push_back(std::move(row));
  return id;
}

void TimelineRows::note_operation(std::uint32_t row, const Event& event) {
  auto& gpu = processes_[rows_[row].process];
  gpu.gpu = true;
  if (!gpu.device) gpu.device = event.device;
}

bool TimelineRows::metadata(const Event& event) {
  const auto what = event.text(event.name);
  const bool of_process = what == "\"process_name\"" || what == "\"process_labels\"" || what == "\"process_sort_index\"";
  if (!of_process && what != "\"thread_name\"" && what != "\"thread_sort_index\"") return false;
  const std::string pid{unescape(event.text(event.pid), pid_storage_)};
  if (process_ids_.size() >= kMaxRows && !process_ids_.contains(pid)) return false;
  const auto id = process(pid);
  std::string storage;
  if (of_process) {
    if (const auto name = arg(event, "name")) processes_[id].name = unescape(*name, storage);
    if (const auto labels = arg(event, "labels")) processes_[id].labels = unescape(*labels, storage);
    return true;
  }
  auto* known = thread(id, unescape(event.text(event.tid), thread_storage_));
  if (known == nullptr) return false;
  if (const auto name = arg(event, "name")) known->name = trimmed(unescape(*name, storage));
  if (const auto order = arg(event, "sort_index")) known->order = integer(*order);
  return true;
}

void TimelineRows::name_lanes(const std::vector<NewLane>& lanes) {
  for (const auto& lane : lanes) {
    const auto id = process(std::string{unescape(lane.pid, pid_storage_)});
    auto* known = thread(id, std::to_string(lane.stream));
    if (known == nullptr) continue;
    known->name = lane.name;
    known->order = lane.stream;
  }
}

void TimelineRows::describe_process(std::string& trace, Process& process, const TraceInfo& info) {
  process.uuid = new_uuid();
  TrackDescription track;
  track.uuid = process.uuid;
  track.orders_children = process.gpu;
  std::string name = process.name;
  if (process.gpu) {
    const auto device = process.device ? process.device : process.number;
    const bool known = device && *device >= 0 && static_cast<std::size_t>(*device) < info.device_names.size();
    name = device ? "GPU " + std::to_string(*device) : process.labels;
    if (known) name += " " + info.device_names[static_cast<std::size_t>(*device)];
    if (name.empty()) name = "GPU " + process.pid;
  }
  if (name.empty()) name = process.number ? "process " + process.pid : process.pid;
  // Viewers keep process 0 for the idle task and know no negative ones; GPUs have small numbers from 0 in traces.
  process.is_process = process.number && is_int32(*process.number) && *process.number >= (process.gpu ? 0 : 1);
  if (process.is_process) {
    ProcessIdentity identity;
    identity.pid = static_cast<std::int32_t>(*process.number);
    identity.name = name;
    if (!process.labels.empty()) identity.labels = {process.labels};
    track.process = std::move(identity);
  } else {
    track.name = name;
  }
  append_track(trace, kDescriptorSequence, track);
}

std::string TimelineRows::row_name(const Row& row) const {
  if (row.kind == RowKind::counter) return row.thread;
  const auto* known = find_thread(row.process, row.thread);
  const bool gpu = processes_[row.process].gpu;
  std::string name = known != nullptr ? known->name : std::string{};
  if (name.empty()) name = (gpu ? "stream " : integer(row.thread) ? "thread " : "") + row.thread;
  if (row.kind == RowKind::gpu_annotations) return name + " annotations";
  return gpu && row.kind == RowKind::thread ? name + " host" : name;
}

std::int32_t TimelineRows::row_order(const Row& row) const {
  const auto* known = find_thread(row.process, row.thread);
  const auto wanted = known != nullptr && known->order ? known->order : integer(row.thread);
  constexpr std::int64_t kRowsAStream = 4;
  constexpr std::int64_t kLast = std::numeric_limits<std::int32_t>::max() / kRowsAStream - 1;
  const std::int64_t place = row.kind == RowKind::gpu_annotations ? 0 : row.kind == RowKind::operations ? 1 : 2;
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(wanted.value_or(kLast), -kLast, kLast) * kRowsAStream + place);
}

std::uint64_t TimelineRows::describe(std::string& trace, std::uint32_t id, std::uint32_t index, const TraceInfo& info) {
  auto& row = rows_[id];
  auto& owner = processes_[row.process];
  if (owner.uuid == 0) describe_process(trace, owner, info);
  TrackDescription track;
  track.uuid = new_uuid();
  track.parent = owner.uuid;
  if (owner.gpu) track.order = row_order(row);
  const auto tid = integer(row.thread);
  const bool is_thread = row.kind == RowKind::thread && !owner.gpu && owner.is_process && tid && *tid > 0;
  if (is_thread && index == 0) {
    track.thread = ThreadIdentity{static_cast<std::int32_t>(*owner.number), *tid, row_name(row)};
  } else if (row.kind == RowKind::counter) {
    track.name = row_name(row);
    track.counter = true;
  } else {
    track.name = row_name(row);
    // A thread has one track of its own; what does not nest on it lies below.
    if (is_thread) track.parent = row.first_uuid;
    track.merge_key = std::to_string(static_cast<int>(row.kind)) + ":" + row.thread;
  }
  if (index == 0) row.first_uuid = track.uuid;
  append_track(trace, kDescriptorSequence, track);
  return track.uuid;
}

}  // namespace graphtag
