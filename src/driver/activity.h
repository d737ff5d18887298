// CUPTI's activity records: what the GPUs did and which CUDA calls were made, in buffers that the client gives.
//
//   CUPTI ── give() ──▶ ActivityBuffers     an empty buffer, on whatever thread of the program or of CUPTI's own
//   CUPTI ── take() ──▶ ActivityBuffers     the same buffer with records in it
//   next_record(buffer) ──▶ raw record ── decode() ──▶ GpuActivity, ApiCall, ...       later, on the client's own thread
//
// Activity is the process's: there is one set of callbacks, and whoever registers last has it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "driver/driver_result.h"
#include "model/ids.h"

namespace graphtag {

enum class ActivityKind : std::uint8_t {
  kernel,
  memcpy,
  peer_memcpy,
  memset,
  driver_call,
  runtime_call,
  external_id,
  overhead,
  other
};
constexpr std::size_t kActivityKinds = 8;  // without `other`

struct ActivityKinds {
  std::uint32_t bits = 0;
  constexpr ActivityKinds() = default;
  constexpr ActivityKinds(std::initializer_list<ActivityKind> kinds) {
    for (const ActivityKind kind : kinds) add(kind);
  }
  constexpr void add(ActivityKind kind) { bits |= std::uint32_t{1} << static_cast<unsigned>(kind); }
  constexpr bool contains(ActivityKind kind) const { return (bits >> static_cast<unsigned>(kind) & 1) != 0; }
  bool operator==(const ActivityKinds&) const = default;
};

// A record as CUPTI wrote it; valid as long as its buffer is.
using RawRecord = struct OpaqueRecord;

// Times are on CUPTI's clock, ns.

// The work of a GPU: a kernel, a copy or a set. (model/ has it with its annotation, as GpuOperation.)
struct GpuActivity {
  ActivityKind kind = ActivityKind::kernel;
  std::uint64_t start_ns = 0, end_ns = 0;
  std::uint32_t device = 0, context = 0, stream = 0;
  std::uint32_t correlation = 0;
  NodeId node;    // 0 outside graphs
  GraphId graph;  // of the exec graph
  // Of kernels:
  const char* name = nullptr;  // mangled; CUPTI's, valid as long as the record
  std::int32_t grid[3] = {}, block[3] = {};
  std::uint32_t registers = 0;
  std::uint64_t shared_bytes = 0;  // static and dynamic
  // Of copies and sets:
  std::uint64_t bytes = 0;
  std::uint8_t copy_kind = 0;                     // CUpti_ActivityMemcpyKind
  std::uint8_t source_kind = 0, target_kind = 0;  // CUpti_ActivityMemoryKind
  std::uint32_t source_device = 0;                // of peer copies
  std::uint32_t value = 0;                        // of sets
};

struct ApiCall {
  bool of_driver = false;
  std::uint32_t callback_id = 0;
  std::uint64_t start_ns = 0, end_ns = 0;
  std::uint32_t thread = 0;  // the operating system's id
  std::uint32_t correlation = 0;
  std::uint32_t return_value = 0;
};

// Says that the call `correlation` was made while `id` was pushed on its thread.
struct ExternalId {
  std::uint64_t id = 0;
  std::uint32_t correlation = 0;
};

// Time that CUPTI itself took.
struct Overhead {
  std::uint32_t kind = 0;  // CUpti_ActivityOverheadKind
  std::uint64_t start_ns = 0, end_ns = 0;
  bool of_thread = false;  // else of a device, a stream or a process
  std::uint32_t process = 0, thread = 0;
};

ActivityKind kind_of(const RawRecord* record) noexcept;
// 0 for kinds without one.
std::uint64_t start_of(const RawRecord* record) noexcept;
// `record` must be of a kind that the result stands for.
GpuActivity decode_gpu_activity(const RawRecord* record) noexcept;
ApiCall decode_call(const RawRecord* record) noexcept;
ExternalId decode_external_id(const RawRecord* record) noexcept;
Overhead decode_overhead(const RawRecord* record) noexcept;

// "HtoD"; "Pinned"; "Lazy Function Loading". Never null.
const char* copy_kind_name(std::uint8_t kind) noexcept;
const char* memory_kind_name(std::uint8_t kind) noexcept;
const char* overhead_name(std::uint32_t kind) noexcept;

// Gives and takes buffers, several threads at once, within CUDA calls of the program's and on a thread of CUPTI's: it must neither wait nor
// allocate.
class ActivityBuffers {
 public:
  // A buffer aligned to 8 bytes, or null: then CUPTI drops the records and counts them.
  virtual std::uint8_t* give(std::size_t& bytes) noexcept = 0;
  virtual void take(std::uint8_t* buffer, std::size_t valid_bytes) noexcept = 0;

 protected:
  ~ActivityBuffers() = default;
};

struct ActivityTable {
  DriverResult (*start)(void* self, ActivityBuffers* buffers, ActivityKinds wanted, ActivityKinds* enabled) noexcept;
  DriverResult (*stop)(void* self) noexcept;
  DriverResult (*flush)(void* self, bool forced) noexcept;
  void (*detach)(void* self, bool in_child) noexcept;
  DriverResult (*next_record)(void* self, std::uint8_t* buffer, std::size_t valid_bytes, const RawRecord** record) noexcept;
  DriverResult (*dropped)(void* self, std::uint64_t* count) noexcept;
  DriverResult (*push_external_id)(void* self, std::uint64_t id) noexcept;
  DriverResult (*pop_external_id)(void* self) noexcept;
  DriverResult (*call_name)(void* self, bool of_driver, std::uint32_t callback_id, const char** name) noexcept;
};

// As Driver: a table and its state. Not inside callbacks.
class Activity {
 public:
  constexpr Activity(const ActivityTable& table, void* self) : table_(&table), self_(self) {}

  // Registers `buffers` and asks for `wanted`; `enabled` become the kinds that this CUPTI agreed to. It fails without kernels. One
  // start at a time in a process.
  DriverResult start(ActivityBuffers& buffers, ActivityKinds wanted, ActivityKinds& enabled) const noexcept {
    return table_->start(self_, &buffers, wanted, &enabled);
  }
  // Asks for nothing more; records that were made go on coming until detach().
  DriverResult stop() const noexcept { return table_->stop(self_); }
  // Makes CUPTI hand over the buffers whose records are all finished; `forced`: all that it has. Waits for no GPU.
  DriverResult flush(bool forced) const noexcept { return table_->flush(self_, forced); }
  // From now on no buffer is given, and none is taken: when it returns, no call of ActivityBuffers is running.
  void detach() const noexcept { table_->detach(self_, false); }
  // The same in a child of fork(), where no call can be running.
  void detach_in_child() const noexcept { table_->detach(self_, true); }

  // The record behind `record` in a buffer (null: the first); not_ready behind the last.
  DriverResult next_record(std::uint8_t* buffer, std::size_t valid_bytes, const RawRecord*& record) const noexcept {
    return table_->next_record(self_, buffer, valid_bytes, &record);
  }
  // How many records CUPTI has dropped since start().
  DriverResult dropped(std::uint64_t& count) const noexcept { return table_->dropped(self_, &count); }

  // CUDA calls of this thread have `id` from here on, until it is popped.
  DriverResult push_external_id(std::uint64_t id) const noexcept { return table_->push_external_id(self_, id); }
  DriverResult pop_external_id() const noexcept { return table_->pop_external_id(self_); }

  // "cudaLaunchKernel_v7000"; it lasts.
  DriverResult call_name(bool of_driver, std::uint32_t callback_id, const char*& name) const noexcept {
    return table_->call_name(self_, of_driver, callback_id, &name);
  }

 private:
  const ActivityTable* table_;
  void* self_;
};

}  // namespace graphtag
