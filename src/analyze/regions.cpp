#include "analyze/regions.h"

#include <algorithm>
#include <future>

#include "analyze/call_sweep.h"
#include "analyze/copies.h"
#include "analyze/instant_sweep.h"
#include "analyze/name_filter.h"
#include "analyze/operation_order.h"
#include "analyze/record_classes.h"
#include "analyze/region_order.h"
#include "analyze/region_tree.h"
#include "analyze/replay_nodes.h"
#include "analyze/saturating.h"
#include "analyze/selection.h"

namespace graphtag {
namespace {

std::optional<double> fraction(double part, double whole) {
  if (whole <= 0) return {};
  return part / whole;
}

Error usage(std::string message) {
  return {ErrorCode::invalid_argument, std::move(message), {}, {}};
}

Result<void> check_options(const RegionOptions& options) {
  if (options.depth && *options.depth < 1)
    return usage("--depth " + std::to_string(*options.depth) + ": a region has at least 1 component");
  return {};
}

Result<std::optional<NameFilter>> optional_filter(const std::string& expression, const char* option) {
  if (expression.empty()) return std::optional<NameFilter>{};
  Result<NameFilter> filter = NameFilter::compile(expression, option);
  if (!filter) return std::move(filter).error();
  return std::optional<NameFilter>(std::move(*filter));
}

// Which kernel names are communication, each asked once.
class CommNames {
 public:
  CommNames(NameFilter filter, const Interner& names)
      : filter_(std::move(filter)), names_(&names), known_(names.size(), Known::no_idea) {}

  Result<void> ask(std::uint32_t name) {
    if (known_[name] != Known::no_idea) return {};
    Result<bool> matches = filter_.matches((*names_)[name]);
    if (!matches) return std::move(matches).error();
    known_[name] = *matches ? Known::comm : Known::compute;
    return {};
  }
  bool is_comm(std::uint32_t name) const { return known_[name] == Known::comm; }
  std::vector<std::string> list() const {
    std::vector<std::string> list;
    for (std::uint32_t name = 0; name < known_.size(); ++name) {
      if (is_comm(name)) list.emplace_back((*names_)[name]);
    }
    std::sort(list.begin(), list.end());
    return list;
  }

 private:
  enum class Known : std::uint8_t { no_idea, compute, comm };
  NameFilter filter_;
  const Interner* names_;
  std::vector<Known> known_;
};

std::size_t end_of_device(const GrowArray<GpuOperation>& operations, std::size_t begin) {
  return static_cast<std::size_t>(
      std::upper_bound(operations.begin() + begin, operations.end(), operations[begin].device,
                       [](std::uint16_t device, const GpuOperation& operation) { return device < operation.device; }) -
      operations.begin());
}

class Analysis {
 public:
  Analysis(const OperationTable& table, const RegionOptions& options, Selection selection, CommNames comm, RegionTree& tree,
           RecordClasses classes)
      : table_(table),
        options_(options),
        selection_(std::move(selection)),
        comm_(std::move(comm)),
        tree_(tree),
        classes_(std::move(classes)) {}

  Result<void> select();
  RegionReport measure();

 private:
  template <typename Take>
  void for_each_selected(std::size_t begin, std::size_t end, Take&& take) const {
    for (std::size_t i = begin; i < end; ++i) {
      const GpuOperation& operation = table_.operations[i];
      if (!selection_.passes(operation)) continue;
      const RecordClass& record_class = classes_.of(operation);
      if (record_class.selected) take(operation, selection_.clip(operation), record_class);
    }
  }
  void measure_calls(CallSweep& calls) const;
  void measure_device(std::size_t begin, std::size_t end, InstantSweep& instants, CopySums& copies);
  void add_window(const Interval& seen);
  RegionRow make_row(std::uint32_t row, const InstantSweep& instants, const CallSweep& calls) const;
  void fill_totals(const Budget& budget, const CopySums& copies);

  const OperationTable& table_;
  const RegionOptions& options_;
  const Selection selection_;
  CommNames comm_;
  RegionTree& tree_;
  RecordClasses classes_;
  std::vector<bool> measured_replays_;  // index: replay
  RegionReport report_;
  std::uint64_t attributed_records_ = 0;
  std::int64_t attributed_sum_ns_ = 0;
};

// Decides what becomes of every record, so that all rows are known before the first is measured.
Result<void> Analysis::select() {
  report_.base_ns = selection_.base_ns();
  for (const GpuOperation& operation : table_.operations) {
    if (!selection_.passes(operation)) continue;
    Result<RecordClass> made = classes_.add(operation);
    if (!made) return std::move(made).error();
    if (!made->selected || operation.kind != OperationKind::kernel) continue;
    Result<void> asked = comm_.ask(operation.name);
    if (!asked) return asked;
  }
  return {};
}

// `seen` is what the selected records of one more device span.
void Analysis::add_window(const Interval& seen) {
  const Interval window = selection_.window().value_or(seen);
  const Interval relative{window.start_ns - report_.base_ns, window.end_ns - report_.base_ns};
  report_.window_start_ns = report_.devices == 0 ? relative.start_ns : std::min(report_.window_start_ns, relative.start_ns);
  report_.window_end_ns = report_.devices == 0 ? relative.end_ns : std::max(report_.window_end_ns, relative.end_ns);
  ++report_.devices;
  add_saturating(report_.window_ns, window.end_ns - window.start_ns);
}

void Analysis::measure_calls(CallSweep& calls) const {
  for (std::size_t begin = 0; begin < table_.operations.size();) {
    const std::size_t end = end_of_device(table_.operations, begin);
    calls.begin_device();
    for_each_selected(begin, end,
                      [&](const GpuOperation& operation, const std::optional<Interval>& interval, const RecordClass&) {
                        if (interval) calls.expect(operation.replay);
                      });
    for_each_selected(
        begin, end, [&](const GpuOperation& operation, const std::optional<Interval>& interval, const RecordClass& record_class) {
          if (!interval) return;
          calls.add(interval->start_ns, interval->end_ns, record_class, operation.replay,
                    operation.kind == OperationKind::kernel);
        });
    begin = end;
  }
  calls.finish();
}

void Analysis::measure_device(std::size_t begin, std::size_t end, InstantSweep& instants, CopySums& copies) {
  Interval seen{INT64_MAX, INT64_MIN};
  for_each_selected(begin, end, [&](const GpuOperation& operation, const std::optional<Interval>&, const RecordClass&) {
    seen = {std::min(seen.start_ns, clamp_time_ns(operation.start_ns)), std::max(seen.end_ns, clamp_time_ns(operation.end_ns))};
  });
  if (seen.start_ns > seen.end_ns) return;
  add_window(seen);
  for_each_selected(begin, end,
                    [&](const GpuOperation& operation, const std::optional<Interval>& interval, const RecordClass& record_class) {
                      if (!interval) return;
                      const std::int64_t length_ns = interval->end_ns - interval->start_ns;
                      if (operation.replay != kNoReplay) measured_replays_[operation.replay] = true;
                      const bool is_kernel = operation.kind == OperationKind::kernel;
                      ++report_.records;
                      add_saturating(report_.sum_ns, length_ns);
                      if (record_class.attributed) {
                        ++attributed_records_;
                        add_saturating(attributed_sum_ns_, length_ns);
                      }
                      if (!is_kernel) copies.add(operation, length_ns);
                      if (length_ns == 0) return;
                      const Activity activity = !is_kernel                      ? Activity::copy
                                                : comm_.is_comm(operation.name) ? Activity::comm
                                                                                : Activity::compute;
                      instants.add(interval->start_ns, interval->end_ns, record_class.row, activity, record_class.attributed);
                    });
  instants.finish_device();
}

RegionRow Analysis::make_row(std::uint32_t row, const InstantSweep& instants, const CallSweep& calls) const {
  RegionRow made;
  made.id = made.parent = row;
  const CallSweep::RowSums& sums = calls.row(row);
  made.total_ns = sums.total.length_ns();
  made.sum_ns = sums.sum_ns;
  made.self_ns = sums.self_ns;
  made.share_ns = instants.share_ns(row);
  made.subtree_share_ns = made.share_ns;
  made.busy_frac = fraction(static_cast<double>(made.share_ns), static_cast<double>(report_.busy_ns));
  made.wall_frac = fraction(static_cast<double>(made.share_ns), static_cast<double>(report_.window_ns));
  if (row < kFirstRegionRow) return made;
  const RegionTree::Row& named = tree_.rows()[row];
  made.region = tree_.patterns().name(named.pattern);
  made.level = tree_.patterns().level(named.pattern);
  const std::uint32_t parent = tree_.parent_row(row);
  made.parent = parent == kNoRow ? row : parent;
  for (std::size_t i = 0; i < options_.by.size(); ++i) made.by.emplace_back(options_.by[i], classes_.group(named.group)[i]);
  return made;
}

RegionReport Analysis::measure() {
  InstantSweep instants(tree_.rows().size());
  CallSweep calls(tree_, table_.replays.size());
  CopySums copies(table_.names);
  measured_replays_.assign(table_.replays.size(), false);
  // The two sweeps cost about the same, and have nothing to do with each other. Without a thread the first one runs at get().
  std::future<void> calls_measured = std::async([&] { measure_calls(calls); });
  for (std::size_t begin = 0; begin < table_.operations.size();) {
    const std::size_t end = end_of_device(table_.operations, begin);
    measure_device(begin, end, instants, copies);
    begin = end;
  }
  calls_measured.get();
  fill_totals(instants.budget(), copies);
  report_.unattributed = make_row(kUnattributedRow, instants, calls);
  std::vector<RegionRow> rows(tree_.rows().size());
  for (std::uint32_t row = kFirstRegionRow; row < rows.size(); ++row) rows[row] = make_row(row, instants, calls);
  calls.times().for_each_row([&](std::uint32_t row, const CallStatistics& statistics) {
    RegionRow& made = rows[row];
    made.calls = statistics.calls;
    made.kernels_per_call = static_cast<double>(calls.row(row).kernels_in_calls) / static_cast<double>(statistics.calls);
    made.mean_ns = statistics.mean_ns;
    made.p50_ns = statistics.p50_ns;
    made.p95_ns = statistics.p95_ns;
    made.min_ns = statistics.min_ns;
    made.max_ns = statistics.max_ns;
  });
  add_subtree_shares(rows);
  // Regions whose records all lie outside the window have no row.
  for (std::uint32_t row = kFirstRegionRow; row < rows.size(); ++row) {
    if (calls.row(row).records != 0) report_.rows.push_back(std::move(rows[row]));
  }
  sort_rows(report_.rows, options_.view);
  return std::move(report_);
}

void Analysis::fill_totals(const Budget& budget, const CopySums& copies) {
  report_.view = options_.view;
  report_.by = options_.by;
  report_.replays = static_cast<std::uint64_t>(std::count(measured_replays_.begin(), measured_replays_.end(), true));
  report_.busy_ns = budget.busy_ns;
  report_.idle_ns = report_.window_ns - budget.busy_ns;
  report_.compute_ns = budget.compute_ns;
  report_.exposed_comm_ns = budget.exposed_comm_ns;
  report_.exposed_copy_ns = budget.exposed_copy_ns;
  report_.coverage_records_frac = fraction(static_cast<double>(attributed_records_), static_cast<double>(report_.records));
  report_.coverage_sum_frac = fraction(static_cast<double>(attributed_sum_ns_), static_cast<double>(report_.sum_ns));
  report_.coverage_busy_frac = fraction(static_cast<double>(budget.attributed_ns), static_cast<double>(report_.busy_ns));
  report_.copies = copies.rows();
  report_.comm_names = comm_.list();
}

}  // namespace

Result<RegionReport> analyze_regions(OperationTable& table, const RegionOptions& options) {
  if (Result<void> checked = check_options(options); !checked) return std::move(checked).error();
  Result<std::optional<NameFilter>> include = optional_filter(options.include, "--include");
  if (!include) return std::move(include).error();
  Result<std::optional<NameFilter>> exclude = optional_filter(options.exclude, "--exclude");
  if (!exclude) return std::move(exclude).error();
  Result<NameFilter> comm = NameFilter::compile(options.comm, "--comm");
  if (!comm) return std::move(comm).error();

  RegionTree tree(options, std::move(*include), std::move(*exclude));
  Result<RecordClasses> classes = RecordClasses::create(table, options, tree);
  if (!classes) return std::move(classes).error();
  sort_by_start(table.operations);
  Result<Selection> selection = Selection::create(table, options);
  if (!selection) return std::move(selection).error();
  const std::vector<GraphReplays> graphs = count_replay_nodes(table);

  Analysis analysis(table, options, *std::move(selection), CommNames(std::move(*comm), table.names), tree, std::move(*classes));
  if (Result<void> selected = analysis.select(); !selected) return std::move(selected).error();
  RegionReport report = analysis.measure();
  for (const GraphReplays& graph : graphs) {
    report.short_replays += graph.short_replays;
    if (graph.nodes_seen_max == 0) report.graph_level_replays += graph.replays;
  }
  return report;
}

}  // namespace graphtag
