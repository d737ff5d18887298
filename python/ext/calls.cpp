// The C ABI, function by function; handles of CUDA and of graphtag are ints.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <string>
#include <vector>

#include "errors.h"
#include "rooms.h"

namespace nb = nanobind;

namespace graphtag::python {
namespace {

const void* pointer(std::uintptr_t handle) {
  return reinterpret_cast<const void*>(handle);  // NOLINT(performance-no-int-to-ptr): CUDA's handles come as ints
}

void bind_windows(nb::module_& m) {
  m.def(
      "window_open",
      [](std::uint32_t observer, bool all_streams, const std::vector<std::uintptr_t>& streams) {
        std::vector<const void*> handles;
        for (const std::uintptr_t stream : streams) handles.push_back(pointer(stream));
        auto options = sized<gt_window_options>();
        options.observer = observer;
        options.flags = all_streams ? GT_WINDOW_ALL_STREAMS : 0;
        options.streams = handles.data();
        options.stream_count = handles.size();
        gt_window window{0};
        check(gt_window_open(&options, &window));
        return window.value;
      },
      nb::arg("observer"), nb::arg("all_streams"), nb::arg("streams"));
  m.def(
      "window_close", [](std::uint64_t window) { check(gt_window_close(gt_window{window})); }, nb::arg("window"));
  m.def(
      "window_add_stream",
      [](std::uint64_t window, std::uintptr_t stream) { check(gt_window_add_stream(gt_window{window}, pointer(stream))); },
      nb::arg("window"), nb::arg("stream"));
  m.def(
      "window_observer",
      [](std::uint64_t window) {
        gt_observer observer = GT_OBSERVER_AUTO;
        check(gt_window_observer(gt_window{window}, &observer));
        return observer;
      },
      nb::arg("window"));
}

void bind_annotations(nb::module_& m) {
  m.def(
      "annotation", [](nb::object value) { return annotation_of(value).value; }, nb::arg("value"),
      "The handle of a name (str) or an annotation (dict).");
  m.def(
      "annotation_merge",
      [](std::uint64_t outer, std::uint64_t inner) {
        gt_annotation merged{0};
        check(gt_annotation_merge(gt_annotation{outer}, gt_annotation{inner}, &merged));
        return merged.value;
      },
      nb::arg("outer"), nb::arg("inner"));
  m.def(
      "annotation_json",
      [](std::uint64_t annotation, bool path) {
        return take_text([&](char* buffer, std::size_t capacity, std::size_t* length) {
          return gt_annotation_json(gt_annotation{annotation}, path ? GT_JSON_PATH : 0, buffer, capacity, length);
        });
      },
      nb::arg("annotation"), nb::arg("path") = false);
  m.def("scope_current", [] {
    gt_annotation annotation{0};
    check(gt_scope_current(&annotation));
    return annotation.value;
  });
  m.def(
      "scope_open",
      [](std::uint64_t annotation) {
        gt_scope scope{0};
        check(gt_scope_open(gt_annotation{annotation}, &scope));
        return scope.value;
      },
      nb::arg("annotation"));
  m.def(
      "scope_close", [](std::uint64_t scope) { check(gt_scope_close(gt_scope{scope})); }, nb::arg("scope"));
}

void bind_graphs(nb::module_& m) {
  m.def(
      "graph_id",
      [](std::uintptr_t graph) {
        std::uint32_t id = 0;
        check(gt_graph_id(pointer(graph), &id));
        return id;
      },
      nb::arg("graph"));
  m.def(
      "exec_id",
      [](std::uintptr_t exec) {
        std::uint32_t id = 0;
        check(gt_exec_id(pointer(exec), &id));
        return id;
      },
      nb::arg("exec"));
  m.def(
      "capture_graph",
      [](std::uintptr_t stream) {
        const void* graph = nullptr;
        check(gt_capture_graph(pointer(stream), &graph));
        return reinterpret_cast<std::uintptr_t>(graph);
      },
      nb::arg("stream"));
  m.def(
      "label_graph",
      [](std::uintptr_t graph, const std::string& json) { check(gt_label_graph(pointer(graph), json.data(), json.size())); },
      nb::arg("graph"), nb::arg("json"));
  m.def(
      "link_exec", [](std::uintptr_t exec, std::uintptr_t graph) { check(gt_link_exec(pointer(exec), pointer(graph))); },
      nb::arg("exec"), nb::arg("graph"));
  m.def(
      "link_exec_id", [](std::uintptr_t exec, std::uint32_t graph_id) { check(gt_link_exec_id(pointer(exec), graph_id)); },
      nb::arg("exec"), nb::arg("graph_id"));
  m.def(
      "destroyed", [](std::uint32_t id) { check(gt_destroyed(id)); }, nb::arg("graph_or_exec_id"));
}

void bind_answers(nb::module_& m) {
  m.def(
      "resolve",
      [](std::uint64_t node_id, std::int64_t time_ns) {
        auto resolution = sized<gt_resolution>();
        check(gt_resolve(node_id, time_ns, &resolution));
        return nb::make_tuple(resolution.annotation.value, resolution.origin);
      },
      nb::arg("node_id"), nb::arg("time_ns") = GT_NOW,
      nb::sig("def resolve(node_id: int, time_ns: int = ...) -> tuple[int, int]"));
  m.def(
      "origin_name", [](std::uint32_t origin) { return gt_origin_name(origin); }, nb::arg("origin"));
  m.def(
      "live_nodes",
      [] {
        std::vector<gt_node> nodes;
        std::size_t count = 0;
        check(gt_live_nodes(nullptr, 0, &count));
        for (;;) {
          nodes.resize(count);
          const gt_status status = gt_live_nodes(nodes.data(), nodes.size(), &count);
          if (status == GT_OK) break;
          if (status != GT_ERROR_BUFFER_TOO_SMALL) check(status);
        }
        nodes.resize(count);
        nb::list list;
        for (const gt_node& node : nodes) {
          list.append(nb::make_tuple(node.node_id, node.annotation.value, node.template_id));
        }
        return list;
      },
      "[(node id, annotation, id of the graph that the exec graph was made from or 0)]");
  m.def(
      "snapshot_file", [](const nb::bytes& path) { check(gt_snapshot_file(path.c_str(), path.size())); }, nb::arg("path"));
  m.def("snapshot_json", [] {
    const std::string text = take_text(
        [](char* buffer, std::size_t capacity, std::size_t* length) { return gt_snapshot_buffer(buffer, capacity, length); });
    return nb::bytes(text.data(), text.size());
  });
  m.def("forget", [] { check(gt_forget()); });
  m.def(
      "set_retired_limit", [](std::uint64_t bytes) { check(gt_set_retired_limit(bytes)); }, nb::arg("bytes"));
  m.def("counters", [] {
    auto counters = sized<gt_counters>();
    check(gt_counters_get(&counters));
    nb::dict counts;
    counts["windows_opened"] = counters.windows_opened;
    counts["scopes_begun"] = counters.scopes_begun;
    counts["nodes_seen"] = counters.nodes_seen;
    counts["boundaries_read"] = counters.boundaries_read;
    counts["graphs_live"] = counters.graphs_live;
    counts["execs_live"] = counters.execs_live;
    counts["graphs_retired"] = counters.graphs_retired;
    counts["retired_bytes"] = counters.retired_bytes;
    counts["retired_dropped"] = counters.retired_dropped;
    counts["annotations"] = counters.annotations;
    counts["stale_ids"] = counters.stale_ids;
    counts["failures"] = counters.failures;
    return counts;
  });
}

}  // namespace

void bind_calls(nb::module_& m) {
  m.def("version", [] { return std::string(gt_version_string()); });
  m.def(
      "active", [] { return gt_active() != 0; }, "Is a window open?");
  m.def(
      "check_available", [](std::uint32_t observer) { check(gt_available(observer)); }, nb::arg("observer") = 0);
  m.def(
      "status_name", [](std::int32_t status) { return gt_status_name(status); }, nb::arg("status"));
  m.def(
      "doctor",
      [](std::uint32_t flags) {
        return take_text([flags](char* buffer, std::size_t capacity, std::size_t* length) {
          return gt_doctor_json(flags, buffer, capacity, length);
        });
      },
      nb::arg("flags"));
  bind_windows(m);
  bind_annotations(m);
  bind_graphs(m);
  bind_answers(m);
}

}  // namespace graphtag::python
