#include "analyze/check.h"

#include <algorithm>

#include "analyze/operation_order.h"
#include "analyze/record_classes.h"
#include "analyze/saturating.h"
#include "analyze/union_length.h"

namespace graphtag {
namespace {

std::optional<double> fraction(double part, double whole) {
  if (whole <= 0) return {};
  return part / whole;
}

std::string percent(double fraction) {
  std::string text = std::to_string(fraction * 100);
  return text.substr(0, text.find('.') + 3) + "%";
}

std::string what_is_missing(const OperationTable& table, const CheckReport& report) {
  std::string missing;
  const auto add = [&missing](const std::string& what) { missing += (missing.empty() ? "" : ", ") + what; };
  if (report.short_replays != 0) {
    add(std::to_string(report.short_replays) + " of " + std::to_string(report.replays) +
        " replays show fewer nodes than expected");
  }
  if (table.read.problems[ProblemKind::truncated].count != 0) add("the trace is cut off");
  if (table.read.problems[ProblemKind::damaged_gzip].count != 0) add("the trace's gzip stream is damaged");
  if (table.bad_times != 0) add(std::to_string(table.bad_times) + " GPU records have no usable time");
  return missing;
}

void judge(const OperationTable& table, double min_time, CheckReport& report) {
  const std::string gate = "--min-time " + percent(min_time);
  const auto say = [&](CheckVerdict verdict, const std::string& reason) {
    report.verdict = verdict;
    report.verdict_reason = gate + ": " + reason;
  };
  std::uint64_t named = report.outside_named;
  for (const GraphCheck& graph : report.graphs) named += graph.named;
  if (!report.coverage_sum_frac) return say(CheckVerdict::cannot_judge, "cannot judge, the trace has no GPU time");
  if (named == 0)
    return say(CheckVerdict::cannot_judge,
               "cannot judge, no GPU record has a name: give the annotation file of this run with -a");
  const std::string covered = percent(*report.coverage_sum_frac) + " of the GPU time has a name";
  if (*report.coverage_sum_frac < min_time) return say(CheckVerdict::failed, "failed, " + covered);
  const std::string missing = what_is_missing(table, report);
  if (!missing.empty()) return say(CheckVerdict::cannot_judge, "cannot judge, records are missing: " + missing);
  say(CheckVerdict::passed, "passed, " + covered);
}

class Checker {
 public:
  // Of a table that is sorted.
  Checker(OperationTable& table, const Selection& selection, const RecordClasses& classes)
      : table_(table), selection_(selection), classes_(classes), has_annotations_(table.has_annotations()) {}

  CheckReport check() {
    report_.base_ns = selection_.base_ns();
    add_graphs();
    for (const GpuOperation& operation : table_.operations) {
      if (const std::optional<Interval> part = part_of(operation)) add(operation, *part);
    }
    report_.busy_ns = busy_.length_ns();
    report_.coverage_records_frac = fraction(static_cast<double>(named_), static_cast<double>(records_));
    report_.coverage_sum_frac = fraction(static_cast<double>(named_sum_ns_), static_cast<double>(report_.sum_ns));
    report_.coverage_busy_frac = fraction(static_cast<double>(named_busy_.length_ns()), static_cast<double>(report_.busy_ns));
    return std::move(report_);
  }

 private:
  // What is selected of a record, if anything.
  std::optional<Interval> part_of(const GpuOperation& operation) const {
    if (!selection_.passes(operation) || !classes_.of(operation).selected) return {};
    return selection_.clip(operation);
  }
  void add_graphs();
  void add(const GpuOperation& operation, const Interval& part);
  void add_to_graph(const GpuOperation& operation, std::int64_t length_ns, GraphCheck& graph) const;

  OperationTable& table_;
  const Selection& selection_;
  const RecordClasses& classes_;
  const bool has_annotations_;
  CheckReport report_;
  std::vector<std::uint32_t> graph_of_replay_;  // index: replay -> of report_.graphs
  std::uint64_t records_ = 0, named_ = 0;
  std::int64_t named_sum_ns_ = 0;
  UnionLength busy_, named_busy_;
  std::uint16_t device_ = 0;
};

void Checker::add_graphs() {
  std::vector<bool> selected(table_.replays.size());
  for (const GpuOperation& operation : table_.operations) {
    if (operation.replay != kNoReplay && part_of(operation)) selected[operation.replay] = true;
  }
  for (const GraphReplays& replays : count_replay_nodes(table_, &selected)) {
    GraphCheck graph;
    graph.replays = replays;
    const GraphRecord* record = table_.annotations.graph_of(replays.graph);
    graph.label = record != nullptr && record->label ? dump_json(*record->label) : "null";
    report_.replays += replays.replays;
    report_.short_replays += replays.short_replays;
    report_.graphs.push_back(std::move(graph));
  }
  for (const Replay& replay : table_.replays) {
    const auto graph = std::lower_bound(report_.graphs.begin(), report_.graphs.end(), replay.graph,
                                        [](const GraphCheck& a, GraphId id) { return a.replays.graph < id; });
    graph_of_replay_.push_back(static_cast<std::uint32_t>(graph - report_.graphs.begin()));
  }
}

void Checker::add(const GpuOperation& operation, const Interval& part) {
  if (operation.device != device_) {
    busy_.restart();
    named_busy_.restart();
    device_ = operation.device;
  }
  const std::int64_t length_ns = part.end_ns - part.start_ns;
  ++records_;
  busy_.add(part.start_ns, part.end_ns);
  add_saturating(report_.sum_ns, length_ns);
  const bool named = operation.annotation != AnnotationId::none;
  if (named) {
    named_busy_.add(part.start_ns, part.end_ns);
    add_saturating(named_sum_ns_, length_ns);
    ++named_;
  }
  if (operation.replay != kNoReplay)
    return add_to_graph(operation, length_ns, report_.graphs[graph_of_replay_[operation.replay]]);
  ++report_.outside_records;
  add_saturating(report_.outside_sum_ns, length_ns);
  if (!named) return;
  ++report_.outside_named;
  add_saturating(report_.outside_named_sum_ns, length_ns);
}

void Checker::add_to_graph(const GpuOperation& operation, std::int64_t length_ns, GraphCheck& graph) const {
  ++graph.records;
  add_saturating(graph.sum_ns, length_ns);
  if (operation.annotation == AnnotationId::none) {
    ++graph.unnamed[has_annotations_ || !shows_node(operation) ? operation.origin : Origin::no_annotations];
    return;
  }
  ++graph.named;
  if (operation.origin == Origin::boundary_approximate || operation.origin == Origin::modelled) ++graph.ambiguous;
  add_saturating(graph.named_sum_ns, length_ns);
}

}  // namespace

Result<CheckReport> check_operations(OperationTable& table, const CheckOptions& options) {
  // A record's class is what decides on --where; the regions are of no interest here.
  RegionOptions regions;
  static_cast<SelectionOptions&>(regions) = options;
  RegionTree tree(regions, std::nullopt, std::nullopt);
  Result<RecordClasses> classes = RecordClasses::create(table, regions, tree);
  if (!classes) return std::move(classes).error();
  sort_by_start(table.operations);
  const Result<Selection> selection = Selection::create(table, options);
  if (!selection) return selection.error();
  for (const GpuOperation& operation : table.operations) {
    if (!selection->passes(operation)) continue;
    if (Result<RecordClass> made = classes->add(operation); !made) return std::move(made).error();
  }
  CheckReport report = Checker(table, *selection, *classes).check();
  if (options.min_time) judge(table, *options.min_time, report);
  return report;
}

}  // namespace graphtag
