// What a framework knows of its graphs while no window is open, and a view of the graphs that live now.
#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/unix_time.h"
#include "capi/handles.h"
#include "driver/real_driver.h"
#include "model/annotation_file.h"

using namespace graphtag;        // NOLINT(google-build-using-namespace)
using namespace graphtag::capi;  // NOLINT(google-build-using-namespace)

namespace {

// The caller's hook takes a plain number.
std::atomic<gt_node_hook> node_hook{nullptr};
void call_node_hook(NodeId node) noexcept {
  if (const gt_node_hook hook = node_hook.load(std::memory_order_acquire); hook != nullptr) hook(node.value);
}

// The live nodes that have an annotation, by graph or exec graph.
class LiveNodes {
 public:
  LiveNodes(Process& process, const AnnotationFile& file) : process_(&process), file_(&file) {
    handles_.reserve(file.annotations.size() + 1);
  }

  void add_graph(const GraphRecord& graph) {
    const std::uint32_t end = process_->registry.next_local_id(graph.id).value_or(0);
    add_runs(graph.id, graph.runs, end, 0);
  }

  void add_exec(const ExecRecord& exec) {
    const std::size_t first = nodes.size();
    if (const GraphRecord* made_from = file_->find_graph(exec.template_graph))
      add_runs(exec.id, made_from->runs, exec.template_ids, exec.template_graph.value);
    // The last run of a placement says that what follows is not linked.
    const std::uint32_t end = exec.placement.empty() ? 0 : exec.placement.back().first.value;
    add_runs(exec.id, exec.placement, end, exec.template_graph.value);
    for (const Run& run : exec.overrides) {
      const gt_node node = to_node(exec.id, run.first.value, run, exec.template_graph.value);
      const auto found = std::lower_bound(nodes.begin() + static_cast<std::ptrdiff_t>(first), nodes.end(), node.node_id,
                                          [](const gt_node& a, std::uint64_t id) { return a.node_id < id; });
      const bool is_there = found != nodes.end() && found->node_id == node.node_id;
      if (is_there && run.annotation == AnnotationId::none) {
        nodes.erase(found);
      } else if (is_there) {
        *found = node;
      } else if (run.annotation != AnnotationId::none) {
        nodes.insert(found, node);
      }
    }
  }

  std::vector<gt_node> nodes;

 private:
  gt_node to_node(GraphId graph, std::uint32_t local, const Run& run, std::uint32_t template_id) {
    gt_node node{};
    node.node_id = std::uint64_t{graph.value} << 32 | local;
    node.annotation = handle_of(run.annotation);
    node.origin = static_cast<gt_origin>(run.origin);
    node.template_id = template_id;
    return node;
  }

  gt_annotation handle_of(AnnotationId id) {
    if (id == AnnotationId::none) return gt_annotation{0};
    const auto index = static_cast<std::size_t>(id);
    if (handles_.size() <= index) handles_.resize(index + 1);
    if (handles_[index].value == 0) {
      // With its path it is what the registry has: equal objects in different scopes are not one annotation.
      const Annotation& annotation = file_->annotations[id];
      Json object = *annotation.object;
      object["graphtag.path"] = annotation.path;
      const Result<AnnotationId> known = process_->registry.annotation(std::move(object));
      if (known) handles_[index] = to_handle(*process_, *known);
    }
    return handles_[index];
  }

  void add_runs(GraphId graph, const std::vector<Run>& runs, std::uint32_t end, std::uint32_t template_id) {
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if (runs[i].annotation == AnnotationId::none) continue;
      const std::uint32_t stop = i + 1 < runs.size() ? std::min(runs[i + 1].first.value, end) : end;
      for (std::uint32_t local = runs[i].first.value; local < stop; ++local)
        nodes.push_back(to_node(graph, local, runs[i], template_id));
    }
  }

  Process* process_;
  const AnnotationFile* file_;
  std::vector<gt_annotation> handles_;  // of the file's annotations, once asked for
};

}  // namespace

extern "C" {

gt_status gt_set_node_hook(gt_node_hook hook) noexcept {
  return guard([&] {
    node_hook.store(hook, std::memory_order_release);
    this_process().recorder.set_node_hook(hook == nullptr ? nullptr : &call_node_hook);
    return gt_status{GT_OK};
  });
}

gt_status gt_capture_graph(const void* stream, const void** graph) noexcept {
  return guard([&] {
    if (graph == nullptr) return fail(GT_ERROR_INVALID_ARGUMENT, "a null pointer for the graph");
    if (const gt_status status = gt_available(GT_OBSERVER_AUTO); status != GT_OK) return status;
    CaptureInfo info;
    const DriverResult result =
        RealDriver::of_process().driver().capture_info(static_cast<StreamHandle>(const_cast<void*>(stream)), info);
    if (result.status == DriverStatus::missing) return fail(GT_ERROR_UNAVAILABLE, "this driver does not tell what is captured");
    if (!result.ok()) return fail(GT_ERROR_REFUSED, "CUDA refused this stream (error " + std::to_string(result.code) + ")");
    if (info.status != CaptureStatus::active) return fail(GT_ERROR_NOT_FOUND, "the stream is not capturing");
    *graph = info.graph;
    return gt_status{GT_OK};
  });
}

gt_status gt_link_exec_id(const void* exec, uint32_t graph_id) noexcept {
  return guard([&] {
    uint32_t exec_id = 0;
    if (const gt_status status = gt_exec_id(exec, &exec_id); status != GT_OK) return status;
    Process& self = this_process();
    // An instantiation that was seen is known better.
    if (self.registry.resolve(NodeId{std::uint64_t{exec_id} << 32}).origin != Origin::unknown_graph) return gt_status{GT_OK};
    if (!self.registry.next_local_id(GraphId{graph_id})) {
      return fail(GT_ERROR_NOT_FOUND, "nothing was recorded of graph " + std::to_string(graph_id));
    }
    self.registry.exec_created(GraphId{exec_id}, GraphId{graph_id}, unix_time_ns(), {}, {}, Origin::modelled);
    return gt_status{GT_OK};
  });
}

gt_status gt_destroyed(uint32_t graph_or_exec_id) noexcept {
  return guard([&] {
    Registry& registry = this_process().registry;
    registry.graph_destroyed(GraphId{graph_or_exec_id}, unix_time_ns());
    registry.exec_destroyed(GraphId{graph_or_exec_id}, unix_time_ns());
    return gt_status{GT_OK};
  });
}

gt_status gt_live_nodes(gt_node* nodes, size_t capacity, size_t* count) noexcept {
  return guard([&] {
    if (count == nullptr || (nodes == nullptr && capacity != 0)) return fail(GT_ERROR_INVALID_ARGUMENT, "a null pointer");
    Process& self = this_process();
    if (self.recorder.active()) self.recorder.settle();
    const Result<AnnotationFile> file = self.registry.snapshot(true);
    if (!file) return fail(file.error());
    LiveNodes live(self, file.value());
    for (const GraphRecord& graph : file->graphs) {
      if (!graph.destroyed_ns) live.add_graph(graph);
    }
    for (const ExecRecord& exec : file->execs) live.add_exec(exec);
    *count = live.nodes.size();
    if (nodes == nullptr) return gt_status{GT_OK};
    if (live.nodes.size() > capacity) return fail(GT_ERROR_BUFFER_TOO_SMALL, "the count says how many nodes there are");
    std::copy(live.nodes.begin(), live.nodes.end(), nodes);
    return gt_status{GT_OK};
  });
}
}
