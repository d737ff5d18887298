#include "trace/sink_thread.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace graphtag {
namespace {

constexpr std::size_t kBlocks = 4;
constexpr std::size_t kBlockBytes = std::size_t{256} << 10;

}  // namespace

SinkThread::SinkThread(std::unique_ptr<ByteSink> out, Step step)
    : out_(std::move(out)), step_(std::move(step)), ring_(kBlocks, kBlockBytes), thread_([this] { run(); }) {}

SinkThread::~SinkThread() {
  if (!thread_.joinable()) return;
  dropped_.store(true, std::memory_order_relaxed);
  ring_.end();
  thread_.join();
}

void SinkThread::run() {
  Result<void> result;
  for (std::string_view bytes = ring_.take(); !bytes.empty(); bytes = ring_.take()) {
    if (result.ok() && !dropped_.load(std::memory_order_relaxed)) {
      result = step_(bytes, false, *out_);
      if (!result) {
        const std::scoped_lock lock(mutex_);
        result_ = result;
      }
    }
    ring_.release();
  }
  if (!result || dropped_.load(std::memory_order_relaxed)) return;
  result = step_({}, true, *out_);
  const std::scoped_lock lock(mutex_);
  result_ = result;
}

Result<void> SinkThread::failure() {
  const std::scoped_lock lock(mutex_);
  return result_;
}

Result<void> SinkThread::write(std::string_view bytes) {
  while (!bytes.empty()) {
    if (block_.empty()) {
      if (auto failed = failure(); !failed) return failed;
      block_ = ring_.fill();
    }
    const std::size_t size = std::min(bytes.size(), block_.size() - used_);
    std::memcpy(block_.data() + used_, bytes.data(), size);
    used_ += size;
    bytes.remove_prefix(size);
    if (used_ == block_.size()) {
      ring_.publish(used_);
      block_ = {};
      used_ = 0;
    }
  }
  return {};
}

Result<void> SinkThread::finish() {
  if (used_ != 0) ring_.publish(used_);
  block_ = {};
  used_ = 0;
  ring_.end();
  thread_.join();
  if (auto failed = failure(); !failed) return failed;
  return out_->finish();
}

}  // namespace graphtag
