// Stream capture: frontiers, forks, joins.
#include <algorithm>

#include "tests/fake/model.h"

namespace graphtag::fake {
namespace {

// Are all of `nodes` among `frontier` or what it depends on?
bool covers(const std::vector<NodeHandle>& frontier, const std::vector<NodeHandle>& nodes) {
  std::unordered_set<const Node*> reached;
  std::vector<const Node*> open;
  for (const NodeHandle node : frontier) open.push_back(to_node(node));
  while (!open.empty()) {
    const Node* node = open.back();
    open.pop_back();
    if (!reached.insert(node).second) continue;
    open.insert(open.end(), node->dependencies.begin(), node->dependencies.end());
  }
  return std::all_of(nodes.begin(), nodes.end(), [&](NodeHandle node) { return reached.count(to_node(node)) != 0; });
}

}  // namespace

Stream* Model::capturing(StreamHandle stream) {
  return streams.has(stream) && to_stream(stream)->graph != nullptr ? to_stream(stream) : nullptr;
}

// All streams of the capture are as before it; mutex held.
void Model::leave_capture(std::uint64_t capture_id) {
  for (const void* live : streams.live()) {
    auto* stream = static_cast<Stream*>(const_cast<void*>(live));
    if (stream->capture_id == capture_id) *stream = Stream{};
  }
}

StreamHandle FakeCuda::stream_create() {
  const std::lock_guard lock(model_->mutex);
  return reinterpret_cast<StreamHandle>(model_->streams.take());
}

bool FakeCuda::begin_capture(StreamHandle stream) {
  {
    const std::lock_guard lock(model_->mutex);
    if (!model_->streams.has(stream) || to_stream(stream)->graph != nullptr) return false;
  }
  Graph* graph = model_->new_graph(false);
  {
    const std::lock_guard lock(model_->mutex);
    graph->captures = 1;
    *to_stream(stream) = Stream{graph, true, model_->next_capture_id++, {}};
  }
  model_->emit(GraphEventKind::graph_created, graph);
  return true;
}

bool FakeCuda::begin_capture_to_graph(StreamHandle stream, GraphHandle graph, std::span<const NodeHandle> dependencies) {
  const std::lock_guard lock(model_->mutex);
  if (!model_->streams.has(stream) || to_stream(stream)->graph != nullptr || !model_->is_template(graph)) return false;
  ++to_graph(graph)->captures;
  *to_stream(stream) = Stream{to_graph(graph), true, model_->next_capture_id++, {dependencies.begin(), dependencies.end()}};
  return true;
}

namespace {

// Where the stream's next node goes; nothing if the stream does not capture.
struct Place {
  GraphHandle graph = nullptr;
  std::vector<NodeHandle> frontier;
};

Place place_of(Model& model, StreamHandle handle_of_stream) {
  const std::lock_guard lock(model.mutex);
  const Stream* stream = model.capturing(handle_of_stream);
  return stream == nullptr ? Place{} : Place{handle(stream->graph), stream->frontier};
}

NodeHandle advance(Model& model, StreamHandle stream, NodeHandle node) {
  const std::lock_guard lock(model.mutex);
  if (node != nullptr) to_stream(stream)->frontier = {node};
  return node;
}

}  // namespace

NodeHandle FakeCuda::launch(StreamHandle stream, NodeType type, std::uint64_t tag) {
  const Place place = place_of(*model_, stream);
  return place.graph == nullptr ? nullptr : advance(*model_, stream, model_->add_node(place.graph, type, place.frontier, tag));
}

NodeHandle FakeCuda::launch_child(StreamHandle stream, GraphHandle child) {
  const Place place = place_of(*model_, stream);
  return place.graph == nullptr ? nullptr
                                : advance(*model_, stream, model_->add_child(place.graph, child, place.frontier, false));
}

Conditional FakeCuda::launch_conditional(StreamHandle stream, std::size_t bodies) {
  const Place place = place_of(*model_, stream);
  if (place.graph == nullptr) return {};
  Conditional conditional = model_->add_conditional(place.graph, bodies, place.frontier);
  advance(*model_, stream, conditional.node);
  return conditional;
}

Event FakeCuda::record_event(StreamHandle stream) {
  const std::lock_guard lock(model_->mutex);
  const Stream* capturing = model_->capturing(stream);
  return capturing == nullptr ? Event{} : Event{capturing->capture_id, capturing->frontier};
}

bool FakeCuda::wait_event(StreamHandle handle_of_stream, const Event& event) {
  const std::lock_guard lock(model_->mutex);
  if (!model_->streams.has(handle_of_stream)) return false;
  if (event.capture_id == 0) return true;
  Stream* stream = to_stream(handle_of_stream);
  if (stream->graph != nullptr && stream->capture_id != event.capture_id) return false;
  if (stream->graph == nullptr) {
    for (const void* live : model_->streams.live()) {
      const auto* other = static_cast<const Stream*>(live);
      if (other->capture_id == event.capture_id) *stream = Stream{other->graph, false, event.capture_id, {}};
    }
    if (stream->graph == nullptr) return false;  // the event's capture is over
  }
  for (const NodeHandle node : event.frontier) {
    if (std::count(stream->frontier.begin(), stream->frontier.end(), node) == 0) stream->frontier.push_back(node);
  }
  return true;
}

GraphHandle FakeCuda::end_capture(StreamHandle handle_of_stream) {
  Graph* graph = nullptr;
  bool failed = false;
  {
    const std::lock_guard lock(model_->mutex);
    const Stream* stream = model_->capturing(handle_of_stream);
    if (stream == nullptr || !stream->origin) return nullptr;
    for (const void* live : model_->streams.live()) {
      const auto* other = static_cast<const Stream*>(live);
      if (other->capture_id == stream->capture_id) failed = failed || !covers(stream->frontier, other->frontier);
    }
    graph = stream->graph;
    --graph->captures;
    model_->leave_capture(stream->capture_id);
  }
  if (!failed) return handle(graph);
  if (!graph->held) {
    model_->announce_destruction(graph);
    model_->free_graph(graph);
  }
  return nullptr;
}

}  // namespace graphtag::fake
