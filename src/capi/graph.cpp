// Graphs, exec graphs and nodes of CUDA: their ids, labels and links.
#include <string>
#include <vector>

#include <nlohmann/json.hpp>
#include "base/json.h"

#include "capi/handles.h"
#include "driver/real_driver.h"

using namespace graphtag;        // NOLINT(google-build-using-namespace)
using namespace graphtag::capi;  // NOLINT(google-build-using-namespace)

namespace {

GraphHandle graph_handle(const void* graph) {
  return static_cast<GraphHandle>(const_cast<void*>(graph));
}
NodeHandle node_handle(const void* node) {
  return static_cast<NodeHandle>(const_cast<void*>(node));
}
ExecHandle exec_handle(const void* exec) {
  return static_cast<ExecHandle>(const_cast<void*>(exec));
}

// Asks the driver for an id of `handle` with `ask(driver)`.
template <typename Ask>
gt_status ask_id(const void* handle, const void* out, const char* what, Ask ask) {
  if (handle == nullptr || out == nullptr) return fail(GT_ERROR_INVALID_ARGUMENT, "a null pointer");
  if (const gt_status status = gt_available(GT_OBSERVER_AUTO); status != GT_OK) return status;
  const DriverResult result = ask(RealDriver::of_process().driver());
  switch (result.status) {
    case DriverStatus::ok:
      return GT_OK;
    case DriverStatus::missing:
      return fail(GT_ERROR_UNAVAILABLE, std::string("this driver and CUPTI have no function that tells the id of ") + what);
    default:
      return fail(GT_ERROR_REFUSED,
                  std::string("CUDA does not know this ") + what + " (error " + std::to_string(result.code) + ")");
  }
}

}  // namespace

extern "C" {

gt_status gt_graph_id(const void* graph, uint32_t* id) noexcept {
  return guard([&] {
    GraphId found;
    const gt_status status =
        ask_id(graph, id, "graph", [&](Driver driver) { return driver.graph_id(graph_handle(graph), found); });
    if (status == GT_OK) *id = found.value;
    return status;
  });
}

gt_status gt_exec_id(const void* exec, uint32_t* id) noexcept {
  return guard([&] {
    GraphId found;
    const gt_status status =
        ask_id(exec, id, "exec graph", [&](Driver driver) { return driver.exec_id(exec_handle(exec), found); });
    if (status == GT_OK) *id = found.value;
    return status;
  });
}

gt_status gt_node_id(const void* node, uint64_t* id) noexcept {
  return guard([&] {
    NodeId found;
    const gt_status status = ask_id(node, id, "node", [&](Driver driver) { return driver.node_id(node_handle(node), found); });
    if (status == GT_OK) *id = found.value;
    return status;
  });
}

gt_status gt_label_graph(const void* graph, const char* json, size_t length) noexcept {
  return guard([&] {
    std::string_view text;
    if (!take_text(json, length, text)) return fail(GT_ERROR_INVALID_ARGUMENT, "a null pointer for the label");
    const Result<Json> label = parse_json(text, {}, JsonLimits{std::size_t{1} << 20, 64});
    if (!label) return fail(label.error());
    uint32_t id = 0;
    if (const gt_status status = gt_graph_id(graph, &id); status != GT_OK) return status;
    const Result<void> set = this_process().registry.set_label(GraphId{id}, label.value());
    return set ? gt_status{GT_OK} : fail(set.error());
  });
}

gt_status gt_link_exec(const void* exec, const void* graph) noexcept {
  return guard([&] {
    if (exec == nullptr || graph == nullptr) return fail(GT_ERROR_INVALID_ARGUMENT, "a null pointer");
    if (const gt_status status = gt_available(GT_OBSERVER_AUTO); status != GT_OK) return status;
    return from_record_status(this_process().recorder.link_exec(exec_handle(exec), graph_handle(graph)),
                              "the graph or exec graph");
  });
}

gt_status gt_link_body(const void* node, const void* const* bodies, size_t body_count) noexcept {
  return guard([&] {
    if (node == nullptr || (bodies == nullptr && body_count != 0)) return fail(GT_ERROR_INVALID_ARGUMENT, "a null pointer");
    if (body_count > 1'000'000) return fail(GT_ERROR_TOO_LARGE, "more than a million bodies");
    std::vector<GraphHandle> handles;
    for (std::size_t i = 0; i < body_count; ++i) {
      if (bodies[i] == nullptr) return fail(GT_ERROR_INVALID_ARGUMENT, "a body is null");
      handles.push_back(graph_handle(bodies[i]));
    }
    if (const gt_status status = gt_available(GT_OBSERVER_AUTO); status != GT_OK) return status;
    return from_record_status(this_process().recorder.link_bodies(node_handle(node), handles), "the conditional node or a body");
  });
}
}
