#include <isa-l/igzip_lib.h>

#include <memory>
#include <utility>
#include <vector>

#include "trace/byte_stream.h"
#include "trace/sink_thread.h"

namespace graphtag {
namespace {

constexpr std::size_t kOutputBytes = std::size_t{128} << 10;

// One gzip member, by ISA-L's level 1: higher levels would make this thread the slowest of a run.
class Deflater {
 public:
  Deflater() : level_buffer_(ISAL_DEF_LVL1_DEFAULT), output_(kOutputBytes) {
    isal_deflate_init(&stream_);
    stream_.level = 1;
    stream_.level_buf = level_buffer_.data();
    stream_.level_buf_size = static_cast<std::uint32_t>(level_buffer_.size());
    stream_.gzip_flag = IGZIP_GZIP;
  }

  Result<void> step(std::string_view bytes, bool last, ByteSink& out) {
    // ISA-L takes no const pointer, but does not write there.
    stream_.next_in = reinterpret_cast<std::uint8_t*>(const_cast<char*>(bytes.data()));
    stream_.avail_in = static_cast<std::uint32_t>(bytes.size());
    stream_.end_of_stream = last ? 1 : 0;
    stream_.flush = NO_FLUSH;
    do {
      stream_.next_out = output_.data();
      stream_.avail_out = static_cast<std::uint32_t>(output_.size());
      if (const int code = isal_deflate(&stream_); code != COMP_OK) {
        return Error{ErrorCode::io, "ISA-L's compression failed with code " + std::to_string(code), {}, {}};
      }
      const std::size_t size = output_.size() - stream_.avail_out;
      if (size != 0) {
        if (auto written = out.write({reinterpret_cast<const char*>(output_.data()), size}); !written) return written;
      }
    } while (stream_.avail_out == 0);
    return {};
  }

 private:
  std::vector<std::uint8_t> level_buffer_;
  std::vector<std::uint8_t> output_;
  isal_zstream stream_{};
};

}  // namespace

std::unique_ptr<ByteSink> gzip_sink(std::unique_ptr<ByteSink> compressed) {
  return std::make_unique<SinkThread>(
      std::move(compressed), [deflater = std::make_shared<Deflater>()](std::string_view bytes, bool last, ByteSink& out) {
        return deflater->step(bytes, last, out);
      });
}

}  // namespace graphtag
