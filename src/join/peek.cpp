#include "join/peek.h"

#include "base/file.h"
#include "join/tokens.h"

namespace graphtag {
namespace {

constexpr std::uint64_t kLookedAtBytes = std::uint64_t{64} << 20;

class Peeker final : public EventVisitor {
 public:
  explicit Peeker(bool find_process) : find_process_(find_process) {}

  Result<void> on_events_begin(const TraceInfo& trace) override {
    info = trace;
    return find_process_ && !info.pid ? Result<void>{} : stop();
  }

  Result<void> on_event(const Event& event) override {
    std::string storage;
    if (event.kind == EventKind::host_slice) {
      const std::string_view category = unescape(event.text(event.category), storage);
      if (category == "cuda_runtime" || category == "cuda_driver") {
        info.pid = integer_of(event.text(event.pid));
        if (info.pid) return stop();
      }
    } else if (event.kind == EventKind::metadata && !labelled && unescape(event.text(event.name), storage) == "process_labels") {
      for (const Member& member : event.members) {
        if (event.text(member.key) == "labels" && event.text(member.value) == "\"CPU\"")
          labelled = integer_of(event.text(event.pid));
      }
    }
    return event.offset > kLookedAtBytes ? stop() : Result<void>{};
  }

  TraceInfo info;
  std::optional<std::int64_t> labelled;
  bool stopped = false;

 private:
  // An error is how a visitor ends the reading.
  Result<void> stop() {
    stopped = true;
    return Error{ErrorCode::not_found, "enough is known", {}, {}};
  }

  bool find_process_;
};

}  // namespace

Result<TraceInfo> peek_trace(const std::string& trace_path, bool find_process, const ReadOptions& options) {
  if (Result<void> refused = refuse_pipe(trace_path); !refused) return refused.error();
  Peeker peeker(find_process);
  ReadOptions peek;
  peek.process = options.process;
  peek.survey = options.survey;
  const Result<ReadResult> read = read_trace(trace_path, peeker, peek);
  if (!read && !peeker.stopped) return read.error();
  if (!peeker.info.pid) peeker.info.pid = peeker.labelled;
  return std::move(peeker.info);
}

}  // namespace graphtag
