// Runs the last step of writing (compression, the system call) on a thread of its own.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>

#include "trace/block_ring.h"
#include "trace/byte_stream.h"

namespace graphtag {

class SinkThread final : public ByteSink {
 public:
  // Called on the thread with each block, and once more with no bytes and `last` set.
  using Step = std::function<Result<void>(std::string_view bytes, bool last, ByteSink& out)>;

  SinkThread(std::unique_ptr<ByteSink> out, Step step);
  SinkThread(const SinkThread&) = delete;
  SinkThread& operator=(const SinkThread&) = delete;
  // Without finish() what was written is dropped.
  ~SinkThread() override;

  // The error of a block may come with a later one, or with finish().
  Result<void> write(std::string_view bytes) override;
  Result<void> finish() override;

 private:
  void run();
  Result<void> failure();

  std::unique_ptr<ByteSink> out_;
  Step step_;
  BlockRing ring_;
  std::span<char> block_;  // being filled by write()
  std::size_t used_ = 0;   // bytes of it
  std::atomic<bool> dropped_{false};
  std::mutex mutex_;
  Result<void> result_;  // of the thread's work; guarded by mutex_
  std::thread thread_;
};

}  // namespace graphtag
