#include "trace/reader.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "trace/kineto/kineto_reader.h"

namespace graphtag {
namespace {

constexpr std::size_t kMagicBytes = 16;

// Gives out first what was looked at to tell the format, and reports progress.
class TraceSource final : public ByteSource {
 public:
  TraceSource(OpenedSource opened, const ReadOptions& options) : opened_(std::move(opened)), options_(options) {}

  Result<std::string_view> peek() {
    while (start_.size() < kMagicBytes) {
      std::string block(kMagicBytes - start_.size(), '\0');
      const auto got = opened_.source->read(block.data(), block.size());
      if (!got) return got.error();
      if (*got == 0) break;
      start_.append(block, 0, *got);
    }
    return std::string_view(start_);
  }
  Result<std::size_t> read(char* buffer, std::size_t capacity) override {
    if (given_ < start_.size()) {
      const std::size_t size = start_.copy(buffer, capacity, given_);
      given_ += size;
      return size;
    }
    if (options_.progress) options_.progress(consumed_bytes(), opened_.size_bytes);
    return opened_.source->read(buffer, capacity);
  }
  std::uint64_t consumed_bytes() const override { return opened_.source->consumed_bytes(); }

 private:
  OpenedSource opened_;
  const ReadOptions& options_;
  std::string start_;
  std::size_t given_ = 0;  // bytes of start_
};

// What a file that is no Chrome JSON seems to be; empty if that is not known.
std::string_view other_format(std::string_view start) {
  const auto begins = [&](std::string_view magic) { return start.substr(0, magic.size()) == magic; };
  if (begins("SQLite format 3")) return "it is an SQLite database, as Nsight Systems exports";
  if (begins("PK\x03\x04")) return "it is a zip archive; unpack it";
  if (begins("\x28\xB5\x2F\xFD")) return "it is compressed with zstd; unpack it";
  if (begins("\x80")) return "it is a Python pickle; give it as annotations (-a)";
  if (begins("\xFF\xFE") || begins("\xFE\xFF")) return "it is text in UTF-16; convert it to UTF-8";
  // Its first byte is a newline to JSON, but then come lengths and tags.
  const auto is_tag = [](char c) { return static_cast<unsigned char>(c) < ' ' && c != '\n' && c != '\r' && c != '\t'; };
  if (begins("\n") && std::any_of(start.begin(), start.end(), is_tag)) return "it seems to be a Perfetto trace";
  return {};
}

}  // namespace

Result<ReadResult> read_trace(const std::string& path, EventVisitor& visitor, const ReadOptions& options) {
  ReadResult result;
  auto opened = open_source(path, result.problems);
  if (!opened) return opened.error();
  TraceSource source(std::move(opened).value(), options);
  const auto start = source.peek();
  if (!start) return start.error();
  if (const std::string_view what = other_format(*start); !what.empty()) {
    return Error{ErrorCode::unsupported, std::string(what) + ". A trace as Chrome JSON, plain or gzip, is needed", path, {}};
  }
  if (auto read = read_kineto(source, path, visitor, result); !read) return read.error();
  if (options.progress) options.progress(source.consumed_bytes(), source.consumed_bytes());
  return result;
}

}  // namespace graphtag
