#include "capture/callback_observer.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/unix_time.h"

namespace graphtag {
namespace {

constexpr GraphEventSet kEvents{GraphEventKind::graph_created, GraphEventKind::graph_destroy_starting,
                                GraphEventKind::graph_cloned,  GraphEventKind::node_created,
                                GraphEventKind::exec_created,  GraphEventKind::exec_destroy_starting,
                                GraphEventKind::node_cloned,   GraphEventKind::node_updated};
// The driver destroys nodes that it copied while it instantiates. That the program destroys graphs, node for node, need not be told.
constexpr GraphEventSet kEventsOfInstantiations = kEvents.with(GraphEventKind::node_destroy_starting);

}  // namespace

// By GraphEventKind; null: not asked for.
const CallbackObserver::Handler CallbackObserver::kHandlers[kGraphEventKinds] = {
    &CallbackObserver::graph_created,
    &CallbackObserver::graph_destroy_starting,
    &CallbackObserver::graph_cloned,
    nullptr,  // node_create_starting
    &CallbackObserver::node_created,
    &CallbackObserver::node_destroy_starting,
    nullptr,  // dependency_created
    nullptr,  // dependency_destroy_starting
    nullptr,  // exec_create_starting
    &CallbackObserver::exec_created,
    &CallbackObserver::exec_destroy_starting,
    &CallbackObserver::node_cloned,
    &CallbackObserver::node_updated,
    nullptr,  // node_params_set
};

DriverResult CallbackObserver::start(const Driver& driver, std::uint32_t epoch) noexcept {
  driver_.store(&driver, std::memory_order_release);
  epoch_.store(epoch, std::memory_order_release);
  period_.fetch_add(1, std::memory_order_acq_rel);
  GraphId none;
  can_ask_exec_ids_.store(driver.exec_id(nullptr, none).status != DriverStatus::missing, std::memory_order_relaxed);
  SubscriptionHandle subscription = nullptr;
  const DriverResult result = driver.subscribe(*this, kEventsOfInstantiations, subscription);
  const std::lock_guard lock(events_mutex_);
  subscription_ = subscription;
  return result;
}

void CallbackObserver::stop() noexcept {
  const Driver* driver = driver_.load(std::memory_order_acquire);
  SubscriptionHandle subscription = nullptr;
  {
    const std::lock_guard lock(events_mutex_);
    std::swap(subscription, subscription_);
    instantiations_ = 0;
    watched_ = true;
  }
  if (subscription != nullptr && !driver->unsubscribe(subscription).ok()) failures_.fetch_add(1, std::memory_order_relaxed);
  // Destructions are not seen from here on, so no handle may be kept.
  book_.clear();
  const std::lock_guard lock(execs_mutex_);
  execs_.clear();
  counted_.clear();
}

void CallbackObserver::on_graph_event(const GraphEvent& event) noexcept {
  const Handler handler = kHandlers[static_cast<std::size_t>(event.kind) % kGraphEventKinds];
  ThreadState* thread = threads_->current();
  if (handler == nullptr) return;
  if (thread != nullptr && thread->flat_period != 0) [[unlikely]] {
    if (thread->flat_period == period_.load(std::memory_order_relaxed) && event.kind != GraphEventKind::exec_created) return;
  }
  try {
    if (thread == nullptr) throw std::bad_alloc();
    (this->*handler)(*thread, event);
    if (thread->copies.has_decided()) [[unlikely]]
      keep(thread->copies.take_decided());
  } catch (...) {
    failures_.fetch_add(1, std::memory_order_relaxed);
  }
}

void CallbackObserver::on_instantiation(GraphHandle graph, bool begins) noexcept {
  ThreadState* thread = threads_->current();
  if (thread == nullptr) return;
  const std::uint32_t period = period_.load(std::memory_order_relaxed);
  if (!begins) {
    if (std::exchange(thread->nested_period, 0) == period) watch_destructions(-1);
    thread->flat_period = 0;
    return;
  }
  flush(*thread);
  GraphId id;
  const bool is_flat = can_ask_exec_ids_.load(std::memory_order_relaxed) &&
                       driver_.load(std::memory_order_relaxed)->graph_id(graph, id).ok() && book_.is_flat(id);
  (is_flat ? thread->flat_period : thread->nested_period) = period;
  watch_destructions(is_flat ? 0 : 1);
}

// Destructions of nodes are told from the beginning, as CUPTI may not tell of calls; from the first call on only while one needs them.
void CallbackObserver::watch_destructions(int more) noexcept {
  const std::lock_guard lock(events_mutex_);
  instantiations_ += more;
  const bool wanted = instantiations_ > 0;
  if (wanted == watched_ || subscription_ == nullptr) return;
  const DriverResult result =
      driver_.load(std::memory_order_relaxed)->set_events(subscription_, wanted ? kEventsOfInstantiations : kEvents);
  if (ask(result)) watched_ = wanted;
}

bool CallbackObserver::ask(DriverResult result) noexcept {
  if (!result.ok()) failures_.fetch_add(1, std::memory_order_relaxed);
  return result.ok();
}

void CallbackObserver::node_created(ThreadState& thread, const GraphEvent& event) {
  NodeId id;
  if (!ask(driver_.load(std::memory_order_relaxed)->node_id(event.node, id))) return;
  if (!thread.copies.is_settled(id.graph())) [[unlikely]] {
    const CopyWatch::Created created = thread.copies.node_created(event.node, id);
    book_.may_hold(id, created.holds);
    if (created.copy) return;
  }
  registry_->node_created(id, annotation_for(thread, id.graph()), Origin::callback);
  count_alone(thread.nodes_seen);
  if (const NodeHook hook = node_hook_.load(std::memory_order_acquire); hook != nullptr) [[unlikely]]
    hook(id);
}

AnnotationId CallbackObserver::annotation_for(ThreadState& thread, GraphId graph) {
  const std::uint32_t epoch = epoch_.load(std::memory_order_relaxed);
  const AnnotationId own = thread.scopes.current(epoch);
  const ThreadKey& creator = creator_of(thread, graph);
  if (creator.place == nullptr || creator.place == &thread.scopes) [[likely]]
    return own;
  return registry_->merge(creator.place->current_of(creator.owner, epoch), own);
}

const ThreadKey& CallbackObserver::creator_of(ThreadState& thread, GraphId graph) {
  const std::uint32_t period = period_.load(std::memory_order_relaxed);
  ThreadState::CreatorCache& cached = thread.creators[graph.value % thread.creators.size()];
  if (cached.graph != graph || cached.period != period) [[unlikely]] {
    cached = {graph, period, book_.creator(graph).value_or(ThreadKey{})};
  }
  return cached.creator;
}

void CallbackObserver::graph_created(ThreadState& thread, const GraphEvent& event) {
  GraphId id;
  if (!ask(driver_.load(std::memory_order_relaxed)->graph_id(event.graph, id))) return;
  if (!book_.created(id, event.graph, thread.key())) return;
  registry_->graph_created(id, unix_time_ns());
  thread.copies.graph_created(id);
}

// The end of cudaGraphClone.
void CallbackObserver::graph_cloned(ThreadState& thread, const GraphEvent& event) {
  graph_created(thread, event);
  GraphId id;
  if (!ask(driver_.load(std::memory_order_relaxed)->graph_id(event.graph, id))) return;
  book_.is_copy(id);
  keep(thread.copies.take_clone(id));
}

void CallbackObserver::graph_destroy_starting(ThreadState& thread, const GraphEvent& event) {
  GraphId id;
  if (!ask(driver_.load(std::memory_order_relaxed)->graph_id(event.graph, id))) return;
  thread.copies.graph_destroyed(id);
  book_.destroyed(id);
  registry_->graph_destroyed(id, unix_time_ns());
}

void CallbackObserver::node_cloned(ThreadState& thread, const GraphEvent& event) {
  const Driver& driver = *driver_.load(std::memory_order_relaxed);
  CopyWatch::Copy copy{event.node, {}, {}};
  if (!ask(driver.node_id(event.node, copy.id)) || !ask(driver.node_id(event.original_node, copy.original))) return;
  thread.copies.node_cloning(event.node);
  keep(thread.copies.take_decided());
  book_.may_hold(copy.id, thread.copies.node_cloned(copy));
}

void CallbackObserver::node_destroy_starting(ThreadState& thread, const GraphEvent& event) {
  if (!thread.copies.has_pending()) return;
  NodeId id;
  if (ask(driver_.load(std::memory_order_relaxed)->node_id(event.node, id))) thread.copies.node_destroyed(event.node, id);
}

// Nodes that the driver copied for the program: each gets what its original has. A graph that is gone was an instantiation's that
// failed.
void CallbackObserver::keep(const std::vector<CopyWatch::Copy>& copies) {
  GraphId graph;
  bool known = false;
  for (const CopyWatch::Copy& copy : copies) {
    if (copy.id.graph() != graph) {
      graph = copy.id.graph();
      known = book_.knows(graph);
      book_.is_copy(graph);
    }
    if (known) registry_->node_cloned(copy.id, copy.original);
  }
}

void CallbackObserver::exec_created(ThreadState& thread, const GraphEvent& event) {
  const Driver& driver = *driver_.load(std::memory_order_relaxed);
  GraphId template_graph, exec;
  if (!ask(driver.graph_id(event.graph, template_graph))) return;
  if (!driver.exec_id(event.exec, exec).ok()) {
    // CUPTI of CUDA 12.0: the exec graph is the copy of its template, with the copy's id.
    const std::optional<GraphId> copy = thread.copies.copy_of(template_graph);
    if (!copy) {
      failures_.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    exec = *copy;
  }
  const CopyWatch::Instantiation made = thread.copies.take_instantiation(exec);
  keep(made.older);
  // The copies that the driver made on the way were nobody's graphs.
  for (const GraphId inner : book_.take_since(exec, thread.key())) registry_->forget(inner);
  book_.is_outermost(template_graph);

  Exec facts;
  facts.handle = event.exec;
  facts.template_graph = template_graph;
  facts.template_ids = registry_->next_local_id(template_graph).value_or(0);
  std::vector<NodePairs> moved;  // top-level nodes that did not keep their ids: on no driver that was seen so far
  for (const Placed& node : place(made, exec)) {
    if (node.source.graph() != template_graph) {
      append_pairs(facts.nested, node.local, node.source);
    } else {
      facts.template_ids = std::max(facts.template_ids, node.source.local().value + 1);
      if (node.source.local() != node.local) append_pairs(moved, node.local, node.source);
    }
  }
  GraphId linked;
  for (const NodePairs& nested : facts.nested) {
    if (nested.source.graph() != linked) link_if_held(nested.source.graph());
    linked = nested.source.graph();
  }
  registry_->exec_created(exec, template_graph, unix_time_ns(), facts.template_ids, facts.nested, Origin::callback);
  if (!moved.empty()) registry_->exec_updated(exec, moved, Origin::callback);
  const std::lock_guard lock(execs_mutex_);
  execs_[exec.value] = std::move(facts);
}

// Where the copied nodes are now: nested ones got new ids since they were copied, and some were replaced by nodes that took their ids over.
std::vector<CallbackObserver::Placed> CallbackObserver::place(const CopyWatch::Instantiation& made, GraphId exec) {
  const Driver& driver = *driver_.load(std::memory_order_relaxed);
  std::vector<Placed> placed;
  placed.reserve(made.nodes.size() + made.replaced.size());
  for (const CopyWatch::Copy& copy : made.nodes) {
    NodeId id;
    if (ask(driver.node_id(copy.node, id)) && id.graph() == exec) placed.push_back({id.local(), copy.original});
  }
  for (const CopyWatch::Copy& copy : made.replaced) placed.push_back({copy.id.local(), copy.original});
  // Of a living and a replaced node with one id the living one counts.
  std::stable_sort(placed.begin(), placed.end(), [](const Placed& a, const Placed& b) { return a.local < b.local; });
  placed.erase(std::unique(placed.begin(), placed.end(), [](const Placed& a, const Placed& b) { return a.local == b.local; }),
               placed.end());
  return placed;
}

void CallbackObserver::exec_destroy_starting(ThreadState&, const GraphEvent& event) {
  GraphId id;
  const bool told = driver_.load(std::memory_order_relaxed)->exec_id(event.exec, id).ok();
  const std::lock_guard lock(execs_mutex_);
  if (!told) {
    const auto found =
        std::find_if(execs_.begin(), execs_.end(), [&](const auto& exec) { return exec.second.handle == event.exec; });
    if (found == execs_.end()) return;
    id = {found->first};
  }
  execs_.erase(id.value);
  registry_->exec_destroyed(id, unix_time_ns());
}

void CallbackObserver::node_updated(ThreadState& thread, const GraphEvent& event) {
  flush(thread);
  const Driver& driver = *driver_.load(std::memory_order_relaxed);
  NodeId exec_node, source;
  if (!ask(driver.node_id(event.node, exec_node)) || !ask(driver.node_id(event.original_node, source))) return;
  {
    const std::lock_guard lock(execs_mutex_);
    const auto exec = execs_.find(exec_node.graph().value);
    if (exec != execs_.end()) exec->second.updated[exec_node.local().value] = source;
    if (exec != execs_.end() && exec_node.local().value < exec->second.template_ids) {
      book_.is_outermost(source.graph());
    } else {
      link_if_held(source.graph());
    }
  }
  const NodePairs pair{exec_node.local(), source, 1};
  registry_->exec_updated(exec_node.graph(), {&pair, 1}, Origin::updated);
}

// `graph` was seen inside another one, which may be held itself. What is held has the higher id.
void CallbackObserver::link_if_held(GraphId graph) {
  for (std::optional<GraphBook::Holder> holder = book_.holder(graph); holder; holder = book_.holder(graph)) {
    link(graph, *holder);
    if (!(holder->node.graph() < graph)) return;
    graph = holder->node.graph();
  }
}

// False: it was known.
bool CallbackObserver::link(GraphId graph, const GraphBook::Holder& holder) {
  book_.confirm(graph, holder);
  const Registry::Link wanted{holder.node.local(), holder.index, holder.conditional, graph};
  const std::vector<Registry::Link> known = registry_->links(holder.node.graph());
  if (std::find(known.begin(), known.end(), wanted) != known.end()) return false;
  if (holder.conditional) {
    registry_->conditional_body(holder.node, holder.index, graph);
  } else {
    registry_->child_graph(holder.node, graph);
  }
  return true;
}

}  // namespace graphtag
