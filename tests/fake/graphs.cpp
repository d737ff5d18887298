// Template graphs: building, copying, destroying.
#include <algorithm>
#include <unordered_map>

#include "tests/fake/model.h"

namespace graphtag::fake {
namespace {

bool has_no_created_event(NodeType type) {
  return type == NodeType::memory_alloc || type == NodeType::memory_free;
}

}  // namespace

void Model::emit(const GraphEvent& event) {
  GraphObserver* receiver = observer.load(std::memory_order_acquire);
  if (receiver == nullptr || (events.load(std::memory_order_relaxed) >> static_cast<unsigned>(event.kind) & 1) == 0) return;
  receiver->on_graph_event(event);
}

void Model::tell_of_call(GraphHandle graph, bool begins) {
  GraphObserver* receiver = observer.load(std::memory_order_acquire);
  if (receiver != nullptr && options.tells_calls) receiver->on_instantiation(graph, begins);
}

void Model::emit(GraphEventKind kind, const Graph* graph, const Node* node, const Node* dependency) {
  GraphEvent event;
  event.kind = kind;
  event.graph = handle(graph);
  event.node = handle(node);
  event.dependency = handle(dependency);
  emit(event);
}

bool Model::is_template(GraphHandle graph) {
  return graphs.has(graph) && !to_graph(graph)->is_exec;
}

bool Model::has_conditional(const Graph* graph) {
  for (const Node* node : graph->nodes) {
    if (node->type == NodeType::conditional) return true;
    for (const Graph* body : node->bodies) {
      if (has_conditional(body)) return true;
    }
  }
  return false;
}

Graph* Model::new_graph(bool held) {
  const std::lock_guard lock(mutex);
  Graph* graph = graphs.take();
  graph->id = next_graph_id++;
  graph->held = held;
  return graph;
}

Node* Model::new_node(Graph* graph, NodeType type, std::uint64_t tag) {
  const std::lock_guard lock(mutex);
  Node* node = nodes.take();
  node->graph = graph;
  node->local_id = graph->next_local_id++;
  node->type = type;
  node->tag = tag;
  return node;
}

Node* Model::begin_node(GraphHandle graph, NodeType type, std::span<const NodeHandle> dependencies, std::uint64_t tag) {
  {
    const std::lock_guard lock(mutex);
    if (!is_template(graph)) return nullptr;
    for (const NodeHandle dependency : dependencies) {
      if (!nodes.has(dependency) || to_node(dependency)->graph != to_graph(graph)) return nullptr;
    }
  }
  Node* node = new_node(to_graph(graph), type, tag);
  emit(GraphEventKind::node_create_starting, node->graph, node);
  for (const NodeHandle dependency : dependencies) {
    {
      const std::lock_guard lock(mutex);
      node->dependencies.push_back(to_node(dependency));
    }
    emit(GraphEventKind::dependency_created, node->graph, node, to_node(dependency));
  }
  return node;
}

void Model::finish_node(Node* node) {
  {
    const std::lock_guard lock(mutex);
    node->graph->nodes.push_back(node);
  }
  emit(GraphEventKind::node_created, node->graph, node);
}

NodeHandle Model::add_node(GraphHandle graph, NodeType type, std::span<const NodeHandle> dependencies, std::uint64_t tag) {
  Node* node = begin_node(graph, type, dependencies, tag);
  if (node == nullptr) return nullptr;
  finish_node(node);
  return handle(node);
}

NodeHandle Model::add_child(GraphHandle graph, GraphHandle child, std::span<const NodeHandle> dependencies, bool move) {
  {
    const std::lock_guard lock(mutex);
    if (graph == child || !is_template(child) || has_conditional(to_graph(child))) return nullptr;
    if (move && (to_graph(child)->held || to_graph(child)->captures != 0)) return nullptr;
  }
  Node* node = begin_node(graph, NodeType::child_graph, dependencies, 0);
  if (node == nullptr) return nullptr;
  Graph* body = to_graph(child);
  if (!move) {
    body = new_graph(true);
    copy_graph(to_graph(child), body);
  }
  {
    const std::lock_guard lock(mutex);
    body->held = true;
    node->bodies.push_back(body);
  }
  finish_node(node);
  return handle(node);
}

Conditional Model::add_conditional(GraphHandle graph, std::size_t bodies, std::span<const NodeHandle> dependencies) {
  Node* node = begin_node(graph, NodeType::conditional, dependencies, 0);
  if (node == nullptr) return {};
  Conditional conditional{handle(node), {}};
  for (std::size_t i = 0; i < bodies; ++i) {
    Graph* body = new_graph(true);
    {
      const std::lock_guard lock(mutex);
      node->bodies.push_back(body);
    }
    emit(GraphEventKind::graph_created, body);
    conditional.bodies.push_back(handle(body));
  }
  finish_node(node);
  return conditional;
}

// Ids count up while nodes are copied, and become those of the originals by node_cloned.
void Model::copy_graph(const Graph* from, Graph* to) {
  std::unordered_map<const Node*, Node*> copies;  // original -> copy
  if (!options.clone_before_create) emit(GraphEventKind::graph_created, to);
  for (const Node* original : from->nodes) {
    Node* copy = new_node(to, original->type, original->tag);
    copies[original] = copy;
    emit(GraphEventKind::node_create_starting, to, copy);
    for (const Graph* body : original->bodies) {
      Graph* body_copy = new_graph(true);
      copy_graph(body, body_copy);
      const std::lock_guard lock(mutex);
      copy->bodies.push_back(body_copy);
    }
    {
      const std::lock_guard lock(mutex);
      to->nodes.push_back(copy);
    }
    const auto created = [&] {
      if (!has_no_created_event(copy->type)) emit(GraphEventKind::node_created, to, copy);
    };
    if (!options.clone_before_create) created();
    {
      const std::lock_guard lock(mutex);
      copy->local_id = original->local_id;
    }
    GraphEvent cloned;
    cloned.kind = GraphEventKind::node_cloned;
    cloned.graph = handle(to);
    cloned.node = handle(copy);
    cloned.original_graph = handle(from);
    cloned.original_node = handle(original);
    emit(cloned);
    if (options.clone_before_create) created();
  }
  if (options.clone_before_create) emit(GraphEventKind::graph_created, to);
  for (const Node* original : from->nodes) {
    for (const Node* dependency : original->dependencies) {
      {
        const std::lock_guard lock(mutex);
        copies[original]->dependencies.push_back(copies[dependency]);
      }
      emit(GraphEventKind::dependency_created, to, copies[original], copies[dependency]);
    }
  }
  const std::lock_guard lock(mutex);
  to->next_local_id = from->next_local_id;
}

void Model::announce_destruction(const Graph* graph) {
  emit(GraphEventKind::graph_destroy_starting, graph);
  for (const Node* node : graph->nodes) {
    emit(GraphEventKind::node_destroy_starting, graph, node);
    for (const Graph* body : node->bodies) announce_destruction(body);
  }
}

void Model::free_node(Node* node) {
  for (Graph* body : node->bodies) free_graph(body);
  const std::lock_guard lock(mutex);
  nodes.give_back(node);
}

void Model::free_graph(Graph* graph) {
  for (Node* node : graph->nodes) free_node(node);
  const std::lock_guard lock(mutex);
  // What was made from it forgets it.
  for (const void* other : graphs.live()) {
    auto* exec = static_cast<Graph*>(const_cast<void*>(other));
    if (exec->source == graph) exec->source = nullptr;
  }
  graphs.give_back(graph);
}

GraphHandle FakeCuda::graph_create() {
  Graph* graph = model_->new_graph(false);
  model_->emit(GraphEventKind::graph_created, graph);
  return handle(graph);
}

NodeHandle FakeCuda::add_node(GraphHandle graph, NodeType type, std::span<const NodeHandle> dependencies, std::uint64_t tag) {
  return model_->add_node(graph, type, dependencies, tag);
}

NodeHandle FakeCuda::add_child(GraphHandle graph, GraphHandle child, std::span<const NodeHandle> dependencies, bool move) {
  return model_->add_child(graph, child, dependencies, move);
}

Conditional FakeCuda::add_conditional(GraphHandle graph, std::size_t bodies, std::span<const NodeHandle> dependencies) {
  return model_->add_conditional(graph, bodies, dependencies);
}

bool FakeCuda::set_template_params(NodeHandle node, std::uint64_t tag) {
  const std::lock_guard lock(model_->mutex);
  if (!model_->nodes.has(node) || to_node(node)->graph->is_exec) return false;
  to_node(node)->tag = tag;
  return true;
}

bool FakeCuda::destroy_node(NodeHandle handle_of_node) {
  Node* node = to_node(handle_of_node);
  {
    const std::lock_guard lock(model_->mutex);
    if (!model_->nodes.has(node) || node->graph->captures != 0 || node->graph->is_exec) return false;
  }
  Graph* graph = node->graph;
  model_->emit(GraphEventKind::node_destroy_starting, graph, node);
  for (Node* other : graph->nodes) {
    if (std::count(other->dependencies.begin(), other->dependencies.end(), node) == 0) continue;
    model_->emit(GraphEventKind::dependency_destroy_starting, graph, other, node);
    const std::lock_guard lock(model_->mutex);
    std::erase(other->dependencies, node);
  }
  for (const Node* dependency : node->dependencies) {
    model_->emit(GraphEventKind::dependency_destroy_starting, graph, node, dependency);
  }
  for (const Graph* body : node->bodies) model_->announce_destruction(body);
  {
    const std::lock_guard lock(model_->mutex);
    std::erase(graph->nodes, node);
  }
  model_->free_node(node);
  return true;
}

bool FakeCuda::destroy_graph(GraphHandle graph) {
  {
    const std::lock_guard lock(model_->mutex);
    if (!model_->is_template(graph) || to_graph(graph)->held || to_graph(graph)->captures != 0) return false;
  }
  model_->announce_destruction(to_graph(graph));
  model_->free_graph(to_graph(graph));
  return true;
}

GraphHandle FakeCuda::clone(GraphHandle graph) {
  {
    const std::lock_guard lock(model_->mutex);
    if (!model_->is_template(graph) || model_->has_conditional(to_graph(graph))) return nullptr;
  }
  Graph* copy = model_->new_graph(false);
  GraphEvent cloned;
  cloned.kind = GraphEventKind::graph_cloned;
  cloned.graph = handle(copy);
  cloned.original_graph = graph;
  if (model_->options.clone_before_create) model_->emit(cloned);
  model_->copy_graph(to_graph(graph), copy);
  if (!model_->options.clone_before_create) model_->emit(cloned);
  return handle(copy);
}

}  // namespace graphtag::fake
