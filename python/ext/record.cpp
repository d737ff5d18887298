// Recordings: CUPTI's activity into a Perfetto trace.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <string>

#include "errors.h"
#include "rooms.h"

namespace nb = nanobind;

namespace graphtag::python {
namespace {

nb::dict to_dict(const gt_record_stats& stats) {
  nb::dict dict;
  dict["state"] = stats.state;
  dict["segments_deleted"] = stats.segments_deleted;
  dict["kernels"] = stats.kernels;
  dict["memcpys"] = stats.memcpys;
  dict["memsets"] = stats.memsets;
  dict["api_calls"] = stats.api_calls;
  dict["overheads"] = stats.overheads;
  dict["ranges"] = stats.ranges;
  dict["graph_operations"] = stats.graph_operations;
  dict["graph_named"] = stats.graph_named;
  dict["other_named"] = stats.other_named;
  dict["bad_times"] = stats.bad_times;
  dict["dropped_by_cupti"] = stats.dropped_by_cupti;
  dict["buffers_refused"] = stats.buffers_refused;
  dict["buffers_kept"] = stats.buffers_kept;
  dict["ranges_dropped"] = stats.ranges_dropped;
  dict["records_unknown"] = stats.records_unknown;
  dict["records_lost"] = stats.records_lost;
  dict["write_errors"] = stats.write_errors;
  dict["bytes_written"] = stats.bytes_written;
  dict["bytes_deleted"] = stats.bytes_deleted;
  return dict;
}

}  // namespace

// All may wait for the disk or for CUPTI, and other threads of the program go on.
void bind_record(nb::module_& m) {
  m.def(
      "record_begin",
      [](const nb::bytes& path, bool api, bool annotations, std::uint32_t buffer_count, std::uint32_t buffer_bytes,
         std::uint32_t flush_ms, std::uint64_t max_bytes, const std::string& metadata) {
        auto options = sized<gt_record_options>();
        options.flags = (api ? 0U : GT_RECORD_NO_API) | (annotations ? GT_RECORD_ANNOTATIONS : 0U);
        options.buffer_count = buffer_count;
        options.buffer_bytes = buffer_bytes;
        options.flush_ms = flush_ms;
        options.max_bytes = max_bytes;
        options.path = path.c_str();
        options.path_length = path.size();
        if (!metadata.empty()) {
          options.metadata = metadata.data();
          options.metadata_length = metadata.size();
        }
        gt_recording recording{0};
        gt_status status = GT_OK;
        {
          const nb::gil_scoped_release release;
          status = gt_record_begin(&options, &recording);
        }
        check(status);
        return recording.value;
      },
      nb::arg("path"), nb::arg("api"), nb::arg("annotations"), nb::arg("buffer_count"), nb::arg("buffer_bytes"),
      nb::arg("flush_ms"), nb::arg("max_bytes"), nb::arg("metadata"));
  m.def(
      "record_flush",
      [](std::uint64_t recording, std::uint32_t timeout_ms) {
        gt_status status = GT_OK;
        {
          const nb::gil_scoped_release release;
          status = gt_record_flush(gt_recording{recording}, timeout_ms);
        }
        check(status);
      },
      nb::arg("recording"), nb::arg("timeout_ms"));
  m.def(
      "record_stats",
      [](std::uint64_t recording) {
        auto stats = sized<gt_record_stats>();
        check(gt_record_stats_get(gt_recording{recording}, &stats));
        return to_dict(stats);
      },
      nb::arg("recording"));
  m.def(
      "record_end",
      [](std::uint64_t recording) {
        auto stats = sized<gt_record_stats>();
        gt_status status = GT_OK;
        {
          const nb::gil_scoped_release release;
          status = gt_record_end(gt_recording{recording}, &stats);
        }
        return nb::make_tuple(status, text_of(status == GT_OK ? "" : gt_last_error()), to_dict(stats));
      },
      nb::arg("recording"), "(gt_status, its message, the counts): it has ended whatever the status is.");
}

}  // namespace graphtag::python
