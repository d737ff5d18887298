#include "capture/copy_watch.h"

#include <algorithm>

namespace graphtag {
namespace {

// Graphs beyond this, on one thread, without a node after them: the oldest are no longer taken for held ones.
constexpr std::size_t kFreshGraphs = 4096;
// The memory for copies of a usual graph is kept for the thread's next one.
constexpr std::size_t kUsualNodes = 65536;

}  // namespace

void CopyWatch::graph_created(GraphId graph) {
  decide();
  settled_ = {};
  if (fresh_.size() >= kFreshGraphs) fresh_.erase(fresh_.begin());
  fresh_.push_back({graph});
}

void CopyWatch::graph_destroyed(GraphId graph) noexcept {
  if (settled_ == graph) settled_ = {};
  std::erase_if(fresh_, [&](const Fresh& fresh) { return fresh.graph == graph; });
}

bool CopyWatch::is_copy(GraphId graph) const noexcept {
  return std::find(copies_.begin(), copies_.end(), graph) != copies_.end();
}

CopyWatch::Created CopyWatch::node_created(NodeHandle node, NodeId id) {
  decide();
  Created result;
  if (nodes_.contains(node)) {
    clones_first_ = true;
    result.copy = true;
  } else {
    result.copy = !clones_first_ && is_copy(id.graph());
  }

  const auto is_newer = [&](const Fresh& fresh) { return id.graph() < fresh.graph; };
  for (const Fresh& fresh : fresh_) {
    if (is_newer(fresh) && !fresh.started) result.holds.push_back(fresh.graph);
  }
  std::erase_if(fresh_, is_newer);

  last_ = node;
  last_id_ = id;
  last_holds_ = result.holds;
  if (result.copy) return result;
  undecided_ =
      std::any_of(fresh_.begin(), fresh_.end(), [&](const Fresh& fresh) { return fresh.graph == id.graph() && !fresh.started; });
  if (undecided_) return result;
  decided_.insert(decided_.end(), result.holds.begin(), result.holds.end());
  settled_ = id.graph();
  return result;
}

// The event after an undecided node was not its node_cloned: the program created it.
void CopyWatch::decide() {
  if (!undecided_) return;
  undecided_ = false;
  for (Fresh& fresh : fresh_) {
    if (fresh.graph == last_id_.graph()) fresh.started = true;
  }
  decided_.insert(decided_.end(), last_holds_.begin(), last_holds_.end());
}

void CopyWatch::node_cloning(NodeHandle node) {
  if (last_ != node) decide();
}

std::vector<GraphId> CopyWatch::node_cloned(const Copy& copy) {
  std::vector<GraphId> holds;
  if (last_ == copy.node) {
    undecided_ = false;
    holds.swap(last_holds_);
  }
  last_ = nullptr;
  settled_ = {};
  if (!is_copy(copy.id.graph())) copies_.push_back(copy.id.graph());
  nodes_[copy.node] = copy;
  return holds;
}

void CopyWatch::node_destroyed(NodeHandle node, NodeId id) {
  if (nodes_.empty()) return;
  const auto found = nodes_.find(node);
  if (found == nodes_.end()) return;
  gone_.push_back({node, id, found->second.original});
  nodes_.erase(found);
}

template <typename Wanted>
std::vector<CopyWatch::Copy> CopyWatch::take(Wanted wanted) {
  std::vector<Copy> taken;
  for (const auto& [node, copy] : nodes_) {
    if (wanted(copy.id.graph())) taken.push_back(copy);
  }
  std::sort(taken.begin(), taken.end(), [](const Copy& a, const Copy& b) { return a.id < b.id; });
  if (taken.size() == nodes_.size()) {
    if (nodes_.size() > kUsualNodes) {
      nodes_ = {};
    } else {
      nodes_.clear();
    }
  } else {
    for (const Copy& copy : taken) nodes_.erase(copy.node);
  }
  std::erase_if(copies_, wanted);
  if (nodes_.empty()) gone_.clear();
  return taken;
}

std::vector<CopyWatch::Copy> CopyWatch::take_decided() {
  if (decided_.empty()) return {};
  // What is nested in a copied child graph came up after it.
  const GraphId oldest = *std::min_element(decided_.begin(), decided_.end());
  decided_.clear();
  if (nodes_.empty()) return {};
  return take([&](GraphId graph) { return oldest <= graph; });
}

std::vector<CopyWatch::Copy> CopyWatch::take_clone(GraphId graph) {
  decide();
  settled_ = {};
  for (Fresh& fresh : fresh_) fresh.started = fresh.started || fresh.graph == graph;
  return take([&](GraphId copied) { return graph <= copied; });
}

std::vector<CopyWatch::Copy> CopyWatch::take_all() {
  decide();
  settled_ = {};
  decided_.clear();
  return take([](GraphId) { return true; });
}

CopyWatch::Instantiation CopyWatch::take_instantiation(GraphId exec) {
  undecided_ = false;
  settled_ = {};
  decided_.clear();
  std::erase_if(fresh_, [&](const Fresh& fresh) { return exec <= fresh.graph; });
  Instantiation result;
  for (const Copy& copy : gone_) {
    if (copy.id.graph() == exec) result.replaced.push_back(copy);
  }
  result.nodes = take([&](GraphId graph) { return exec <= graph; });
  result.older = take([](GraphId) { return true; });
  return result;
}

std::optional<GraphId> CopyWatch::copy_of(GraphId template_graph) const noexcept {
  std::optional<GraphId> newest;
  for (const auto& [node, copy] : nodes_) {
    if (copy.original.graph() == template_graph && (!newest || *newest < copy.id.graph())) newest = copy.id.graph();
  }
  return newest;
}

}  // namespace graphtag
