#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "trace/block_ring.h"
#include "trace/byte_stream.h"

namespace graphtag {
namespace {

constexpr std::size_t kBlocks = 4;
constexpr std::size_t kBlockBytes = std::size_t{256} << 10;

class ReadAheadSource final : public ByteSource {
 public:
  explicit ReadAheadSource(std::unique_ptr<ByteSource> input) : input_(std::move(input)), thread_([this] { run(); }) {}
  ReadAheadSource(const ReadAheadSource&) = delete;
  ReadAheadSource& operator=(const ReadAheadSource&) = delete;
  ~ReadAheadSource() override {
    ring_.stop();
    if (thread_.joinable()) thread_.join();
  }

  Result<std::size_t> read(char* buffer, std::size_t capacity) override {
    if (capacity == 0 || ended_) return std::size_t{0};
    const std::size_t size = reader_.read(buffer, capacity);
    if (size != 0) return size;
    ended_ = true;
    thread_.join();
    if (error_) return *error_;
    return std::size_t{0};
  }
  std::uint64_t consumed_bytes() const override { return input_->consumed_bytes(); }

 private:
  void run() {
    for (std::span<char> block = ring_.fill(); !block.empty(); block = ring_.fill()) {
      const auto got = input_->read(block.data(), block.size());
      if (!got) error_ = got.error();
      if (!got || *got == 0) break;
      ring_.publish(*got);
    }
    ring_.end();
  }

  std::unique_ptr<ByteSource> input_;
  BlockRing ring_{kBlocks, kBlockBytes};
  RingReader reader_{ring_};
  bool ended_ = false;
  std::optional<Error> error_;  // the thread's until it is joined
  std::thread thread_;
};

}  // namespace

std::unique_ptr<ByteSource> read_ahead_source(std::unique_ptr<ByteSource> input) {
  return std::make_unique<ReadAheadSource>(std::move(input));
}

}  // namespace graphtag
