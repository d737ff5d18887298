// Exec graphs: instantiation with its numbering of nested nodes, updates, replays.
#include <algorithm>

#include "tests/fake/model.h"

namespace graphtag::fake {
namespace {

bool makes_record(NodeType type) {
  return type == NodeType::kernel || type == NodeType::memcpy || type == NodeType::memset;
}

// Nodes for which an exec graph has no use.
bool is_idle(NodeType type) {
  return type == NodeType::empty || type == NodeType::memory_alloc || type == NodeType::memory_free;
}

ExecItem* find_item(std::vector<ExecItem>& items, const Node* source) {
  for (ExecItem& item : items) {
    if (item.source == source) return &item;
    for (auto& body : item.bodies) {
      if (ExecItem* found = find_item(body, source); found != nullptr) return found;
    }
  }
  return nullptr;
}

// Idle nodes are gone from an exec graph (null), so any idle node fits there.
bool same_shape(const std::vector<ExecItem>& items, const Graph* graph) {
  if (items.size() != graph->nodes.size()) return false;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Node* node = graph->nodes[i];
    if (items[i].bodies.size() != node->bodies.size()) return false;
    const bool idle = items[i].node == nullptr;
    if (node->type != NodeType::child_graph && (idle ? !is_idle(node->type) : items[i].node->type != node->type)) return false;
    for (std::size_t b = 0; b < node->bodies.size(); ++b) {
      if (!same_shape(items[i].bodies[b], node->bodies[b])) return false;
    }
  }
  return true;
}

void append_records(std::uint32_t exec_id, const std::vector<ExecItem>& items,
                    const std::function<bool(NodeHandle node, std::size_t body)>& runs, std::vector<Record>& records) {
  for (const ExecItem& item : items) {
    if (item.node != nullptr && makes_record(item.node->type)) {
      records.push_back({NodeId(GraphId{exec_id}, LocalId{item.node->local_id}), item.node->type, item.node->tag});
    }
    // A child-graph node is gone from the exec graph; a conditional stays.
    const bool conditional = item.node != nullptr && item.node->type == NodeType::conditional;
    for (std::size_t i = 0; i < item.bodies.size(); ++i) {
      if (!conditional || runs == nullptr || runs(handle(item.source), i)) append_records(exec_id, item.bodies[i], runs, records);
    }
  }
}

std::size_t count_bodies(const std::vector<ExecItem>& items) {
  std::size_t count = 0;
  for (const ExecItem& item : items) {
    if (item.node != nullptr && item.node->type == NodeType::conditional) count += item.bodies.size();
    for (const auto& body : item.bodies) count += count_bodies(body);
  }
  return count;
}

void forget_node(std::vector<ExecItem>& items, const Node* node) {
  for (ExecItem& item : items) {
    if (item.node == node) item.node = nullptr;
    for (auto& body : item.bodies) forget_node(body, node);
  }
}

}  // namespace

// The driver's own second copy: its nodes come to be, but only those that hold graphs are reported as created.
void Model::copy_innerly(const Graph* from, Graph* to) {
  emit(GraphEventKind::graph_created, to);
  for (const Node* original : from->nodes) {
    Node* copy = new_node(to, original->type, original->tag);
    {
      const std::lock_guard lock(mutex);
      copy->local_id = original->local_id;
    }
    emit(GraphEventKind::node_create_starting, to, copy);
    for (const Graph* body : original->bodies) {
      Graph* body_copy = new_graph(true);
      copy_innerly(body, body_copy);
      const std::lock_guard lock(mutex);
      copy->bodies.push_back(body_copy);
    }
    {
      const std::lock_guard lock(mutex);
      to->nodes.push_back(copy);
    }
    if (!copy->bodies.empty()) emit(GraphEventKind::node_created, to, copy);
  }
  for (std::size_t i = 0; i < from->nodes.size(); ++i) {
    for (const Node* dependency : from->nodes[i]->dependencies) {
      const auto at = std::find(from->nodes.begin(), from->nodes.end(), dependency) - from->nodes.begin();
      emit(GraphEventKind::dependency_created, to, to->nodes[i], to->nodes[static_cast<std::size_t>(at)]);
    }
  }
}

std::vector<ExecItem> Model::pair_items(const Graph* source, const Graph* copy) {
  std::vector<ExecItem> items;
  for (std::size_t i = 0; i < source->nodes.size(); ++i) {
    ExecItem item{copy->nodes[i], source->nodes[i], {}};
    for (std::size_t b = 0; b < source->nodes[i]->bodies.size(); ++b) {
      item.bodies.push_back(pair_items(source->nodes[i]->bodies[b], copy->nodes[i]->bodies[b]));
    }
    items.push_back(std::move(item));
  }
  return items;
}

// Takes the nodes of the graphs that `graph`'s nodes hold into the exec graph, numbered on: for each holder the nodes of its
// bodies in order, then what is nested in the bodies, last body first. Child-graph nodes and the graphs themselves go.
void Model::flatten(Graph* graph, Graph* image) {
  const std::vector<Node*> snapshot = graph->nodes;
  for (Node* holder : snapshot) {
    if (holder->bodies.empty()) continue;
    for (Graph* body : holder->bodies) {
      const std::lock_guard lock(mutex);
      for (Node* node : body->nodes) {
        node->graph = image;
        node->local_id = image->next_local_id++;
      }
    }
    if (holder->type == NodeType::child_graph) emit(GraphEventKind::node_destroy_starting, image, holder);
    for (Graph* body : holder->bodies) emit(GraphEventKind::graph_destroy_starting, body);
    for (auto body = holder->bodies.rbegin(); body != holder->bodies.rend(); ++body) flatten(*body, image);
    const std::lock_guard lock(mutex);
    for (Graph* body : holder->bodies) {
      if (body != graph) image->nodes.insert(image->nodes.end(), body->nodes.begin(), body->nodes.end());
      graphs.give_back(body);
    }
    holder->bodies.clear();
    if (holder->type == NodeType::child_graph) {
      forget_node(image->items, holder);
      std::erase(graph->nodes, holder);
      std::erase(image->nodes, holder);
      nodes.give_back(holder);
    }
  }
}

void Model::drop_idle_nodes(Graph* image) {
  const std::vector<Node*> snapshot = image->nodes;
  for (Node* node : snapshot) {
    if (!is_idle(node->type)) continue;
    emit(GraphEventKind::node_destroy_starting, image, node);
    const std::lock_guard lock(mutex);
    forget_node(image->items, node);
    for (Node* other : image->nodes) std::erase(other->dependencies, node);
    std::erase(image->nodes, node);
    nodes.give_back(node);
  }
}

void Model::add_extra_nodes(Graph* image) {
  const std::size_t bodies = count_bodies(image->items);
  if (!options.extra_nodes || bodies == 0) return;
  for (std::size_t i = 0; i <= bodies; ++i) {
    Node* node = new_node(image, NodeType::empty, 0);
    emit(GraphEventKind::node_create_starting, image, node);
    {
      const std::lock_guard lock(mutex);
      image->nodes.push_back(node);
    }
    emit(GraphEventKind::node_created, image, node);
  }
}

ExecHandle FakeCuda::instantiate(GraphHandle graph) {
  model_->tell_of_call(graph, true);
  const ExecHandle exec = instantiate_in_call(graph);
  model_->tell_of_call(graph, false);
  return exec;
}

ExecHandle FakeCuda::instantiate_in_call(GraphHandle graph) {
  Graph* source = to_graph(graph);
  bool conditional = false;
  {
    const std::lock_guard lock(model_->mutex);
    if (!model_->is_template(graph) || source->held || source->captures != 0) return nullptr;
    conditional = model_->has_conditional(source);
    if (conditional && source->conditional_execs != 0) return nullptr;
    if (conditional) source->conditional_execs = 1;
  }
  Graph* image = model_->new_graph(false);
  model_->copy_graph(source, image);
  Graph* inner = model_->new_graph(true);
  model_->copy_innerly(source, inner);
  {
    const std::lock_guard lock(model_->mutex);
    image->is_exec = true;
    image->source = source;
    image->inner = inner;
    image->items = model_->pair_items(source, image);
  }
  GraphEvent event;
  event.graph = graph;
  event.kind = GraphEventKind::exec_create_starting;
  model_->emit(event);
  model_->flatten(image, image);
  model_->drop_idle_nodes(image);
  model_->add_extra_nodes(image);
  event.kind = GraphEventKind::exec_created;
  event.exec = exec_handle(image);
  model_->emit(event);
  return exec_handle(image);
}

bool FakeCuda::destroy_exec(ExecHandle exec) {
  Graph* image = to_graph(exec);
  {
    const std::lock_guard lock(model_->mutex);
    if (!model_->graphs.has(image) || !image->is_exec) return false;
    if (image->source != nullptr) image->source->conditional_execs = 0;
  }
  GraphEvent event;
  event.kind = GraphEventKind::exec_destroy_starting;
  event.exec = exec;
  model_->emit(event);
  model_->emit(GraphEventKind::graph_destroy_starting, image);
  model_->announce_destruction(image->inner);
  for (const Node* node : image->nodes) model_->emit(GraphEventKind::node_destroy_starting, image, node);
  model_->free_graph(image->inner);
  model_->free_graph(image);
  return true;
}

namespace {

// The last node first.
void update_items(Model& model, const Graph* image, std::vector<ExecItem>& items, const Graph* graph) {
  for (std::size_t i = items.size(); i-- > 0;) {
    const Node* node = graph->nodes[i];
    // CUPTI is silent about nodes whose parameters stay the same.
    if (items[i].node != nullptr && makes_record(node->type) && items[i].node->tag != node->tag) {
      {
        const std::lock_guard lock(model.mutex);
        items[i].node->tag = node->tag;
      }
      GraphEvent event;
      event.kind = GraphEventKind::node_updated;
      event.exec = exec_handle(image);
      event.node = handle(items[i].node);
      event.original_node = handle(node);
      model.emit(event);
      if (node->type == NodeType::kernel && image->source != nullptr) {
        event.kind = GraphEventKind::node_params_set;
        event.original_node = handle(items[i].source);
        event.original_graph = handle(items[i].source->graph);
        model.emit(event);
      }
    }
    for (std::size_t b = 0; b < node->bodies.size(); ++b) update_items(model, image, items[i].bodies[b], node->bodies[b]);
  }
}

}  // namespace

bool FakeCuda::update(ExecHandle exec, GraphHandle graph) {
  Graph* image = to_graph(exec);
  {
    const std::lock_guard lock(model_->mutex);
    if (!model_->graphs.has(image) || !image->is_exec || !model_->is_template(graph)) return false;
    if (!same_shape(image->items, to_graph(graph))) return false;
  }
  update_items(*model_, image, image->items, to_graph(graph));
  return true;
}

bool FakeCuda::set_params(ExecHandle exec, NodeHandle template_node, std::uint64_t tag) {
  Graph* image = to_graph(exec);
  GraphEvent event;
  {
    const std::lock_guard lock(model_->mutex);
    if (!model_->graphs.has(image) || !image->is_exec || !model_->nodes.has(template_node)) return false;
    ExecItem* item = find_item(image->items, to_node(template_node));
    if (item == nullptr || item->node == nullptr) return false;
    item->node->tag = tag;
    event.kind = GraphEventKind::node_params_set;
    event.exec = exec;
    event.node = handle(item->node);
    event.original_node = template_node;
    event.original_graph = handle(to_node(template_node)->graph);
  }
  model_->emit(event);
  return true;
}

std::vector<Record> FakeCuda::replay(ExecHandle exec, const std::function<bool(NodeHandle node, std::size_t body)>& runs) {
  const std::lock_guard lock(model_->mutex);
  std::vector<Record> records;
  const Graph* image = to_graph(exec);
  if (model_->graphs.has(image) && image->is_exec) append_records(image->id, image->items, runs, records);
  return records;
}

}  // namespace graphtag::fake
