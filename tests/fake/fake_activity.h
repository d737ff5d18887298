// CUPTI's activity records in a test: a script says what the GPUs did and which calls were made, and this writes it into the client's buffers, in
// CUPTI's layouts, as CUPTI would. It also keeps what it was told, so that a test can compare.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "driver/activity.h"

namespace graphtag::fake {

class FakeActivity {
 public:
  FakeActivity() = default;
  ~FakeActivity();
  FakeActivity(const FakeActivity&) = delete;
  FakeActivity& operator=(const FakeActivity&) = delete;

  // --- the script. Records of kinds that were not asked for are not made; each returns whether it stands in a buffer (else it was dropped).
  struct Kernel {
    const char* name = "_Z6kernelv";  // must last
    std::uint64_t start_ns = 0, end_ns = 0;
    std::uint64_t node_id = 0;
    std::uint32_t device = 0, context = 1, stream = 7, correlation = 0;
    std::int32_t grid[3] = {1, 1, 1}, block[3] = {32, 1, 1};
    std::uint16_t registers = 16;
    std::int32_t static_shared = 0, dynamic_shared = 0;
  };
  bool kernel(const Kernel& kernel);
  struct Copy {
    std::uint64_t bytes = 0, start_ns = 0, end_ns = 0;
    std::uint64_t node_id = 0;
    std::uint32_t device = 0, context = 1, stream = 7, correlation = 0;
    std::uint8_t kind = 1, source = 2, target = 3;  // HtoD, pinned, device
    bool peer = false;
    std::uint32_t source_device = 0;
  };
  bool copy(const Copy& copy);
  struct Set {
    std::uint64_t bytes = 0, start_ns = 0, end_ns = 0;
    std::uint64_t node_id = 0;
    std::uint32_t device = 0, context = 1, stream = 7, correlation = 0, value = 0;
  };
  bool set(const Set& set);
  struct Call {
    bool driver = false;
    std::uint32_t callback_id = 0;
    std::uint64_t start_ns = 0, end_ns = 0;
    std::uint32_t thread = 0, correlation = 0, return_value = 0;
  };
  // With a record of the id that is pushed on the calling thread, if there is one.
  bool call(const Call& call);
  bool overhead(std::uint32_t kind, std::uint64_t start_ns, std::uint64_t end_ns, std::uint32_t process, std::uint32_t thread);
  // A record of a kind that nobody knows.
  bool unknown();

  // Buffers that are full are kept until they are flushed, or for good.
  void keep_full_buffers(bool keep);
  // Another tool registers its callbacks in place of the client's: it gets the buffers, and frees them.
  void take_over();
  // The next start() is refused.
  void refuse_next_start();
  // What happens elsewhere in the middle of the next start().
  void in_next_start(std::function<void()> happens);
  // flush() does not come back while this is set.
  void hold_flushes(bool hold);

  // --- what it was asked for
  bool is_on() const;
  ActivityKinds kinds() const;
  std::uint64_t dropped_in_all() const;

  // --- CUPTI's side
  DriverResult start(ActivityBuffers* buffers, ActivityKinds wanted, ActivityKinds* enabled);
  DriverResult change_kinds(ActivityKinds kinds);
  DriverResult stop() { return change_kinds({}); }
  DriverResult flush(bool forced);
  void detach(bool in_child);
  static DriverResult next_record(std::uint8_t* buffer, std::size_t valid_bytes, const RawRecord** record);
  std::uint64_t take_dropped();  // since the last call
  DriverResult push_external_id(std::uint32_t kind, std::uint64_t id);
  DriverResult pop_external_id(std::uint32_t kind);
  static const char* call_name(bool of_driver, std::uint32_t callback_id);  // null: not known

 private:
  template <typename Record>
  bool add(ActivityKind kind, const Record& record, bool incomplete);
  bool add_bytes(const void* bytes, std::size_t size, bool incomplete);
  void hand_over_full();

  std::atomic<int> calling_{0};  // calls of the client that are running; raised under the lock
  mutable std::mutex mutex_;     // of all below; not held while the client is called
  ActivityBuffers* buffers_ = nullptr;
  ActivityKinds kinds_;
  bool taken_over_ = false, keep_ = false, refuse_ = false, hold_ = false;
  std::function<void()> in_next_start_;
  std::uint64_t dropped_ = 0, dropped_told_ = 0;
  struct Buffer {
    std::uint8_t* bytes = nullptr;
    std::size_t size = 0, used = 0;
    bool incomplete = false;  // has a record without an end
  };
  Buffer current_;
  std::deque<Buffer> full_;
  std::map<std::uint64_t, std::map<std::uint32_t, std::vector<std::uint64_t>>> pushed_;  // thread -> kind -> ids
};

}  // namespace graphtag::fake
