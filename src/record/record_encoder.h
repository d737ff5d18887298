// Records as packets: which track, which name, which args.
#pragma once

#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <string>

#include "driver/activity.h"
#include "record/annotation_args.h"
#include "record/counts.h"
#include "record/event_packets.h"
#include "record/external_names.h"
#include "record/kernel_names.h"
#include "record/range_queue.h"
#include "record/record_clock.h"
#include "record/track_book.h"
#include "registry/registry.h"

namespace graphtag {

class RecordEncoder {
 public:
  // Packets are put behind `out`.
  RecordEncoder(std::string& out, TrackOwner owner, const Registry& registry, const Driver& driver, RecordCounts& counts);

  void begin_chapter();
  RecordClock& clock() { return clock_; }
  TrackBook& tracks() { return tracks_; }
  bool overflowed() const { return packets_.overflowed(); }

  void external_id(const ExternalId& id) noexcept;
  void operation(const GpuActivity& operation);
  void call(const ApiCall& call);
  void overhead(const Overhead& overhead);
  void range(const HostRange& range);

 private:
  // Keys of args; their texts are in record_encoder.cpp.
  enum class Key : std::uint8_t {
    device,
    context,
    stream,
    correlation,
    graph_id,
    graph_node_id,
    origin,
    grid,
    block,
    registers,
    shared_memory,
    bytes,
    bandwidth,
    source_device,
    value,
    callback_id,
    return_value,
    process,
    thread,
  };
  static constexpr std::size_t kKeys = 19;
  static constexpr std::size_t kOrigins = 13;
  enum class Category : std::uint8_t { kernel, memcpy, memset, runtime, driver, overhead, range };
  static constexpr std::size_t kCategories = 7;

  std::uint32_t key(Key key) const { return keys_[static_cast<std::size_t>(key)]; }
  std::uint32_t category(Category category) const { return categories_[static_cast<std::size_t>(category)]; }
  RecordedText kernel_name(const char* mangled);
  RecordedText copy_name(const GpuActivity& operation);
  RecordedText call_name(const ApiCall& call);
  // Marks the event if the times are bad, with args of its own in bad_time_.
  void mark(EventPackets::Event& event, const RecordClock::Times& times, std::uint64_t start_ns, std::uint64_t end_ns);

  const Registry* registry_;
  Activity activity_;
  RecordCounts* counts_;
  EventPackets packets_;
  TrackBook tracks_;
  RecordClock clock_;
  AnnotationArgs annotations_;
  ExternalNames external_;
  KernelNames kernel_names_;
  boost::unordered_flat_map<std::uint32_t, RecordedText> copy_names_;  // kinds of a copy or a set -> its name in this chapter
  boost::unordered_flat_map<std::uint64_t, RecordedText> call_names_;  // of_driver, callback id -> its name in this chapter
  boost::unordered_flat_map<std::uint64_t, std::uint32_t>
      last_launch_;  // device, stream -> the correlation of its last operation

  // Of this chapter:
  std::array<std::uint32_t, kKeys> keys_{};
  std::array<std::uint32_t, kOrigins> origins_{};
  std::array<std::uint32_t, kCategories> categories_{};

  std::string body_, bad_time_, name_;
};

}  // namespace graphtag
