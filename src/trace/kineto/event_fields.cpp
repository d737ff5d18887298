#include "trace/kineto/event_fields.h"

#include <charconv>
#include <limits>
#include <optional>

#include "trace/kineto/decimal_time.h"

namespace graphtag::kineto {
namespace {

// A decimal integer, also one in quotes (some writers quote every value). Nothing if it is none or does not fit.
template <typename Integer>
std::optional<Integer> integer(std::string_view token) {
  if (token.size() >= 2 && token.front() == '"' && token.back() == '"') token = token.substr(1, token.size() - 2);
  Integer value{};
  const char* const end = token.data() + token.size();
  const auto [stop, error] = std::from_chars(token.data(), end, value);
  if (token.empty() || error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

}  // namespace

EventKind EventFields::kind() const {
  switch (event_.phase) {
    case 'X': {
      const std::string_view category = text(event_.category);
      if (category == "\"kernel\"") return EventKind::kernel;
      if (category == "\"gpu_memcpy\"") return EventKind::memcpy;
      if (category == "\"gpu_memset\"") return EventKind::memset;
      if (category == "\"gpu_user_annotation\"") return EventKind::gpu_annotation;
      return EventKind::host_slice;
    }
    case 's':
      return EventKind::flow_start;
    case 'f':
    case 't':
      return EventKind::flow_end;
    case 'M':
      return EventKind::metadata;
    default:
      return EventKind::other;
  }
}

void EventFields::decode_time() {
  if (start_.type == ValueType::number) event_.start_ns = nanoseconds(text(start_.span));
  if (event_.phase != 'X') return;
  std::optional<std::int64_t> duration = 0;
  if (!duration_.span.empty()) duration = duration_.type == ValueType::number ? nanoseconds(text(duration_.span)) : std::nullopt;
  std::int64_t end = 0;
  bad_time_ = !event_.start_ns || !duration || *duration < 0 || __builtin_add_overflow(*event_.start_ns, *duration, &end);
  if (bad_time_) {
    event_.start_ns.reset();
  } else {
    event_.duration_ns = *duration;
  }
}

void EventFields::decode_graph() {
  const auto token = [&](GraphToken which) { return text(graph_tokens_[which]); };
  event_.correlation = integer<std::uint64_t>(token(correlation));
  if (!is_gpu_operation(event_.kind)) return;
  event_.device = integer<std::int64_t>(token(device));
  event_.stream = integer<std::int64_t>(token(stream));
  // Annotations may add a key of this name to kernels.
  if (event_.kind != EventKind::kernel) event_.bytes = integer<std::uint64_t>(token(bytes)).value_or(0);
  const auto node = integer<std::uint64_t>(token(graph_node_id));
  std::uint64_t graph = integer<std::uint64_t>(token(graph_id)).value_or(0);
  if (graph_tokens_[graph_id].empty() && node) graph = *node >> 32;
  graph_id_beyond_32_bits_ = graph > std::numeric_limits<std::uint32_t>::max();
  if (graph == 0 || graph_id_beyond_32_bits_) return;
  event_.graph_id = graph;
  if (!node) return;
  // Kineto writes the full id, Cuspy its lower half. A full id of another graph is a stale one: it names no node of this graph.
  const std::uint64_t upper = *node >> 32;
  if (upper != 0 && upper != graph) return;
  event_.node_id = graph << 32 | (*node & 0xffffffff);
  event_.has_node_id = true;
}

const Event& EventFields::finish(std::uint64_t offset, std::size_t size, bool repaired) {
  event_.json = {base_, size};
  event_.offset = offset;
  event_.repaired = repaired;
  event_.members = members_;
  event_.kind = kind();
  decode_time();
  if (event_.has_args && event_.kind <= EventKind::host_slice) decode_graph();
  return event_;
}

}  // namespace graphtag::kineto
