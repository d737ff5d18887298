#include "record/annotation_args.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/recording_layout.h"

namespace graphtag {
namespace {

namespace layout = recording;

// What records have themselves.
constexpr std::array kTaken = {layout::kDevice,  layout::kContext,         layout::kStream,       layout::kCorrelation,
                               layout::kGraphId, layout::kGraphNodeId,     layout::kOrigin,       layout::kPath,
                               layout::kGrid,    layout::kBlock,           layout::kRegisters,    layout::kSharedMemory,
                               layout::kBytes,   layout::kBandwidth,       layout::kSourceDevice, layout::kValue,
                               layout::kBadTime, layout::kAnnotatedStream, layout::kTooLarge};

bool is_taken(std::string_view key) {
  return std::find(kTaken.begin(), kTaken.end(), key) != kTaken.end();
}

}  // namespace

void write_json_arg(ArgWriter& args, std::string_view key, const Json& value) {
  switch (value.type()) {
    case Json::value_t::boolean:
      args.boolean(key, value.get<bool>());
      return;
    case Json::value_t::number_integer:
      args.integer(key, value.get<std::int64_t>());
      return;
    case Json::value_t::number_unsigned:
      args.unsigned_integer(key, value.get<std::uint64_t>());
      return;
    case Json::value_t::number_float:
      args.real(key, value.get<double>());
      return;
    case Json::value_t::string:
      args.string(key, value.get_ref<const std::string&>());
      return;
    case Json::value_t::object: {
      if (value.empty()) break;
      ArgWriter nested = args.dict(key);
      for (const auto& member : value.items()) write_json_arg(nested, member.key(), member.value());
      return;
    }
    case Json::value_t::array: {
      if (value.empty()) break;
      ArgWriter nested = args.array(key);
      for (const Json& element : value) write_json_arg(nested, {}, element);
      return;
    }
    default:
      break;
  }
  args.json(key, dump_json(value));
}

void AnnotationArgs::encode(const Annotation& annotation, EventPackets& packets, std::string& body) const {
  ArgWriter args = packets.args(body);
  for (const auto& member : annotation.object->items()) {
    if (member.key() == layout::kStream && annotation.stream) {
      args.integer(layout::kAnnotatedStream, *annotation.stream);
    } else if (is_taken(member.key())) {
      write_json_arg(args, std::string(layout::kPrefix) + member.key(), member.value());
    } else {
      write_json_arg(args, member.key(), member.value());
    }
  }
  const std::vector<std::string>& path = annotation.path;
  if (path.empty() || (path.size() == 1 && path[0] == annotation.name)) return;
  ArgWriter names = args.array(layout::kPath);
  for (const std::string& name : path) names.string({}, name);
}

std::string_view AnnotationArgs::of(AnnotationId id, EventPackets& packets) {
  if (id == AnnotationId::none) return {};
  if (const auto found = entries_.find(id); found != entries_.end() && found->second.chapter == packets.chapter()) {
    return found->second.body;
  }
  if (bytes_ > kBytes) {
    entries_.clear();
    bytes_ = 0;
  }
  const Annotation& annotation = (*registry_)[id];
  Entry& entry = entries_[id];
  bytes_ -= entry.body.size();
  entry.body.clear();
  entry.chapter = packets.chapter();
  encode(annotation, packets, entry.body);
  if (entry.body.size() > kLargest) {
    const std::size_t bytes = entry.body.size();
    entry.body = {};
    ArgWriter args = packets.args(entry.body);
    if (!annotation.name.empty()) args.string("name", std::string_view(annotation.name).substr(0, kLargest / 4));
    args.unsigned_integer(layout::kTooLarge, bytes);
  }
  bytes_ += entry.body.size() + sizeof(Entry);
  return entry.body;
}

}  // namespace graphtag
