#include "trace/nsys/node_names.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <utility>

#include "trace/nsys/export_facts.h"
#include "trace/nsys/nvtx_ranges.h"

namespace graphtag::nsys {
namespace {

constexpr std::size_t kNodesMax = std::size_t{1} << 24;
constexpr std::size_t kOpenRangesMax = 1024;

}  // namespace

// Goes over the ranges of all threads, one thread after the other, in the order of time.
class NodeNames::Sweep {
 public:
  Sweep(Database& database, Strings& strings, AnnotationTable& annotations, Problems& problems)
      : database_(database), texts_(database, strings), annotations_(annotations), problems_(problems) {}

  Result<void> start(std::optional<std::int64_t> process) {
    if (Result<void> read = texts_.read(process); !read) return read;
    if (!database_.has("NVTX_EVENTS", "start") || !database_.has("NVTX_EVENTS", "globalTid")) return {};
    std::string rest = "WHERE " + is_of_process(database_, "NVTX_EVENTS", "globalTid", process);
    if (database_.has("NVTX_EVENTS", "eventType")) {
      rest += " AND [eventType] IN (" + std::to_string(nvtx_push_pop) + "," + std::to_string(nvtx_start_end) + ")";
    }
    // Of two that began at once the longer one is around the other.
    rest += " ORDER BY [globalTid], [start], ";
    if (database_.has("NVTX_EVENTS", "end")) rest += "coalesce([end], 9223372036854775807) DESC, ";
    Result<Rows> rows = nvtx_rows(database_, rest + "rowid");
    if (!rows) return rows.error();
    rows_ = *std::move(rows);
    return advance();
  }

  // What is open on `thread` at `time_ns`. Asked in the order of threads, then times.
  Result<AnnotationId> open_at(std::int64_t thread, std::int64_t time_ns) {
    if (thread != thread_) open_.clear();
    thread_ = thread;
    while (next_ && std::tie(next_->thread, next_->start_ns) <= std::tie(thread, time_ns)) {
      if (next_->thread == thread && next_->end_ns > time_ns) {
        if (Result<void> pushed = push(); !pushed) return pushed.error();
      }
      if (Result<void> advanced = advance(); !advanced) return advanced.error();
    }
    std::erase_if(open_, [time_ns](const Range& range) { return range.end_ns <= time_ns; });
    AnnotationId merged = AnnotationId::none;
    for (const Range& range : open_) merged = annotations_.merge(merged, range.annotation);
    return merged;
  }

 private:
  struct Range {
    std::int64_t thread = 0;
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    AnnotationId annotation = AnnotationId::none;
    bool in_domain = false;  // in one with a name, or within a range that is
    std::int64_t domain = 0;
    std::optional<std::int64_t> category_domain = {};  // whose category it has, of its own or of a range around it
  };

  Result<void> push() {
    // Those that ended since stay until then, so that they are looked for once a node, not once a range.
    std::erase_if(open_, [this](const Range& range) { return range.end_ns <= next_->start_ns; });
    if (open_.size() >= kOpenRangesMax) {
      problems_.add(ProblemKind::deep_ranges, static_cast<std::uint64_t>(rows_.integer(NvtxColumns::row).value_or(0)),
                    "NVTX_EVENTS: more than 1024 ranges open at once on one thread");
      return {};
    }
    Result<Json> object = texts_.annotation(rows_);
    if (!object) return object.error();
    // Within a range of a domain the default one is named, or the outer one's name would show through.
    const bool within = !open_.empty() && open_.back().in_domain;
    if (within && !object->contains("nvtx_domain")) (*object)["nvtx_domain"] = "default";
    next_->in_domain = object->contains("nvtx_domain");
    // A category is one of its domain's: within another domain it is taken back, with NVTX's number for none.
    next_->domain = rows_.integer(NvtxColumns::domain).value_or(0);
    if (!open_.empty()) next_->category_domain = open_.back().category_domain;
    if (object->contains("nvtx_category")) {
      next_->category_domain = next_->domain;
    } else if (next_->category_domain && next_->category_domain != next_->domain) {
      (*object)["nvtx_category"] = 0;
      next_->category_domain.reset();
    }
    const Result<AnnotationId> id = annotations_.intern(*std::move(object));
    if (!id) return {};
    next_->annotation = *id;
    open_.push_back(*next_);
    return {};
  }

  Result<void> advance() {
    next_.reset();
    for (;;) {
      const Result<bool> more = rows_.next();
      if (!more) return more.error();
      if (!*more) return {};
      const auto start = rows_.integer(NvtxColumns::start);
      const auto thread = rows_.integer(NvtxColumns::global_tid);
      if (!start || !thread) continue;
      // A range without an end was open to the end of the recording.
      next_ = Range{*thread, *start, rows_.integer(NvtxColumns::end).value_or(std::numeric_limits<std::int64_t>::max())};
      return {};
    }
  }

  Database& database_;
  NvtxTexts texts_;
  AnnotationTable& annotations_;
  Problems& problems_;
  Rows rows_;
  std::optional<Range> next_;  // the row that rows_ stands at
  std::int64_t thread_ = 0;
  std::vector<Range> open_;  // on thread_, outermost first
};

Result<NodeNames> NodeNames::read(Database& database, Strings& strings, std::optional<std::int64_t> process, Problems& problems) {
  constexpr std::string_view kTable = "CUDA_GRAPH_NODE_EVENTS";
  NodeNames names;
  if (!database.has(kTable, "graphNodeId")) return names;
  Sweep sweep(database, strings, *names.annotations_, problems);
  if (Result<void> started = sweep.start(process); !started) return started.error();

  std::string order = "WHERE " + is_of_process(database, kTable, "globalTid", process) + " ORDER BY ";
  if (database.has(kTable, "globalTid")) order += "[globalTid], ";
  if (database.has(kTable, "start")) order += "[start], ";
  Result<Rows> rows = database.rows(kTable, {"graphNodeId", "originalGraphNodeId", "start", "globalTid"}, order + "rowid");
  if (!rows) return rows.error();
  for (;;) {
    const Result<bool> more = rows->next();
    if (!more) return more.error();
    if (!*more) break;
    const auto id = rows->integer(0);
    if (!id) continue;
    Node node;
    node.id = static_cast<std::uint64_t>(*id);
    node.original = static_cast<std::uint64_t>(rows->integer(1).value_or(0));
    if (node.original == node.id) node.original = 0;
    node.row = static_cast<std::uint64_t>(rows->integer(4).value_or(0));
    const auto start = rows->integer(2);
    const auto thread = rows->integer(3);
    if (node.original == 0) {
      node.settled = true;
      if (start && thread) {
        const Result<AnnotationId> open = sweep.open_at(*thread, *start);
        if (!open) return open.error();
        node.annotation = *open;
        node.origin = *open == AnnotationId::none ? Origin::outside_scope : Origin::callback;
      }
    }
    if (names.nodes_.size() == kNodesMax) {
      return Error{ErrorCode::too_large, "it has more than 16 million graph nodes; record a shorter stretch", {}, {}};
    }
    names.nodes_.push_back(node);
  }
  // Of several rows of one node that of its creation counts: one without an original, the first by thread and time.
  std::stable_sort(names.nodes_.begin(), names.nodes_.end(), [](const Node& a, const Node& b) {
    return std::tuple(a.id, a.original != 0) < std::tuple(b.id, b.original != 0);
  });
  const auto same = [](const Node& a, const Node& b) { return a.id == b.id; };
  names.nodes_.erase(std::unique(names.nodes_.begin(), names.nodes_.end(), same), names.nodes_.end());
  names.settle(problems);
  return names;
}

std::size_t NodeNames::index_of(std::uint64_t id) const {
  const auto before = [](const Node& node, std::uint64_t wanted) { return node.id < wanted; };
  const auto found = std::lower_bound(nodes_.begin(), nodes_.end(), id, before);
  return found != nodes_.end() && found->id == id ? static_cast<std::size_t>(found - nodes_.begin()) : nodes_.size();
}

// Gives every copy what its original has.
void NodeNames::settle(Problems& problems) {
  std::vector<std::size_t> chain;
  std::vector<bool> in_chain(nodes_.size());
  for (std::size_t first = 0; first < nodes_.size(); ++first) {
    chain.clear();
    std::size_t at = first;
    while (at != nodes_.size() && !nodes_[at].settled && !in_chain[at]) {
      in_chain[at] = true;
      chain.push_back(at);
      at = index_of(nodes_[at].original);
    }
    // A circle has no beginning, and an original that is not there was made before the recording began.
    Resolution found{AnnotationId::none, Origin::captured_before_start};
    if (at != nodes_.size() && nodes_[at].settled) {
      found = {nodes_[at].annotation, nodes_[at].origin};
    } else if (at != nodes_.size()) {
      problems.add(ProblemKind::node_cycle, nodes_[at].row,
                   "CUDA_GRAPH_NODE_EVENTS: node " + std::to_string(nodes_[at].id) + " is a copy of itself");
    }
    for (const std::size_t copy : chain) {
      nodes_[copy].annotation = found.annotation;
      nodes_[copy].origin = found.origin;
      nodes_[copy].settled = true;
    }
  }
}

Resolution NodeNames::resolve(std::uint64_t node_id) const {
  const std::size_t index = index_of(node_id);
  if (index == nodes_.size()) return {AnnotationId::none, Origin::captured_before_start};
  return {nodes_[index].annotation, nodes_[index].origin};
}

}  // namespace graphtag::nsys
