#include "record/record_encoder.h"

#include <bit>
#include <cstring>
#include <iterator>

#include "base/recording_layout.h"
#include "base/utf8.h"
#include "record/packet_bytes.h"

namespace graphtag {
namespace {

namespace layout = recording;

constexpr std::string_view kKeyTexts[] = {
    layout::kDevice,      layout::kContext,         layout::kStream,        layout::kCorrelation,
    layout::kGraphId,     layout::kGraphNodeId,     layout::kOrigin,        layout::kGrid,
    layout::kBlock,       layout::kRegisters,       layout::kSharedMemory,  layout::kBytes,
    layout::kBandwidth,   layout::kSourceDevice,    layout::kValue,         layout::kCallbackId,
    layout::kReturnValue, layout::kOverheadProcess, layout::kOverheadThread};
constexpr std::string_view kCategoryTexts[] = {layout::kKernel,     layout::kMemcpy,   layout::kMemset, layout::kRuntimeCall,
                                               layout::kDriverCall, layout::kOverhead, layout::kRange};

// "cudaLaunchKernel" of "cudaLaunchKernel_v7000" and "cudaLaunchKernel_ptsz_v7000".
std::string_view without_version(std::string_view name) {
  const std::size_t at = name.rfind("_v");
  if (at == std::string_view::npos || name.size() - at < 6) return name;
  if (name.find_first_not_of("0123456789", at + 2) != std::string_view::npos) return name;
  name = name.substr(0, at);
  for (const std::string_view suffix : {"_ptsz", "_ptds"}) {
    if (name.ends_with(suffix)) name.remove_suffix(suffix.size());
  }
  return name;
}

// `text`, with a replacement character for each byte that is no UTF-8.
std::string_view mended(std::string_view text, std::string& storage) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t length = utf8_length(text, at);
    if (length == 0) break;
    at += length;
  }
  if (at == text.size()) return text;
  storage.assign(text.substr(0, at));
  while (at < text.size()) {
    const std::size_t length = utf8_length(text, at);
    storage += length == 0 ? kReplacementCharacter : text.substr(at, length);
    at += length == 0 ? 1 : length;
  }
  return storage;
}

std::uint64_t clamped(std::int64_t time_ns) {
  return time_ns < 0 ? 0 : static_cast<std::uint64_t>(time_ns);
}

}  // namespace

RecordEncoder::RecordEncoder(std::string& out, TrackOwner owner, const Registry& registry, const Driver& driver,
                             RecordCounts& counts)
    : registry_(&registry),
      activity_(driver.activity()),
      counts_(&counts),
      packets_(out),
      tracks_(out, std::move(owner), driver),
      annotations_(registry) {
  static_assert(std::size(kKeyTexts) == kKeys && std::size(kCategoryTexts) == kCategories);
}

void RecordEncoder::begin_chapter() {
  tracks_.begin_chapter();
  packets_.begin_chapter();
  // First, so that they have the numbers of one byte.
  for (std::size_t i = 0; i < kKeys; ++i) keys_[i] = packets_.text(InternedKind::arg_name, kKeyTexts[i]).number;
  for (std::size_t i = 0; i < kCategories; ++i) categories_[i] = packets_.text(InternedKind::category, kCategoryTexts[i]).number;
  for (std::size_t i = 0; i < kOrigins; ++i) {
    origins_[i] = packets_.text(InternedKind::arg_string, to_string(static_cast<Origin>(i))).number;
  }
  copy_names_.clear();
  call_names_.clear();
}

void RecordEncoder::external_id(const ExternalId& id) noexcept {
  external_.add(id.correlation, static_cast<AnnotationId>(id.id));
}

RecordedText RecordEncoder::kernel_name(const char* mangled) {
  KernelNames::Name& name = kernel_names_.of(mangled);
  if (name.chapter != packets_.chapter()) {
    name.chapter = packets_.chapter();
    name.number = packets_.text(InternedKind::event_name, name.text).number;
  }
  return {name.number, name.text};
}

RecordedText RecordEncoder::copy_name(const GpuActivity& operation) {
  const bool is_set = operation.kind == ActivityKind::memset;
  const std::uint32_t kinds = (is_set ? 1U << 24 : 0U) | std::uint32_t{operation.copy_kind} << 16 |
                              std::uint32_t{operation.source_kind} << 8 | operation.target_kind;
  const auto [found, fresh] = copy_names_.try_emplace(kinds);
  if (fresh) {
    std::string name = is_set ? "Memset (" : "Memcpy ";
    if (!is_set) {
      name += copy_kind_name(operation.copy_kind);
      name += std::string(" (") + memory_kind_name(operation.source_kind) + " -> ";
    }
    name += std::string(memory_kind_name(operation.target_kind)) + ")";
    found->second.number = packets_.text(InternedKind::event_name, name).number;
  }
  return {found->second.number, is_set ? "Memset" : "Memcpy"};
}

RecordedText RecordEncoder::call_name(const ApiCall& call) {
  const auto [found, fresh] = call_names_.try_emplace(std::uint64_t{call.of_driver} << 32 | call.callback_id);
  if (fresh) {
    const char* known = nullptr;
    if (activity_.call_name(call.of_driver, call.callback_id, known).ok()) {
      found->second = packets_.text(InternedKind::event_name, without_version(known));
    } else {
      const std::string number = (call.of_driver ? "driver call " : "runtime call ") + std::to_string(call.callback_id);
      found->second.number = packets_.text(InternedKind::event_name, number).number;
      found->second.text = "CUDA call";
    }
  }
  return found->second;
}

void RecordEncoder::mark(EventPackets::Event& event, const RecordClock::Times& times, std::uint64_t start_ns,
                         std::uint64_t end_ns) {
  event.start_ns = times.start_ns;
  event.end_ns = times.end_ns;
  if (!times.bad) return;
  counts_->bad_times.add();
  bad_time_.assign(event.more_args);
  {
    ArgWriter args = packets_.args(bad_time_);
    ArgWriter dict = args.dict(layout::kBadTime);
    dict.unsigned_integer("start", start_ns);
    dict.unsigned_integer("end", end_ns);
  }
  event.more_args = bad_time_;
}

void RecordEncoder::operation(const GpuActivity& operation) {
  const RecordClock::Times times = clock_.place(operation.start_ns, operation.end_ns);
  const bool in_graph = operation.node.value != 0;
  AnnotationId annotation = AnnotationId::none;
  RecordArgs args;
  args.unsigned_integer(key(Key::device), operation.device);
  args.unsigned_integer(key(Key::context), operation.context);
  args.unsigned_integer(key(Key::stream), operation.stream);
  args.unsigned_integer(key(Key::correlation), operation.correlation);
  if (in_graph) {
    const auto time = times.bad ? std::nullopt : std::optional(static_cast<std::int64_t>(times.start_ns));
    const Resolution found = registry_->resolve(operation.node, time);
    annotation = found.annotation;
    args.unsigned_integer(key(Key::graph_id), operation.graph.value);
    args.unsigned_integer(key(Key::graph_node_id), operation.node.value);
    args.string(key(Key::origin), origins_[static_cast<std::size_t>(found.origin)]);
    counts_->graph_operations.add();
    if (annotation != AnnotationId::none) counts_->graph_named.add();
  } else {
    annotation = external_.of(operation.correlation);
    if (annotation != AnnotationId::none) counts_->other_named.add();
  }

  EventPackets::Event event;
  switch (operation.kind) {
    case ActivityKind::memcpy:
    case ActivityKind::peer_memcpy:
      counts_->memcpys.add();
      event.category = category(Category::memcpy);
      event.name = copy_name(operation);
      args.unsigned_integer(key(Key::bytes), operation.bytes);
      if (times.end_ns > times.start_ns) {
        args.real(key(Key::bandwidth), static_cast<double>(operation.bytes) / static_cast<double>(times.end_ns - times.start_ns));
      }
      if (operation.kind == ActivityKind::peer_memcpy) args.unsigned_integer(key(Key::source_device), operation.source_device);
      break;
    case ActivityKind::memset:
      counts_->memsets.add();
      event.category = category(Category::memset);
      event.name = copy_name(operation);
      args.unsigned_integer(key(Key::bytes), operation.bytes);
      args.unsigned_integer(key(Key::value), operation.value);
      break;
    default:
      counts_->kernels.add();
      event.category = category(Category::kernel);
      event.name = kernel_name(operation.name);
      args.triple(key(Key::grid), operation.grid);
      args.triple(key(Key::block), operation.block);
      args.unsigned_integer(key(Key::registers), operation.registers);
      args.unsigned_integer(key(Key::shared_memory), operation.shared_bytes);
      break;
  }
  event.args = args.view();
  event.more_args = annotations_.of(annotation, packets_);
  mark(event, times, operation.start_ns, operation.end_ns);
  event.track = tracks_.stream(operation.device, operation.context, operation.stream, event.start_ns, event.end_ns);
  // One arrow from a launch to what it begins with: a graph's would be hundreds.
  if (last_launch_.size() > 65536) last_launch_.clear();
  std::uint32_t& last = last_launch_[std::uint64_t{operation.device} << 32 | operation.stream];
  if (operation.correlation != 0 && last != operation.correlation) {
    event.flow = FlowEnd::ends;
    event.flow_id = tracks_.flow_id(operation.correlation);
    last = operation.correlation;
  }
  packets_.slice(event);
}

void RecordEncoder::call(const ApiCall& call) {
  counts_->api_calls.add();
  RecordArgs args;
  args.unsigned_integer(key(Key::correlation), call.correlation);
  args.unsigned_integer(key(Key::callback_id), call.callback_id);
  if (call.return_value != 0) args.unsigned_integer(key(Key::return_value), call.return_value);
  EventPackets::Event event;
  event.category = category(call.of_driver ? Category::driver : Category::runtime);
  event.name = call_name(call);
  event.args = args.view();
  mark(event, clock_.place(call.start_ns, call.end_ns), call.start_ns, call.end_ns);
  event.track = tracks_.thread(call.thread, call.of_driver ? TrackBook::HostTrack::driver : TrackBook::HostTrack::runtime);
  if (call.correlation != 0) {
    event.flow = FlowEnd::begins;
    event.flow_id = tracks_.flow_id(call.correlation);
  }
  packets_.slice(event);
}

void RecordEncoder::overhead(const Overhead& overhead) {
  counts_->overheads.add();
  RecordArgs args;
  if (overhead.of_thread) {
    args.unsigned_integer(key(Key::process), overhead.process);
    args.unsigned_integer(key(Key::thread), overhead.thread);
  }
  EventPackets::Event event;
  event.category = category(Category::overhead);
  event.name = packets_.text(InternedKind::event_name, overhead_name(overhead.kind));
  event.args = args.view();
  mark(event, clock_.place(overhead.start_ns, overhead.end_ns), overhead.start_ns, overhead.end_ns);
  event.track = tracks_.overhead(event.start_ns, event.end_ns);
  packets_.slice(event);
}

void RecordEncoder::range(const HostRange& range) {
  counts_->ranges.add();
  body_.clear();
  {
    ArgWriter args = packets_.args(body_);
    if (!range.domain.empty()) args.string(layout::kDomain, mended(range.domain, name_));
    if (!range.category.empty()) args.string(layout::kNvtxCategory, mended(range.category, name_));
    switch (range.payload_type) {
      case HostRange::Payload::unsigned_integer:
        args.unsigned_integer(layout::kPayload, range.payload_bits);
        break;
      case HostRange::Payload::integer:
        args.integer(layout::kPayload, static_cast<std::int64_t>(range.payload_bits));
        break;
      case HostRange::Payload::real:
        args.real(layout::kPayload, std::bit_cast<double>(range.payload_bits));
        break;
      case HostRange::Payload::none:
        break;
    }
    if (range.unfinished) args.boolean(layout::kUnfinished, true);
  }
  EventPackets::Event event;
  event.category = category(Category::range);
  event.name = packets_.text(InternedKind::event_name, mended(range.text, name_));
  event.args = body_;
  event.start_ns = clamped(range.start_ns);
  event.end_ns = clamped(range.end_ns);
  if (range.mark) {
    event.track = tracks_.thread(range.thread, TrackBook::HostTrack::ranges);
    packets_.instant(event);
    return;
  }
  event.track = range.overlaps ? tracks_.overlapping(range.thread, event.start_ns, event.end_ns)
                               : tracks_.thread(range.thread, TrackBook::HostTrack::ranges);
  packets_.slice(event);
}

}  // namespace graphtag
