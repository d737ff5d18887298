// The region report against a twin that looks at every single nanosecond and every single call.
#include "analyze/regions.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "tests/support/operation_builder.h"

namespace graphtag {
namespace {

using testing::OperationBuilder;

const std::vector<std::string> kRegions = {"a", "a.b", "a.0", "a.1", "a.0.b", "a.1.b", "c.12.d", "c"};

struct Record {
  int device, stream, region;  // region: index, -1 none
  int replay;                  // -1: outside graphs
  int start, length;
  int kind;  // 0 compute, 1 communication, 2 copy
};

rc::Gen<Record> record_gen() {
  return rc::gen::build<Record>(
      rc::gen::set(&Record::device, rc::gen::inRange(0, 2)), rc::gen::set(&Record::stream, rc::gen::inRange(7, 10)),
      rc::gen::set(&Record::region, rc::gen::inRange(-1, static_cast<int>(kRegions.size()))),
      rc::gen::set(&Record::replay, rc::gen::inRange(-1, 4)), rc::gen::set(&Record::start, rc::gen::inRange(0, 60)),
      rc::gen::set(&Record::length, rc::gen::inRange(0, 25)), rc::gen::set(&Record::kind, rc::gen::inRange(0, 3)));
}

OperationTable make_table(const std::vector<Record>& records) {
  OperationBuilder builder;
  for (int replay = 0; replay < 4; ++replay) builder.replay(1 + static_cast<std::uint32_t>(replay) % 2);
  for (const Record& record : records) {
    const AnnotationId annotation =
        record.region < 0 ? AnnotationId::none : builder.region(kRegions[static_cast<std::size_t>(record.region)]);
    GpuOperation& operation =
        builder.kernel(record.start, record.start + record.length, record.stream,
                       record.replay < 0 ? kNoReplay : static_cast<std::uint32_t>(record.replay), annotation,
                       record.kind == 1   ? "ncclAllReduce"
                       : record.kind == 2 ? "Memcpy DtoD (Device -> Device)"
                                          : "gemm");
    if (record.kind == 2) operation.kind = OperationKind::memcpy;
    builder.set_device(operation, static_cast<std::uint16_t>(record.device));
  }
  return std::move(builder.table);
}

std::vector<std::string> components_of(const std::string& name) {
  std::vector<std::string> components = {""};
  for (const char c : name) {
    if (c == '.') {
      components.emplace_back();
    } else {
      components.back() += c;
    }
  }
  return components;
}

std::string fold(const std::string& name) {
  std::string folded;
  for (const std::string& component : components_of(name)) {
    const bool digits = component.find_first_not_of("0123456789") == std::string::npos;
    folded += (folded.empty() ? "" : ".") + (digits ? "*" : component);
  }
  return folded;
}

// A region and all above it.
std::vector<std::string> lineage(const std::string& name) {
  std::vector<std::string> names;
  for (std::size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1))
    names.push_back(name.substr(0, dot));
  names.push_back(name);
  return names;
}

struct TwinRow {
  std::int64_t total = 0, sum = 0, self = 0, share = 0;
  std::vector<std::int64_t> calls;  // sorted
  std::int64_t kernels = 0;
};

struct Twin {
  std::int64_t window = 0, busy = 0, compute = 0, comm = 0, copy = 0, sum = 0, attributed_busy = 0;
  std::int64_t unattributed_share = 0;
  std::map<std::string, TwinRow> rows;
};

using Instants = std::set<std::pair<int, std::int64_t>>;  // device, ns

class TwinMaker {
 public:
  TwinMaker(const OperationTable& table, bool folds, std::optional<std::pair<std::int64_t, std::int64_t>> window_ns)
      : table_(table), folds_(folds), window_ns_(window_ns) {}

  Twin make() {
    for (const GpuOperation& operation : table_.operations) base_ = std::min(base_, operation.start_ns);
    for (std::uint16_t device = 0; device < table_.devices.size(); ++device) add_device(device);
    for (auto& row : twin_.rows) row.second.total = static_cast<std::int64_t>(covered_[row.first].size());
    for (const auto& call : calls_) {
      const std::string& region = std::get<0>(call.first);
      TwinRow& row = twin_.rows[folds_ ? fold(region) : region];
      row.calls.push_back(static_cast<std::int64_t>(call.second.size()));
    }
    for (auto& row : twin_.rows) std::sort(row.second.calls.begin(), row.second.calls.end());
    return std::move(twin_);
  }

 private:
  struct Part {
    const GpuOperation* operation;
    std::int64_t start, end;
  };

  std::string region_of(const GpuOperation& operation) const {
    return table_.annotations.annotations()[operation.annotation].name;
  }

  void add_device(std::uint16_t device) {
    std::vector<Part> parts;
    std::int64_t first = INT64_MAX;
    std::int64_t last = INT64_MIN;
    bool any = false;
    for (const GpuOperation& operation : table_.operations) {
      if (operation.device != device) continue;
      any = true;
      Part part{&operation, operation.start_ns, operation.end_ns};
      if (window_ns_) {
        const std::int64_t from = base_ + window_ns_->first;
        const std::int64_t to = base_ + window_ns_->second;
        const bool empty = part.start == part.end;
        if (empty ? part.start < from || part.start >= to : part.end <= from || part.start >= to || from == to) continue;
        part.start = std::max(part.start, from);
        part.end = std::min(part.end, to);
      }
      first = std::min(first, part.start);
      last = std::max(last, part.end);
      parts.push_back(part);
      add_record(part);
    }
    if (window_ns_ && any) twin_.window += window_ns_->second - window_ns_->first;
    if (!window_ns_ && any) twin_.window += last - first;
    add_instants(parts);
  }

  void add_record(const Part& part) {
    const GpuOperation& operation = *part.operation;
    twin_.sum += part.end - part.start;
    if (operation.annotation == AnnotationId::none) return;
    const std::string own = region_of(operation);
    twin_.rows[folds_ ? fold(own) : own].self += part.end - part.start;
    for (const std::string& region : lineage(own)) {
      const std::string name = folds_ ? fold(region) : region;
      TwinRow& row = twin_.rows[name];
      row.sum += part.end - part.start;
      Instants& covered = covered_[name];
      for (std::int64_t ns = part.start; ns < part.end; ++ns) covered.emplace(operation.device, ns);
      if (operation.replay == kNoReplay) continue;
      row.kernels += operation.kind == OperationKind::kernel ? 1 : 0;
      Instants& call = calls_[{region, operation.replay, operation.device}];
      for (std::int64_t ns = part.start; ns < part.end; ++ns) call.emplace(operation.device, ns);
    }
  }

  // Stretches with the same active set, found by looking at each nanosecond.
  void add_instants(std::vector<Part> parts) {
    std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
      const GpuOperation& x = *a.operation;
      const GpuOperation& y = *b.operation;
      return std::tie(a.start, x.start_ns, x.stream, x.end_ns, x.replay, x.local_id, x.annotation, x.name) <
             std::tie(b.start, y.start_ns, y.stream, y.end_ns, y.replay, y.local_id, y.annotation, y.name);
    });
    std::vector<const Part*> active;
    std::int64_t length = 0;
    for (std::int64_t ns = 0; ns < 100; ++ns) {
      std::vector<const Part*> now;
      for (const Part& part : parts) {
        if (part.start <= ns && ns < part.end) now.push_back(&part);
      }
      if (now != active) {
        share_out(active, length);
        active = now;
        length = 0;
      }
      ++length;
    }
    share_out(active, length);
  }

  void share_out(const std::vector<const Part*>& active, std::int64_t length) {
    if (active.empty()) return;
    const auto count = static_cast<std::int64_t>(active.size());
    const auto has = [&](auto&& test) {
      return std::any_of(active.begin(), active.end(), [&](const Part* part) { return test(*part->operation); });
    };
    const auto is_comm = [&](const GpuOperation& operation) { return table_.names[operation.name] == "ncclAllReduce"; };
    twin_.busy += length;
    if (has([](const GpuOperation& operation) { return operation.annotation != AnnotationId::none; }))
      twin_.attributed_busy += length;
    if (has([&](const GpuOperation& operation) { return operation.kind == OperationKind::kernel && !is_comm(operation); })) {
      twin_.compute += length;
    } else {
      (has(is_comm) ? twin_.comm : twin_.copy) += length;
    }
    for (const Part* part : active) {
      const std::int64_t share = length / count + (part == active.front() ? length % count : 0);
      if (part->operation->annotation == AnnotationId::none) {
        twin_.unattributed_share += share;
      } else {
        const std::string own = region_of(*part->operation);
        twin_.rows[folds_ ? fold(own) : own].share += share;
      }
    }
  }

  const OperationTable& table_;
  const bool folds_;
  const std::optional<std::pair<std::int64_t, std::int64_t>> window_ns_;
  std::int64_t base_ = INT64_MAX;
  Twin twin_;
  std::map<std::string, Instants> covered_;
  std::map<std::tuple<std::string, std::uint32_t, std::uint16_t>, Instants> calls_;  // region, replay, device
};

void expect_row(const RegionRow& row, const TwinRow& twin) {
  RC_ASSERT(row.total_ns == twin.total);
  RC_ASSERT(row.sum_ns == twin.sum);
  RC_ASSERT(row.self_ns == twin.self);
  RC_ASSERT(row.share_ns == twin.share);
  RC_ASSERT(row.calls.has_value() == !twin.calls.empty());
  if (twin.calls.empty()) return;
  const std::size_t n = twin.calls.size();
  RC_ASSERT(*row.calls == n);
  double sum = 0;
  for (const std::int64_t call : twin.calls) sum += static_cast<double>(call);
  RC_ASSERT(std::abs(*row.mean_ns - sum / static_cast<double>(n)) < 1e-9);
  RC_ASSERT(*row.min_ns == twin.calls.front());
  RC_ASSERT(*row.max_ns == twin.calls.back());
  RC_ASSERT(*row.p50_ns == static_cast<double>(twin.calls[(n - 1) / 2] + twin.calls[n / 2]) / 2);
  std::size_t rank = 0;  // the first that at least 95 % are not above
  while ((rank + 1) * 100 < n * 95) ++rank;
  RC_ASSERT(*row.p95_ns == twin.calls[rank]);
  RC_ASSERT(*row.kernels_per_call == static_cast<double>(twin.kernels) / static_cast<double>(n));
}

void compare(const std::vector<Record>& records, const RegionOptions& options) {
  OperationTable table = make_table(records);
  const Twin twin = TwinMaker(table, options.view == RegionView::pattern, options.window_ns).make();
  const Result<RegionReport> report = analyze_regions(table, options);
  RC_ASSERT(report.ok());
  RC_ASSERT(report->window_ns == twin.window);
  RC_ASSERT(report->sum_ns == twin.sum);
  RC_ASSERT(report->busy_ns == twin.busy);
  RC_ASSERT(report->compute_ns == twin.compute);
  RC_ASSERT(report->exposed_comm_ns == twin.comm);
  RC_ASSERT(report->exposed_copy_ns == twin.copy);
  RC_ASSERT(report->idle_ns == twin.window - twin.busy);
  RC_ASSERT(report->unattributed.share_ns == twin.unattributed_share);
  if (twin.busy > 0)
    RC_ASSERT(*report->coverage_busy_frac == static_cast<double>(twin.attributed_busy) / static_cast<double>(twin.busy));
  RC_ASSERT(report->rows.size() == twin.rows.size());
  std::int64_t shares = report->unattributed.share_ns;
  for (const RegionRow& row : report->rows) {
    const auto expected = twin.rows.find(row.region);
    RC_ASSERT(expected != twin.rows.end());
    expect_row(row, expected->second);
    shares += row.share_ns;
  }
  RC_ASSERT(shares == report->busy_ns);
}

RC_GTEST_PROP(RegionsProperty, AgreeWithATwinThatLooksAtEveryNanosecond, ()) {
  RegionOptions options;
  options.view = *rc::gen::element(RegionView::pattern, RegionView::flat, RegionView::tree);
  compare(*rc::gen::container<std::vector<Record>>(record_gen()), options);
}

RC_GTEST_PROP(RegionsProperty, AgreeWithinAWindow, ()) {
  RegionOptions options;
  const std::int64_t from = *rc::gen::inRange(0, 40);
  options.window_ns = {{from, from + *rc::gen::inRange(0, 40)}};
  compare(*rc::gen::container<std::vector<Record>>(record_gen()), options);
}

RC_GTEST_PROP(RegionsProperty, DoNotDependOnTheOrderInTheFile, ()) {
  const auto records = *rc::gen::container<std::vector<Record>>(record_gen());
  OperationTable table = make_table(records);
  OperationTable reversed = make_table(records);
  std::reverse(reversed.operations.begin(), reversed.operations.end());
  const Result<RegionReport> first = analyze_regions(table, {});
  const Result<RegionReport> second = analyze_regions(reversed, {});
  RC_ASSERT(first.ok() && second.ok());
  RC_ASSERT(first->rows.size() == second->rows.size());
  for (std::size_t i = 0; i < first->rows.size(); ++i) {
    RC_ASSERT(first->rows[i].region == second->rows[i].region);
    RC_ASSERT(first->rows[i].share_ns == second->rows[i].share_ns);
    RC_ASSERT(first->rows[i].p50_ns == second->rows[i].p50_ns);
  }
}

}  // namespace
}  // namespace graphtag
