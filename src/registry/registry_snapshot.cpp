// Registry::snapshot: everything known, in the form that is written to a file.
#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "registry/registry.h"
#include "registry/registry_state.h"

namespace graphtag {
namespace {

// The ids of the registry's annotations in the file's own table.
class FileAnnotations {
 public:
  FileAnnotations(const SharedAnnotations& from, AnnotationTable& to) : from_(&from), to_(&to) {}

  AnnotationId operator[](AnnotationId id) {
    if (id == AnnotationId::none) return id;
    const auto [entry, is_new] = ids_.try_emplace(static_cast<std::uint32_t>(id), AnnotationId::none);
    if (is_new) {
      const Annotation& annotation = (*from_)[id];
      const Result<AnnotationId> copied = to_->intern(Json(*annotation.object), annotation.path);
      if (copied) entry->second = *copied;  // it was accepted once, so it is again
    }
    return entry->second;
  }

 private:
  const SharedAnnotations* from_;
  AnnotationTable* to_;
  boost::unordered_flat_map<std::uint32_t, AnnotationId> ids_;  // the registry's -> the file's
};

struct Shown {
  GraphLog::Facts facts;
  Tag outer;  // laid under all its nodes
  bool is_being_counted = false;
};
using ShownMap = boost::unordered_flat_map<std::uint32_t, Shown>;  // graph id -> what is known of it

// The nodes of a graph that make GPU records: in it and its child graphs, and in conditional bodies, which may not run.
struct CountedNodes {
  std::optional<NodeCounts> always;  // nothing if the count of the graph or of a child graph is not known
  NodeCounts in_bodies;
};

void add(NodeCounts& sum, const NodeCounts& counts) {
  sum.kernels += counts.kernels;
  sum.memcpys += counts.memcpys;
  sum.memsets += counts.memsets;
}

// Graphs are read one after the other, so links that changed meanwhile may seem to form a circle: it is cut.
CountedNodes count_nodes(ShownMap& all, GraphId graph) {
  const auto found = all.find(graph.value);
  if (found == all.end() || found->second.is_being_counted) return {};
  Shown& shown = found->second;
  shown.is_being_counted = true;
  CountedNodes counted{.always = shown.facts.node_counts, .in_bodies = {}};
  for (const Registry::Link& link : shown.facts.links) {
    const CountedNodes held = count_nodes(all, link.held);
    add(counted.in_bodies, held.in_bodies);
    if (link.conditional) {
      if (held.always) add(counted.in_bodies, *held.always);
    } else if (counted.always && held.always) {
      add(*counted.always, *held.always);
    } else {
      counted.always.reset();
    }
  }
  shown.is_being_counted = false;
  return counted;
}

void append_run(std::vector<Run>& runs, const Run& run) {
  const bool goes_on = !runs.empty() && runs.back().annotation == run.annotation && runs.back().origin == run.origin;
  if (!goes_on) runs.push_back(run);
}

ExecRecord to_record(GraphId id, const ExecTable::Facts& facts, FileAnnotations& annotations) {
  ExecRecord record;
  record.id = id;
  if (facts.basis.built_from) record.template_graph = facts.basis.built_from->id();
  record.template_ids = facts.basis.template_ids;
  record.created_ns = facts.created_ns;
  record.destroyed_ns = facts.destroyed_ns;
  const RunList& placement = facts.basis.placement;
  const auto append = [&](std::uint32_t first, std::uint32_t, Tag tag) {
    append_run(record.placement, {{first}, annotations[tag.annotation()], tag.origin()});
  };
  placement.for_each_in(record.template_ids, placement.end(), append);
  append(std::max(record.template_ids, placement.end()), 0, Tag{Origin::unlinked_body});
  for (const ExecTable::Override& entry : facts.overrides) {
    record.overrides.push_back({{entry.first}, annotations[entry.tag.annotation()], entry.tag.origin()});
  }
  return record;
}

}  // namespace

Result<AnnotationFile> Registry::snapshot(bool live_only) const noexcept {
  try {
    State& state = *state_;
    AnnotationFile file;
    file.format = "graphtag.annotations/1";
    FileAnnotations annotations(state.annotations, file.annotations);

    // Exec graphs first: the template of each is there before it.
    std::vector<std::shared_ptr<GraphLog>> templates;
    for (const auto& table : state.execs.all()) {
      if (live_only && !table->is_open()) continue;
      const ExecTable::Facts facts = table->facts();
      if (facts.basis.built_from) templates.push_back(facts.basis.built_from);
      file.execs.push_back(to_record(table->id(), facts, annotations));
    }
    ShownMap graphs;
    std::vector<GraphId> ids;
    const auto take = [&](const GraphLog& log) {
      if (graphs.contains(log.id().value)) return;
      graphs.emplace(log.id().value, Shown{log.facts(), state.shown_holders_tag(log)});
      ids.push_back(log.id());
    };
    for (const auto& log : state.graphs.all()) {
      if (!live_only || log->is_open()) take(*log);
    }
    // Destroyed and dropped ones may still be needed.
    for (const auto& log : templates) take(*log);
    std::sort(ids.begin(), ids.end());

    for (const GraphId id : ids) {
      Shown& shown = graphs.at(id.value);
      GraphLog::Facts& facts = shown.facts;
      GraphRecord& record = file.graphs.emplace_back();
      record.id = id;
      record.label = std::move(facts.label);
      record.created_ns = facts.created_ns;
      record.destroyed_ns = facts.destroyed_ns;
      const CountedNodes counted = count_nodes(graphs, id);
      record.nodes = counted.always;
      record.body_nodes = counted.in_bodies;
      for (const TagSpan& span : facts.spans) {
        const Tag tag = state.laid_over(shown.outer, span.tag);
        append_run(record.runs, {{span.first}, annotations[tag.annotation()], tag.origin()});
      }
    }
    return file;
  } catch (...) {
    count_one(state_->ledger.lost);
    return Error{ErrorCode::too_large, "not enough memory for a snapshot; call forget after each export", {}, {}};
  }
}

}  // namespace graphtag
