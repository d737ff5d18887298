// The tracks of a recording (base/recording_layout.h): each is described before its first event in a chapter. A track's uuid follows from what it
// stands for, so describing it again, in another chapter or because it was forgotten, is the same track.
#pragma once

#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/perfetto_packets.h"
#include "driver/driver.h"

namespace graphtag {

struct TrackOwner {
  std::int64_t pid = 0;
  std::string process;     // its name
  std::uint64_t seed = 0;  // of uuids: differs between processes
};

class TrackBook {
 public:
  // Descriptions are put behind `out`.
  TrackBook(std::string& out, TrackOwner owner, const Driver& driver) : out_(&out), owner_(std::move(owner)), driver_(driver) {}

  // Describes the process and its status track, and all others anew as they are used.
  void begin_chapter();

  // A track of the stream on which nothing lies from `start_ns` on; the operation takes it until `end_ns`.
  std::uint64_t stream(std::uint32_t device, std::uint32_t context, std::uint32_t stream, std::uint64_t start_ns,
                       std::uint64_t end_ns);

  enum class HostTrack : std::uint8_t { ranges, runtime, driver };
  std::uint64_t thread(std::int64_t thread, HostTrack what);
  // A track for ranges of a thread that do not nest, as stream().
  std::uint64_t overlapping(std::int64_t thread, std::uint64_t start_ns, std::uint64_t end_ns);
  // As stream().
  std::uint64_t overhead(std::uint64_t start_ns, std::uint64_t end_ns);
  std::uint64_t status() const { return status_uuid_; }
  std::uint64_t counter(std::string_view name);

  // How to tell flows of different processes apart.
  std::uint64_t flow_id(std::uint32_t correlation) const;

 private:
  static constexpr std::size_t kMostTracks = 32768;
  static constexpr std::size_t kMostRows = 64;  // of what overlaps on one stream or thread, that are looked through

  enum class Kind : std::uint64_t { process = 1, status, device, stream, thread, runtime, driver, overlap, overhead, counter };
  struct Row {
    std::uint64_t uuid;
    std::uint64_t free_from_ns;
  };
  // Rows of one stream or thread, each without overlap.
  struct Rows {
    std::vector<Row> rows;
    std::uint64_t made = 0;  // so far, those that were given up included
    std::uint32_t chapter = 0;
  };

  std::uint64_t uuid_of(Kind kind, std::uint64_t a = 0, std::uint64_t b = 0, std::uint64_t c = 0) const;
  bool is_new(std::uint64_t uuid);
  std::uint64_t device(std::uint32_t device);
  Rows& rows_of(std::uint64_t first_uuid);
  template <typename Describe>
  std::uint64_t place(Rows& rows, std::uint64_t start_ns, std::uint64_t end_ns, Describe describe);
  void describe(const TrackDescription& track);
  void tell_device(std::uint32_t device, const std::string& name);

  std::string* out_;
  TrackOwner owner_;
  Driver driver_;
  std::uint32_t chapter_ = 0;
  std::uint64_t process_uuid_ = 0, status_uuid_ = 0;
  boost::unordered_flat_map<std::uint64_t, std::uint32_t> described_;     // uuid -> the last chapter in which it was
  boost::unordered_flat_map<std::uint64_t, Rows> rows_;                   // uuid of the first row -> all of them
  boost::unordered_flat_map<std::uint32_t, std::uint32_t> main_context_;  // device -> the first context that was seen on it
};

}  // namespace graphtag
