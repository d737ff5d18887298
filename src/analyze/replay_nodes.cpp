#include "analyze/replay_nodes.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "analyze/operation_order.h"

namespace graphtag {

bool shows_node(const GpuOperation& operation) {
  return operation.replay != kNoReplay && operation.origin != Origin::no_node_id && operation.origin != Origin::graph_level_trace;
}

namespace {

// Distinct nodes by replay. Replays of one exec graph run one after the other, so it is enough to remember of each node the replay that it was seen in
// last. Nothing if they do not (wrong clocks, hostile files).
std::optional<std::vector<std::uint32_t>> count_in_sequence(const OperationTable& table) {
  std::vector<std::uint32_t> seen(table.replays.size());
  boost::unordered_flat_map<GraphId, std::uint32_t, std::hash<GraphId>> current;  // graph -> replay that its last record was of
  boost::unordered_flat_map<NodeId, std::uint32_t, std::hash<NodeId>> last_seen;  // node -> replay
  std::uint32_t previous = kNoReplay;
  for (const GpuOperation& operation : table.operations) {
    if (!shows_node(operation)) continue;
    const GraphId graph = table.replays[operation.replay].graph;
    if (operation.replay != previous) {
      previous = operation.replay;
      const auto [now, is_new] = current.try_emplace(graph, operation.replay);
      if (!is_new && now->second != operation.replay && seen[operation.replay] != 0) return {};
      now->second = operation.replay;
    }
    const auto [node, is_new] = last_seen.try_emplace(NodeId(graph, LocalId{operation.local_id}), operation.replay);
    if (is_new || std::exchange(node->second, operation.replay) != operation.replay) ++seen[operation.replay];
  }
  return seen;
}

std::vector<std::uint32_t> count_by_sorting(OperationTable& table) {
  std::vector<std::uint32_t> seen(table.replays.size());
  std::sort(table.operations.begin(), table.operations.end(), [](const GpuOperation& a, const GpuOperation& b) {
    return std::tie(a.replay, a.local_id) < std::tie(b.replay, b.local_id);
  });
  std::optional<std::pair<std::uint32_t, std::uint32_t>> previous;
  for (const GpuOperation& operation : table.operations) {
    if (!shows_node(operation)) continue;
    const std::pair node{operation.replay, operation.local_id};
    if (previous != node) ++seen[operation.replay];
    previous = node;
  }
  sort_by_start(table.operations);
  return seen;
}

}  // namespace

std::vector<GraphReplays> count_replay_nodes(OperationTable& table, const std::vector<bool>* only) {
  std::optional<std::vector<std::uint32_t>> seen = count_in_sequence(table);
  if (!seen) seen = count_by_sorting(table);

  std::vector<std::uint32_t> by_graph;  // replays
  for (std::uint32_t replay = 0; replay < table.replays.size(); ++replay) {
    if (only == nullptr || (*only)[replay]) by_graph.push_back(replay);
  }
  std::sort(by_graph.begin(), by_graph.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::tie(table.replays[a].graph, (*seen)[a]) < std::tie(table.replays[b].graph, (*seen)[b]);
  });
  std::vector<GraphReplays> graphs;
  for (std::size_t begin = 0; begin < by_graph.size();) {
    std::size_t end = begin;
    const GraphId graph = table.replays[by_graph[begin]].graph;
    while (end < by_graph.size() && table.replays[by_graph[end]].graph == graph) ++end;
    GraphReplays counted{graph, end - begin, (*seen)[by_graph[begin]], (*seen)[by_graph[end - 1]], (*seen)[by_graph[end - 1]], 0};
    const GraphRecord* record = table.annotations.graph_of(graph);
    if (record != nullptr && record->nodes) counted.nodes_expected = record->nodes->total();
    // A graph that shows no nodes at all was not recorded node by node: nothing was dropped.
    for (std::size_t i = begin; counted.nodes_seen_max != 0 && i < end; ++i)
      counted.short_replays += (*seen)[by_graph[i]] < counted.nodes_expected ? 1 : 0;
    graphs.push_back(counted);
    begin = end;
  }
  return graphs;
}

}  // namespace graphtag
