#include <isa-l/igzip_lib.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "trace/block_ring.h"
#include "trace/byte_stream.h"

namespace graphtag {
namespace {

constexpr std::size_t kBlocks = 4;
constexpr std::size_t kBlockBytes = std::size_t{256} << 10;
constexpr std::size_t kInputBytes = std::size_t{64} << 10;

const char* meaning(int code) {
  switch (code) {
    case ISAL_INVALID_BLOCK:
    case ISAL_INVALID_SYMBOL:
    case ISAL_INVALID_LOOKBACK:
      return "the compressed data is damaged";
    case ISAL_INVALID_WRAPPER:
    case ISAL_UNSUPPORTED_METHOD:
      return "a gzip header is damaged";
    case ISAL_INCORRECT_CHECKSUM:
      return "the checksum differs";
    default:
      return "the compressed data makes no sense";
  }
}

// Inflates one gzip file, member after member, into a ring of blocks.
class Inflater {
 public:
  struct Finding {
    ProblemKind kind;
    std::uint64_t offset;  // decompressed
    std::string text;
  };

  Inflater(ByteSource& input, BlockRing& ring) : input_(input), ring_(ring), buffer_(kInputBytes) { isal_inflate_init(&state_); }

  void run() {
    bool more = true;
    while (more && !stopped_) {
      const bool has_input = look_ahead(1);
      // Without input a member may still have output to give.
      more = in_member_ ? inflate(has_input) : has_input && find_member();
    }
    publish();
  }

  std::vector<Finding> findings;
  std::optional<Error> error_;
  std::uint64_t content_bytes = 0;

 private:
  void note(ProblemKind kind, std::string text) { findings.push_back({kind, content_bytes, std::move(text)}); }

  // Makes `size` compressed bytes available; false if the file has not so many more. Always fills the buffer: how much of a damaged stream ISA-L
  // gives out depends on how its input is cut, and that is not to depend on how the file comes in.
  bool look_ahead(std::size_t size) {
    if (state_.avail_in >= size) return true;
    if (state_.avail_in != 0) std::memmove(buffer_.data(), state_.next_in, state_.avail_in);
    state_.next_in = reinterpret_cast<std::uint8_t*>(buffer_.data());
    while (state_.avail_in < buffer_.size() && !error_) {
      const auto got = input_.read(buffer_.data() + state_.avail_in, buffer_.size() - state_.avail_in);
      if (!got) error_ = got.error();
      if (!got || *got == 0) break;
      state_.avail_in += static_cast<std::uint32_t>(*got);
    }
    return state_.avail_in >= size;
  }

  // Between members: zeros may follow the last one (tapes and some object stores pad). False at something else.
  bool find_member() {
    while (state_.avail_in != 0 && *state_.next_in == 0) {
      ++state_.next_in;
      --state_.avail_in;
    }
    if (state_.avail_in == 0) return true;
    if (!look_ahead(2) || state_.next_in[0] != 0x1f || state_.next_in[1] != 0x8b) {
      if (error_ && state_.avail_in < 2) return false;
      note(ProblemKind::trailing_garbage, "bytes after the last gzip member");
      return false;
    }
    std::uint8_t* const next_in = state_.next_in;
    const std::uint32_t avail_in = state_.avail_in;
    isal_inflate_reset(&state_);
    state_.next_in = next_in;
    state_.avail_in = avail_in;
    state_.crc_flag = ISAL_GZIP;
    in_member_ = true;
    return true;
  }

  // False when nothing more can be decompressed.
  bool inflate(bool has_input) {
    if (block_.empty()) {
      block_ = ring_.fill();
      if (block_.empty()) {
        stopped_ = true;
        return false;
      }
    }
    state_.next_out = reinterpret_cast<std::uint8_t*>(block_.data() + used_);
    state_.avail_out = static_cast<std::uint32_t>(block_.size() - used_);
    const std::uint32_t input_before = state_.avail_in;
    const int code = isal_inflate(&state_);
    const std::size_t output = block_.size() - used_ - state_.avail_out;
    used_ += output;
    content_bytes += output;
    if (used_ == block_.size()) publish();
    if (code < 0) {
      note(ProblemKind::damaged_gzip, meaning(code));
      // A wrong checksum comes at the member's end, so the next one can be read.
      if (code != ISAL_INCORRECT_CHECKSUM) return false;
    } else if (state_.block_state != ISAL_BLOCK_FINISH) {
      if (output != 0 || state_.avail_in != input_before) return true;
      if (!error_) note(ProblemKind::damaged_gzip, has_input ? meaning(code) : "the file is cut: a gzip member has no end");
      return false;
    }
    in_member_ = false;
    return true;
  }

  void publish() {
    if (used_ != 0) ring_.publish(used_);
    used_ = 0;
    block_ = {};
  }

  ByteSource& input_;
  BlockRing& ring_;
  std::vector<char> buffer_;  // of compressed bytes
  inflate_state state_{};
  bool in_member_ = false;
  bool stopped_ = false;
  std::span<char> block_;  // being filled
  std::size_t used_ = 0;   // bytes of it
};

class GzipSource final : public ByteSource {
 public:
  GzipSource(std::unique_ptr<ByteSource> compressed, Problems& problems, std::string path)
      : compressed_(std::move(compressed)),
        problems_(problems),
        path_(std::move(path)),
        ring_(kBlocks, kBlockBytes),
        inflater_(std::make_unique<Inflater>(*compressed_, ring_)),
        thread_([this] {
          inflater_->run();
          ring_.end();
        }) {}
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;
  ~GzipSource() override {
    ring_.stop();
    if (thread_.joinable()) thread_.join();
  }

  Result<std::size_t> read(char* buffer, std::size_t capacity) override {
    if (capacity == 0 || ended_) return std::size_t{0};
    const std::size_t size = reader_.read(buffer, capacity);
    return size != 0 ? Result<std::size_t>(size) : end();
  }
  std::uint64_t consumed_bytes() const override { return compressed_->consumed_bytes(); }

 private:
  Result<std::size_t> end() {
    ended_ = true;
    thread_.join();
    for (const auto& finding : inflater_->findings) problems_.add(finding.kind, finding.offset, finding.text);
    if (inflater_->error_) return *inflater_->error_;
    if (inflater_->content_bytes == 0 && !inflater_->findings.empty()) {
      return Error{ErrorCode::malformed,
                   "nothing could be decompressed: " + inflater_->findings.front().text + "; copy or record the file again",
                   path_,
                   {}};
    }
    return std::size_t{0};
  }

  std::unique_ptr<ByteSource> compressed_;
  Problems& problems_;
  std::string path_;
  BlockRing ring_;
  std::unique_ptr<Inflater> inflater_;  // the thread's until it is joined
  RingReader reader_{ring_};
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<ByteSource> gzip_source(std::unique_ptr<ByteSource> compressed, Problems& problems, std::string path) {
  return std::make_unique<GzipSource>(std::move(compressed), problems, std::move(path));
}

}  // namespace graphtag
