// Annotations as args, encoded once a chapter.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"
#include "model/annotation.h"
#include "record/event_packets.h"
#include "registry/registry.h"

namespace graphtag {

// Any JSON value as an arg: what has no typed form (null, empty arrays and objects) as JSON text.
void write_json_arg(ArgWriter& args, std::string_view key, const Json& value);

class AnnotationArgs {
 public:
  explicit AnnotationArgs(const Registry& registry) : registry_(&registry) {}

  // Valid until the next call; its strings are declared by the next event.
  std::string_view of(AnnotationId id, EventPackets& packets);

 private:
  static constexpr std::size_t kLargest = std::size_t{64} << 10;  // of one annotation
  static constexpr std::size_t kBytes = std::size_t{4} << 20;     // of all; beyond it they are forgotten

  void encode(const Annotation& annotation, EventPackets& packets, std::string& body) const;

  struct Entry {
    std::string body;
    std::uint32_t chapter = 0;
  };
  const Registry* registry_;
  boost::unordered_flat_map<AnnotationId, Entry> entries_;
  std::size_t bytes_ = 0;
};

}  // namespace graphtag
