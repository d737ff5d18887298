#include "trace/reader.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "trace/kineto/kineto_reader.h"
#include "trace/nsys/nsys_reader.h"
#include "trace/perfetto/perfetto_reader.h"

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
  std::uint64_t size_bytes() const { return opened_.size_bytes; }

 private:
  OpenedSource opened_;
  const ReadOptions& options_;
  std::string start_;
  std::size_t given_ = 0;  // bytes of start_
};

bool begins(std::string_view start, std::string_view magic) {
  return start.substr(0, magic.size()) == magic;
}

// What can be read of a file, once it is known what it is.
struct OpenTrace {
  TraceSource& source;
  const std::string& path;
  bool gzip = false;
  EventVisitor& visitor;
  const ReadOptions& options;
  ReadResult& result;
  Problems& again_problems;  // of a second look at the file, which finds what the first one finds
};

Error unsupported(std::string what, const std::string& path) {
  return {ErrorCode::unsupported, std::move(what), path, {}};
}

Result<void> read_chrome_json(const OpenTrace& trace) {
  return read_kineto(trace.source, trace.path, trace.visitor, trace.result);
}

Result<void> read_sqlite(const OpenTrace& trace) {
  if (trace.gzip)
    return unsupported("it is a compressed SQLite database, which cannot be read in place; unpack it first", trace.path);
  return read_nsys(trace.path, trace.visitor, trace.options, trace.result);
}

struct Format {
  bool (*matches)(std::string_view start);
  Result<void> (*read)(const OpenTrace&);
  bool has_processes = false;  // several may be in a file
};

bool is_sqlite(std::string_view start) {
  return begins(start, std::string_view("SQLite format 3\0", kMagicBytes));
}

// A packet's tag is a newline to JSON, but then come lengths and tags.
bool is_perfetto(std::string_view start) {
  const auto is_tag = [](char c) { return static_cast<unsigned char>(c) < ' ' && c != '\n' && c != '\r' && c != '\t'; };
  return begins(start, "\n") && std::any_of(start.begin(), start.end(), is_tag);
}

Result<void> read_recording(const OpenTrace& trace) {
  const auto open_again = [&trace] { return open_source(trace.path, trace.again_problems); };
  return read_perfetto(trace.source, open_again, trace.path, trace.visitor, trace.options, trace.result);
}

// Whatever no other format begins with is taken for JSON, whose reader says why it is none.
constexpr std::array kFormats = {
    Format{is_sqlite, read_sqlite, true},
    Format{is_perfetto, read_recording, true},
    Format{[](std::string_view) { return true; }, read_chrome_json},
};

// What a file that cannot be read seems to be; empty if that is not known.
std::string_view other_format(std::string_view start) {
  if (begins(start, "PK\x03\x04")) return "it is a zip archive; unpack it";
  if (begins(start, "\x28\xB5\x2F\xFD")) return "it is compressed with zstd; unpack it";
  if (begins(start, "\x80")) return "it is a Python pickle; give it as annotations (-a)";
  if (begins(start, "\xFF\xFE") || begins(start, "\xFE\xFF")) return "it is text in UTF-16; convert it to UTF-8";
  const std::size_t first = start.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  const bool is_known =
      first == std::string_view::npos || start[first] == '{' || start[first] == '[' || is_sqlite(start) || is_perfetto(start);
  return is_known ? std::string_view() : "it is no trace that is known";
}

constexpr std::string_view kReadable =
    "A trace as Chrome JSON or of graphtag run, plain or gzip, or an Nsight Systems export (.sqlite) is needed";

}  // namespace

bool begins_like_a_binary_trace(std::string_view start) {
  start = start.substr(0, kMagicBytes);
  return is_sqlite(start) || is_perfetto(start);
}

Result<ReadResult> read_trace(const std::string& path, EventVisitor& visitor, const ReadOptions& options) {
  ReadResult result;
  auto opened = open_source(path, result.problems);
  if (!opened) return opened.error();
  const bool gzip = opened->gzip;
  Problems again_problems;
  TraceSource source(std::move(opened).value(), options);
  const auto start = source.peek();
  if (!start) return start.error();
  if (const std::string_view what = other_format(*start); !what.empty()) {
    return Error{ErrorCode::unsupported, std::string(what) + ". " + std::string(kReadable), path, 0};
  }
  const auto format = std::find_if(kFormats.begin(), kFormats.end(), [&](const Format& known) { return known.matches(*start); });
  if (options.process && !format->has_processes) {
    return Error{
        ErrorCode::invalid_argument,
        "--process chooses among the processes of an Nsight Systems export or of joined recordings; leave it out for this trace",
        path,
        {}};
  }
  if (auto read = format->read({source, path, gzip, visitor, options, result, again_problems}); !read) return read.error();
  if (options.progress) options.progress(source.size_bytes(), source.size_bytes());
  return result;
}

}  // namespace graphtag
