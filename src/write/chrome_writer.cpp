#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/spool.h"
#include "trace/event_builder.h"
#include "write/chrome_args.h"
#include "write/outcome.h"
#include "write/trace_writer.h"

namespace graphtag {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{256} << 10;
constexpr std::size_t kTrailingBytes = std::size_t{1} << 20;  // of members behind the events that are kept in memory

std::string thread_event(std::string_view name, const NewLane& lane, const std::string& args) {
  std::string text = R"({"ph":"M","name":")" + std::string(name) + R"(","ts":)";
  append_microseconds(text, lane.first_ns);
  if (!lane.pid.empty()) text += ",\"pid\":" + lane.pid;
  return text + ",\"tid\":" + std::to_string(lane.stream) + ",\"args\":" + args + '}';
}

class ChromeWriter final : public NamedEventConsumer {
 public:
  explicit ChromeWriter(ByteSink& sink) : sink_(sink) { buffer_.reserve(kBufferBytes); }

  Result<void> member(std::string_view key, std::string_view value, bool after_events) override {
    if (is_outcome_member(unescape(key, storage_))) return {};
    std::string& out = after_events ? trailing_ : buffer_;
    out += after_events ? ",\n" : open_;
    out.append("\"").append(key).append("\": ").append(value);
    if (trailing_.size() > kTrailingBytes) {
      if (Result<void> spooled = spool_.append(trailing_); !spooled) return spooled;
      trailing_.clear();
    }
    open_ = ",\n";
    return flush_if_full();
  }

  Result<void> begin(const AnnotatedTrace& trace) override {
    args_.emplace(trace);
    buffer_.append(open_)
        .append("\"cudaGraphInlineAnnotated\": true,\n\"graphtag\": ")
        .append(describe_run(trace))
        .append(",\n\"traceEvents\": [\n");
    return flush_if_full();
  }

  Result<void> event(const NamedEvent& named) override {
    start_event();
    const std::string_view json = named.event.json;
    std::size_t copied = 0;
    for (const TextEdit& edit : args_->edits_for(named)) {
      buffer_.append(json, copied, edit.begin - copied).append(edit.text);
      copied = edit.end;
    }
    buffer_.append(json, copied);
    return flush_if_full();
  }

  Result<void> finish(const std::vector<NewLane>& new_lanes, const Coverage& coverage, const ReadResult&) override {
    for (const NewLane& lane : new_lanes) {
      start_event();
      buffer_ += thread_event("thread_name", lane, dump_json({{"name", lane.name}}));
      start_event();
      buffer_ += thread_event("thread_sort_index", lane, dump_json({{"sort_index", lane.stream}}));
    }
    buffer_.append("\n],\n\"graphtagCoverage\": ").append(describe_coverage(coverage));
    if (Result<void> written = write_spooled(); !written) return written;
    buffer_.append(trailing_).append("\n}\n");
    if (Result<void> written = flush(); !written) return written;
    return sink_.finish();
  }

 private:
  void start_event() {
    if (any_event_) buffer_ += ",\n";
    any_event_ = true;
  }

  Result<void> write_spooled() {
    std::string block(kBufferBytes, '\0');
    for (std::uint64_t done = 0; done < spool_.size_bytes();) {
      if (Result<void> written = flush(); !written) return written;
      const Result<std::size_t> got = spool_.read_at(done, block.data(), block.size());
      if (!got) return got.error();
      if (*got == 0) return Error{ErrorCode::io, "the temporary file was cut; run this again", {}, {}};
      buffer_.append(block, 0, *got);
      done += *got;
    }
    return {};
  }

  Result<void> flush_if_full() { return buffer_.size() < kBufferBytes ? Result<void>{} : flush(); }
  Result<void> flush() {
    Result<void> written = sink_.write(buffer_);
    buffer_.clear();
    return written;
  }

  ByteSink& sink_;
  std::optional<ChromeArgs> args_;  // from begin() on
  std::string buffer_;
  Spool spool_;           // members behind the events: the coverage comes before them
  std::string trailing_;  // the last of them
  std::string storage_;
  std::string_view open_ = "{\n";  // what comes before the next member in front of the events
  bool any_event_ = false;
};

}  // namespace

std::unique_ptr<NamedEventConsumer> chrome_writer(ByteSink& sink) {
  return std::make_unique<ChromeWriter>(sink);
}

}  // namespace graphtag
