// Perfetto output: events are encoded as they come and sorted on disk; the file is written at the end, since the trace's base time may stand
// behind its events.
#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "base/recording_layout.h"
#include "write/outcome.h"
#include "write/perfetto_args.h"
#include "write/perfetto_slices.h"
#include "write/trace_writer.h"

namespace graphtag {
namespace {

// Sequence 1 has the descriptors.
constexpr std::uint32_t kSummarySequence = 2;
// Of members beside the events that are kept for the summary.
constexpr std::size_t kMemberBytes = std::size_t{1} << 20;

// Nothing where the text is no number of this type, or one beyond it.
template <typename Number>
std::optional<Number> number_of(std::string_view text) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

class PerfettoWriter final : public NamedEventConsumer {
 public:
  explicit PerfettoWriter(ByteSink& sink) : sink_(sink), encoder_(strings_) {}

  Result<void> member(std::string_view key, std::string_view value, bool) override {
    if (is_outcome_member(unescape(key, storage_))) return {};
    member_bytes_ += key.size() + value.size();
    if (member_bytes_ > kMemberBytes) {
      ++left_out_["members beside the events, beyond 1 MiB"];
    } else {
      members_.emplace_back(unescape(key, storage_), value);
    }
    return {};
  }

  Result<void> begin(const AnnotatedTrace& trace) override {
    trace_ = trace;
    args_.begin(trace);
    return {};
  }

  Result<void> event(const NamedEvent& named) override {
    const Event& event = named.event;
    switch (event.kind) {
      case EventKind::kernel:
      case EventKind::memcpy:
      case EventKind::memset:
        return add_operation(named);
      case EventKind::gpu_annotation:
        return add(named, RowKind::gpu_annotations, event.text(event.tid), {});
      case EventKind::host_slice:
        return add_host_slice(named);
      case EventKind::flow_start:
      case EventKind::flow_end:
        // Arrows from launches are drawn anew, from correlation ids.
        if (event.text(event.category) != "\"ac2g\"") leave_out_flow(event);
        return {};
      case EventKind::metadata:
        if (!rows_.metadata(event)) ++left_out_["metadata events"];
        return {};
      case EventKind::other:
        break;
    }
    if (event.phase == 'i' || event.phase == 'I' || event.phase == 'R') {
      SliceRecord head;
      head.kind = RecordKind::instant;
      return add(named, RowKind::thread, event.text(event.tid), head);
    }
    if (event.phase == 'C') return add_counters(named);
    ++left_out_[event.phase == 0 ? std::string{"events without a phase"} : std::string{"events of phase "} + event.phase];
    return {};
  }

  Result<void> finish(const std::vector<NewLane>& new_lanes, const Coverage& coverage, const ReadResult& read) override {
    rows_.name_lanes(new_lanes);
    flows_.all_added();
    if (read.info.base_time_ns && first_ns_) {
      std::int64_t first = 0;
      if (!__builtin_add_overflow(*first_ns_, *read.info.base_time_ns, &first) && first >= 0) {
        std::string clock;
        append_unix_clock(clock, kSummarySequence, static_cast<std::uint64_t>(first));
        if (auto written = sink_.write(clock); !written) return written;
      }
    }
    SliceWriter slices{sink_, rows_, strings_, flows_, trace_.annotations->annotations(), read.info, left_out_};
    auto result = sorted_.for_each([&slices](const SortKey& key, std::string_view record) { return slices.write(key, record); });
    if (result) result = slices.finish();
    if (result) result = sink_.write(summary(coverage, slices.first_ns().value_or(0)));
    return result ? sink_.finish() : result;
  }

 private:
  void leave_out_flow(const Event& event) {
    std::string reason = "arrows of category ";
    reason += unescape(event.text(event.category), storage_).substr(0, 64);
    constexpr std::size_t kReasons = 256;
    ++left_out_[left_out_.size() < kReasons ? reason : "arrows of other categories"];
  }

  // Places an event on a row. `head` has what its kind adds.
  Result<void> add(const NamedEvent& named, RowKind kind, std::string_view thread, SliceRecord head) {
    const Event& event = named.event;
    std::int64_t end_ns = 0;
    const bool is_point = head.kind == RecordKind::instant;
    if (!event.start_ns || event.duration_ns < 0 ||
        __builtin_add_overflow(*event.start_ns, is_point ? 0 : event.duration_ns, &end_ns)) {
      ++left_out_["events without a usable time"];
      return {};
    }
    const auto row = rows_.row(kind, event.text(event.pid), thread);
    if (!row) {
      ++left_out_["events on rows beyond 65536"];
      return {};
    }
    if (kind == RowKind::operations) rows_.note_operation(*row, event);
    encoder_.clear();
    if (!event.category.empty()) encoder_.category(unescape(event.text(event.category), storage_));
    encoder_.name(unescape(event.text(event.name), storage_));
    {
      auto args = encoder_.args();
      args_.write_event(args, named);
    }
    return store(*row, kind, head, *event.start_ns, end_ns);
  }

  Result<void> store(std::uint32_t row, RowKind kind, const SliceRecord& head, std::int64_t start_ns, std::int64_t end_ns) {
    first_ns_ = std::min(first_ns_.value_or(start_ns), start_ns);
    write_record(record_, head, encoder_.used(), encoder_.body());
    return sorted_.add(sort_key(rows_.order(row), start_ns, end_ns, kind != RowKind::operations), record_);
  }

  Result<void> add_operation(const NamedEvent& named) {
    const Event& event = named.event;
    SliceRecord head;
    head.annotation = static_cast<std::uint32_t>(named.annotation);
    head.graph = event.graph_id;
    head.correlation = event.correlation.value_or(0);
    if (head.correlation != 0) head.flow = flows_.add_operation(head.correlation);
    if (!named.lane) return add(named, RowKind::operations, event.text(event.tid), head);
    lane_ = std::to_string(*named.lane);
    return add(named, RowKind::operations, lane_, head);
  }

  Result<void> add_host_slice(const NamedEvent& named) {
    const Event& event = named.event;
    SliceRecord head;
    const auto category = event.text(event.category);
    if (event.correlation.value_or(0) != 0 && (category == "\"cuda_runtime\"" || category == "\"cuda_driver\"")) {
      head.kind = RecordKind::launch;
      head.correlation = *event.correlation;
    }
    return add(named, RowKind::thread, event.text(event.tid), head);
  }

  // One row for each series, named by the event and the series.
  Result<void> add_counters(const NamedEvent& named) {
    const Event& event = named.event;
    SliceRecord head;
    head.kind = RecordKind::counter;
    for (const auto& member : event.members) {
      const auto value = event.text(member.value);
      const auto integer = number_of<std::int64_t>(value);
      const auto real = number_of<double>(value);
      if (!event.start_ns || !(integer || real)) {
        ++left_out_["counter values without a time or a number"];
        continue;
      }
      std::string name{unescape(event.text(event.name), storage_)};
      name += ' ';
      name += unescape(event.text(member.key), storage_);
      const auto row = rows_.row(RowKind::counter, event.text(event.pid), name);
      if (!row) {
        ++left_out_["events on rows beyond 65536"];
        continue;
      }
      encoder_.clear();
      integer ? encoder_.counter(*integer) : encoder_.counter(*real);
      if (auto stored = store(*row, RowKind::counter, head, *event.start_ns, *event.start_ns); !stored) return stored;
    }
    return {};
  }

  // What Chrome output says around its events, as the args of one instant.
  std::string summary(const Coverage& coverage, std::uint64_t time_ns) {
    std::string packets;
    TrackDescription track;
    track.uuid = rows_.new_uuid();
    track.name = "graphtag";
    append_track(packets, kSummarySequence, track);
    encoder_.clear();
    encoder_.category(recording::kStatusCategory);
    encoder_.name(recording::kDrawnEvent);
    {
      auto args = encoder_.args();
      args_.write_json(args, "graphtag", describe_run(trace_));
      args_.write_json(args, "graphtagCoverage", describe_coverage(coverage));
      if (!left_out_.empty()) {
        auto dict = args.dict("left_out");
        for (const auto& [reason, count] : left_out_) dict.unsigned_integer(reason, count);
      }
      if (!members_.empty()) {
        auto dict = args.dict("trace");
        for (const auto& [key, value] : members_) args_.write_json(dict, key, value);
      }
    }
    TrackEvent event;
    event.timestamp_ns = time_ns;
    event.track = track.uuid;
    event.body = encoder_.body();
    event.used = encoder_.used();
    PacketSequence::append_self_contained(packets, kSummarySequence, strings_, event);
    return packets;
  }

  ByteSink& sink_;
  AnnotatedTrace trace_;
  PerfettoArgs args_;
  InternedStrings strings_;
  EventEncoder encoder_;
  TimelineRows rows_;
  LaunchFlows flows_;
  ExternalSort sorted_;
  LeftOut left_out_;
  std::vector<std::pair<std::string, std::string>> members_;  // key, JSON text
  std::size_t member_bytes_ = 0;
  std::optional<std::int64_t> first_ns_;
  std::string storage_, record_, lane_;
};

}  // namespace

std::unique_ptr<NamedEventConsumer> perfetto_writer(ByteSink& sink) {
  return std::make_unique<PerfettoWriter>(sink);
}

}  // namespace graphtag
