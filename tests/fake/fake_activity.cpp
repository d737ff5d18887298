#include "tests/fake/fake_activity.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>
#include <utility>

#include "driver/vendor_activity.h"

namespace graphtag::fake {
namespace {

std::uint64_t this_thread() {
  return std::hash<std::thread::id>{}(std::this_thread::get_id());
}

// The size of CUPTI's own structs, which have more behind what graphtag reads.
std::size_t size_in_buffer(std::uint32_t number) {
  switch (number) {
    case vendor::kActivityNumbers[static_cast<std::size_t>(ActivityKind::kernel)]:
      return 208;
    case vendor::kActivityNumbers[static_cast<std::size_t>(ActivityKind::memcpy)]:
      return 112;
    case vendor::kActivityNumbers[static_cast<std::size_t>(ActivityKind::peer_memcpy)]:
      return 112;
    case vendor::kActivityNumbers[static_cast<std::size_t>(ActivityKind::memset)]:
      return 96;
    case vendor::kActivityNumbers[static_cast<std::size_t>(ActivityKind::overhead)]:
      return 56;
    case vendor::kActivityNumbers[static_cast<std::size_t>(ActivityKind::external_id)]:
      return 24;
    default:
      return 40;
  }
}

std::uint32_t number_of(ActivityKind kind) {
  return vendor::kActivityNumbers[static_cast<std::size_t>(kind)];
}

}  // namespace

FakeActivity::~FakeActivity() {
  if (!taken_over_) return;
  std::free(current_.bytes);
  for (const Buffer& buffer : full_) std::free(buffer.bytes);
}

bool FakeActivity::kernel(const Kernel& kernel) {
  vendor::KernelRecord record{};
  record.start = kernel.start_ns;
  record.end = kernel.end_ns;
  record.device = kernel.device;
  record.context = kernel.context;
  record.stream = kernel.stream;
  record.correlation = kernel.correlation;
  for (int i = 0; i < 3; ++i) {
    record.grid[i] = kernel.grid[i];
    record.block[i] = kernel.block[i];
  }
  record.registers = kernel.registers;
  record.static_shared = kernel.static_shared;
  record.dynamic_shared = kernel.dynamic_shared;
  record.name = kernel.name;
  record.graph_node = kernel.node_id;
  record.graph = static_cast<std::uint32_t>(kernel.node_id >> 32);
  return add(ActivityKind::kernel, record, kernel.end_ns == 0);
}

bool FakeActivity::copy(const Copy& copy) {
  const auto fill = [&copy](auto& record) {
    record.copy_kind = copy.kind;
    record.source_kind = copy.source;
    record.target_kind = copy.target;
    record.bytes = copy.bytes;
    record.start = copy.start_ns;
    record.end = copy.end_ns;
    record.device = copy.device;
    record.context = copy.context;
    record.stream = copy.stream;
    record.correlation = copy.correlation;
    record.graph_node = copy.node_id;
    record.graph = static_cast<std::uint32_t>(copy.node_id >> 32);
  };
  if (copy.peer) {
    vendor::PeerMemcpyRecord record{};
    fill(record);
    record.source_device = copy.source_device;
    return add(ActivityKind::peer_memcpy, record, copy.end_ns == 0);
  }
  vendor::MemcpyRecord record{};
  fill(record);
  return add(ActivityKind::memcpy, record, copy.end_ns == 0);
}

bool FakeActivity::set(const Set& set) {
  vendor::MemsetRecord record{};
  record.value = set.value;
  record.bytes = set.bytes;
  record.start = set.start_ns;
  record.end = set.end_ns;
  record.device = set.device;
  record.context = set.context;
  record.stream = set.stream;
  record.correlation = set.correlation;
  record.memory_kind = 3;
  record.graph_node = set.node_id;
  record.graph = static_cast<std::uint32_t>(set.node_id >> 32);
  return add(ActivityKind::memset, record, set.end_ns == 0);
}

bool FakeActivity::call(const Call& call) {
  std::map<std::uint32_t, std::vector<std::uint64_t>> pushed;
  {
    const std::lock_guard lock(mutex_);
    pushed = pushed_[this_thread()];
  }
  for (const auto& [kind, ids] : pushed) {
    if (ids.empty()) continue;
    vendor::ExternalRecord record{};
    record.external_kind = kind;
    record.external_id = ids.back();
    record.correlation = call.correlation;
    add(ActivityKind::external_id, record, false);
  }
  vendor::ApiRecord record{};
  record.callback_id = call.callback_id;
  record.start = call.start_ns;
  record.end = call.end_ns;
  record.thread = call.thread;
  record.correlation = call.correlation;
  record.return_value = call.return_value;
  return add(call.driver ? ActivityKind::driver_call : ActivityKind::runtime_call, record, false);
}

bool FakeActivity::overhead(std::uint32_t kind, std::uint64_t start_ns, std::uint64_t end_ns, std::uint32_t process,
                            std::uint32_t thread) {
  vendor::OverheadRecord record{};
  record.overhead_kind = kind;
  record.object_kind = vendor::kObjectThread;
  record.object[0] = process;
  record.object[1] = thread;
  record.start = start_ns;
  record.end = end_ns;
  return add(ActivityKind::overhead, record, false);
}

bool FakeActivity::unknown() {
  std::uint32_t record[10] = {9999};
  return add_bytes(record, sizeof record, false);
}

template <typename Record>
bool FakeActivity::add(ActivityKind kind, const Record& record, bool incomplete) {
  {
    const std::lock_guard lock(mutex_);
    if (!kinds_.contains(kind)) return false;
  }
  std::uint8_t bytes[256] = {};
  static_assert(sizeof(Record) <= sizeof bytes);
  Record numbered = record;
  numbered.kind = number_of(kind);
  std::memcpy(bytes, &numbered, sizeof numbered);
  return add_bytes(bytes, size_in_buffer(numbered.kind), incomplete);
}

bool FakeActivity::add_bytes(const void* bytes, std::size_t size, bool incomplete) {
  std::unique_lock lock(mutex_);
  if (taken_over_) return false;
  while (true) {
    if (buffers_ == nullptr) return false;
    if (current_.bytes != nullptr && current_.used + size <= current_.size) break;
    if (current_.bytes != nullptr) full_.push_back(std::exchange(current_, {}));
    ActivityBuffers* buffers = buffers_;
    const bool keep = keep_;
    ++calling_;
    lock.unlock();
    if (!keep) hand_over_full();
    std::size_t capacity = 0;
    std::uint8_t* given = buffers->give(capacity);
    --calling_;
    lock.lock();
    if (given == nullptr) {
      ++dropped_;
      return false;
    }
    // Another thread may have got one meanwhile: both are used, one after the other.
    if (current_.bytes != nullptr) full_.push_back(std::exchange(current_, {}));
    current_ = {given, capacity, 0, false};
  }
  std::memcpy(current_.bytes + current_.used, bytes, size);
  current_.used += size;
  current_.incomplete = current_.incomplete || incomplete;
  return true;
}

void FakeActivity::hand_over_full() {
  std::unique_lock lock(mutex_);
  while (!full_.empty() && buffers_ != nullptr && !taken_over_) {
    const Buffer buffer = full_.front();
    full_.pop_front();
    ActivityBuffers* buffers = buffers_;
    ++calling_;
    lock.unlock();
    buffers->take(buffer.bytes, buffer.used);
    --calling_;
    lock.lock();
  }
}

void FakeActivity::keep_full_buffers(bool keep) {
  const std::lock_guard lock(mutex_);
  keep_ = keep;
}

void FakeActivity::take_over() {
  const std::lock_guard lock(mutex_);
  taken_over_ = true;
}

void FakeActivity::refuse_next_start() {
  const std::lock_guard lock(mutex_);
  refuse_ = true;
}

void FakeActivity::in_next_start(std::function<void()> happens) {
  const std::lock_guard lock(mutex_);
  in_next_start_ = std::move(happens);
}

void FakeActivity::hold_flushes(bool hold) {
  const std::lock_guard lock(mutex_);
  hold_ = hold;
}

bool FakeActivity::is_on() const {
  const std::lock_guard lock(mutex_);
  return kinds_ != ActivityKinds{};
}

ActivityKinds FakeActivity::kinds() const {
  const std::lock_guard lock(mutex_);
  return kinds_;
}

std::uint64_t FakeActivity::dropped_in_all() const {
  const std::lock_guard lock(mutex_);
  return dropped_;
}

DriverResult FakeActivity::start(ActivityBuffers* buffers, ActivityKinds wanted, ActivityKinds* enabled) {
  std::unique_lock lock(mutex_);
  if (const auto happens = std::exchange(in_next_start_, nullptr)) {
    lock.unlock();
    happens();
    lock.lock();
  }
  if (std::exchange(refuse_, false)) return {DriverStatus::failed, 35};
  buffers_ = buffers;
  kinds_ = wanted;
  *enabled = wanted;
  current_ = {};
  full_.clear();
  taken_over_ = keep_ = false;
  dropped_ = dropped_told_ = 0;
  return {};
}

DriverResult FakeActivity::change_kinds(ActivityKinds kinds) {
  const std::lock_guard lock(mutex_);
  kinds_ = kinds;
  return {};
}

DriverResult FakeActivity::flush(bool forced) {
  std::unique_lock lock(mutex_);
  while (hold_) {
    lock.unlock();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    lock.lock();
  }
  if (taken_over_) return {};
  if (current_.bytes != nullptr && (forced || !current_.incomplete)) full_.push_back(std::exchange(current_, {}));
  // A buffer with unfinished work stays, and with it those behind it.
  if (!forced && !full_.empty() && full_.front().incomplete) return {};
  lock.unlock();
  hand_over_full();
  return {};
}

void FakeActivity::detach(bool in_child) {
  if (in_child) {
    // A thread that is not there may have had the lock.
    buffers_ = nullptr;
    calling_ = 0;
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    buffers_ = nullptr;
  }
  while (calling_ != 0) std::this_thread::yield();
}

DriverResult FakeActivity::next_record(std::uint8_t* buffer, std::size_t valid_bytes, const RawRecord** record) {
  auto at = reinterpret_cast<std::uintptr_t>(*record);
  const auto begin = reinterpret_cast<std::uintptr_t>(buffer);
  if (at == 0) {
    at = begin;
  } else {
    std::uint32_t number = 0;
    std::memcpy(&number, *record, sizeof number);
    at += size_in_buffer(number);
  }
  if (at + sizeof(std::uint32_t) > begin + valid_bytes) return {DriverStatus::not_ready, vendor::kCuptiMaxLimitReached};
  *record = reinterpret_cast<const RawRecord*>(at);
  return {};
}

std::uint64_t FakeActivity::take_dropped() {
  const std::lock_guard lock(mutex_);
  return dropped_ - std::exchange(dropped_told_, dropped_);
}

DriverResult FakeActivity::push_external_id(std::uint32_t kind, std::uint64_t id) {
  const std::lock_guard lock(mutex_);
  pushed_[this_thread()][kind].push_back(id);
  return {};
}

DriverResult FakeActivity::pop_external_id(std::uint32_t kind) {
  const std::lock_guard lock(mutex_);
  std::vector<std::uint64_t>& ids = pushed_[this_thread()][kind];
  if (ids.empty()) return {DriverStatus::not_ready, vendor::kCuptiQueueEmpty};
  ids.pop_back();
  return {};
}

const char* FakeActivity::call_name(bool of_driver, std::uint32_t callback_id) {
  if (of_driver) return callback_id == 307 ? "cuLaunchKernel" : nullptr;
  switch (callback_id) {
    case 211:
      return "cudaLaunchKernel_v7000";
    case 311:
      return "cudaGraphLaunch_v10000";
    default:
      return nullptr;
  }
}

}  // namespace graphtag::fake
