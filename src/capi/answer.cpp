// What was recorded: single answers, snapshots, counts.
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>

#include "base/file.h"
#include "capi/handles.h"
#include "capi/producer.h"
#include "model/annotation_file.h"

using namespace graphtag;        // NOLINT(google-build-using-namespace)
using namespace graphtag::capi;  // NOLINT(google-build-using-namespace)

namespace {

// gt_origin -> its name
constexpr std::array kOrigins = {Origin::callback, Origin::boundary,      Origin::boundary_approximate,     Origin::modelled,
                                 Origin::updated,  Origin::outside_scope, Origin::captured_before_start,    Origin::unlinked_body,
                                 Origin::stale_id, Origin::unknown_graph, Origin::outside_scope_approximate};
static_assert(kOrigins[GT_ORIGIN_CALLBACK] == Origin::callback);
static_assert(kOrigins[GT_ORIGIN_UPDATED] == Origin::updated);
static_assert(kOrigins[GT_ORIGIN_OUTSIDE_SCOPE] == Origin::outside_scope);
static_assert(kOrigins[GT_ORIGIN_UNKNOWN_GRAPH] == Origin::unknown_graph);
static_assert(kOrigins[GT_ORIGIN_OUTSIDE_SCOPE_APPROXIMATE] == Origin::outside_scope_approximate);
static_assert(kOrigins.size() == GT_ORIGIN_OUTSIDE_SCOPE_APPROXIMATE + 1);

gt_origin to_gt_origin(Origin origin) {
  const auto found = std::find(kOrigins.begin(), kOrigins.end(), origin);
  return found == kOrigins.end() ? gt_origin{GT_ORIGIN_UNKNOWN_GRAPH} : static_cast<gt_origin>(found - kOrigins.begin());
}

// The recorder's latest news are in the registry from here on.
Process& settled_process() {
  Process& self = this_process();
  if (self.recorder.active()) self.recorder.settle();
  return self;
}

Result<std::string> snapshot_text() {
  Process& self = settled_process();
  Result<AnnotationFile> file = self.registry.snapshot();
  if (!file) return std::move(file).error();
  file->producer = this_producer(self.recorder.counters(), self.registry.counters());
  return write_annotation_file(file.value());
}

constexpr std::size_t kMaxStructBytes = 4096;

}  // namespace

extern "C" {

const char* gt_origin_name(gt_origin origin) noexcept {
  // to_string's views are of literals, so they end with a NUL.
  return origin < kOrigins.size() ? to_string(kOrigins[origin]).data() : nullptr;
}

gt_status gt_resolve(uint64_t node_id, int64_t time_ns, gt_resolution* resolution) noexcept {
  return guard([&] {
    if (resolution == nullptr) return fail(GT_ERROR_INVALID_ARGUMENT, "a null pointer for the resolution");
    if (resolution->size != sizeof(gt_resolution))
      return fail(GT_ERROR_INVALID_SIZE, "gt_resolution.size must be sizeof(gt_resolution)");
    Process& self = settled_process();
    const std::optional<std::int64_t> time = time_ns == GT_NOW ? std::nullopt : std::optional<std::int64_t>(time_ns);
    const Resolution found = self.registry.resolve(NodeId{node_id}, time);
    resolution->annotation = to_handle(self, found.annotation);
    resolution->origin = to_gt_origin(found.origin);
    return gt_status{GT_OK};
  });
}

gt_status gt_snapshot_file(const char* path, size_t length) noexcept {
  return guard([&] {
    std::string_view text;
    if (!take_text(path, length, text) || text.empty() || text.find('\0') != std::string_view::npos) {
      return fail(GT_ERROR_INVALID_ARGUMENT, "a path must not be null or empty, nor hold a NUL");
    }
    const Result<std::string> content = snapshot_text();
    if (!content) return fail(content.error());
    const Result<void> written = write_file(std::string(text), content.value());
    return written ? gt_status{GT_OK} : fail(GT_ERROR_IO, written.error().to_string());
  });
}

gt_status gt_snapshot_buffer(char* buffer, size_t capacity, size_t* length) noexcept {
  return guard([&] {
    const Result<std::string> content = snapshot_text();
    return content ? put_text(content.value(), buffer, capacity, length) : fail(content.error());
  });
}

gt_status gt_forget(void) noexcept {
  return guard([&] {
    settled_process().registry.forget();
    return gt_status{GT_OK};
  });
}

gt_status gt_set_retired_limit(uint64_t bytes) noexcept {
  return guard([&] {
    this_process().registry.set_retired_limit(static_cast<std::size_t>(bytes));
    return gt_status{GT_OK};
  });
}

gt_status gt_counters_get(gt_counters* counters) noexcept {
  return guard([&] {
    if (counters == nullptr) return fail(GT_ERROR_INVALID_ARGUMENT, "a null pointer for the counters");
    const std::size_t size = counters->size;
    if (size < sizeof(gt_counters) || size > kMaxStructBytes) {
      return fail(GT_ERROR_INVALID_SIZE, "gt_counters.size must be sizeof(gt_counters)");
    }
    const Process& self = this_process();
    const RegistryCounters kept = self.registry.counters();
    const RecorderCounters seen = self.recorder.counters();
    gt_counters counts{};
    counts.size = size;
    counts.windows_opened = seen.windows_opened;
    counts.scopes_begun = seen.scopes_begun;
    counts.nodes_seen = seen.nodes_seen;
    counts.boundaries_read = seen.boundaries_read;
    counts.graphs_live = kept.graphs;
    counts.execs_live = kept.execs;
    counts.graphs_retired = kept.retired_graphs + kept.retired_execs;
    counts.retired_bytes = kept.retired_bytes;
    counts.retired_dropped = kept.dropped;
    counts.annotations = kept.annotations;
    counts.stale_ids = kept.stale;
    counts.failures = seen.failures + kept.lost;
    // A newer caller's further fields are unknown here: 0.
    std::memset(counters, 0, size);
    std::memcpy(counters, &counts, sizeof counts);
    return gt_status{GT_OK};
  });
}
}
