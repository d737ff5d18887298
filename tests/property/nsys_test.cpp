// The names that an Nsight Systems export gives, against a plain twin that looks at every range for every kernel; and the same events whatever the
// schema's version.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "tests/support/join_fixtures.h"
#include "tests/support/nsys_export.h"
#include "trace/reader.h"

namespace graphtag {
namespace {

using testing::NodeRow;
using testing::NsysExport;
using testing::NvtxRow;

constexpr std::int64_t kEver = std::numeric_limits<std::int64_t>::max();

// "outer/inner" of what is open, or the reason in brackets.
std::string twin_name(const NsysExport& made, std::int64_t node) {
  // The creation of the original: of several rows one without an original, then the first by thread and time.
  const auto row_of = [&](std::int64_t id) -> const NodeRow* {
    const NodeRow* best = nullptr;
    const auto order = [](const NodeRow& row) {
      return std::tuple(row.original.value_or(row.node) != row.node, row.thread, row.start);
    };
    for (const NodeRow& row : made.nodes) {
      if (row.node == id && (best == nullptr || order(row) < order(*best))) best = &row;
    }
    return best;
  };
  const NodeRow* row = row_of(node);
  std::set<std::int64_t> seen;
  while (row != nullptr && row->original && *row->original != row->node) {
    if (!seen.insert(row->node).second) return "(captured-before-start)";
    row = row_of(*row->original);
  }
  if (row == nullptr) return "(captured-before-start)";
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < made.nvtx.size(); ++i) {
    const NvtxRow& range = made.nvtx[i];
    const bool is_range = range.type == 59 || range.type == 60;
    if (is_range && range.thread == row->thread && range.start <= row->start && row->start < range.end.value_or(kEver))
      open.push_back(i);
  }
  std::stable_sort(open.begin(), open.end(), [&](std::size_t a, std::size_t b) {
    return std::tuple(made.nvtx[a].start, -made.nvtx[a].end.value_or(kEver)) <
           std::tuple(made.nvtx[b].start, -made.nvtx[b].end.value_or(kEver));
  });
  std::string path, only;
  std::size_t names = 0;
  for (const std::size_t i : open) {
    if (names == 1 && only == *made.nvtx[i].text) continue;  // a scope within itself counts once
    only = *made.nvtx[i].text;
    path += (names == 0 ? "" : "/") + only;
    ++names;
  }
  return open.empty() ? "(outside-scope)" : path;
}

// In the order of the kernels' starts, which are all different.
std::vector<std::string> read_names(const std::string& path) {
  class Visitor final : public EventVisitor {
   public:
    Result<void> on_events_begin(const TraceInfo& info) override {
      annotations = info.annotations;
      return {};
    }
    Result<void> on_event(const Event& event) override {
      if (event.kind != EventKind::kernel) return {};
      if (!is_provenance(event.origin)) {
        names.push_back("(" + std::string(to_string(event.origin)) + ")");
        return {};
      }
      std::string joined;
      for (const std::string& part : (*annotations)[event.annotation].path) joined += (joined.empty() ? "" : "/") + part;
      names.push_back(joined);
      return {};
    }
    std::shared_ptr<const AnnotationTable> annotations;
    std::vector<std::string> names;
  };
  Visitor visitor;
  const Result<ReadResult> read = read_trace(path, visitor);
  RC_ASSERT(read.ok());
  return visitor.names;
}

RC_GTEST_PROP(Nsys, NamesAreThoseOfThePlainTwinInEveryVersion, ()) {
  NsysExport made;
  const auto thread = [] { return testing::global_tid(100, *rc::gen::inRange(1, 4)); };
  const int ranges = *rc::gen::inRange(0, 25);
  for (int i = 0; i < ranges; ++i) {
    NvtxRow range;
    range.start = *rc::gen::inRange(0, 60);
    if (*rc::gen::inRange(0, 8) != 0) range.end = range.start + *rc::gen::inRange(0, 40);
    range.thread = thread();
    range.text = std::string(1, static_cast<char>('a' + *rc::gen::inRange(0, 4)));
    range.shared_text = *rc::gen::arbitrary<bool>();
    range.type = *rc::gen::element<std::int64_t>(59, 59, 60, 34);
    made.nvtx.push_back(range);
  }
  const int nodes = *rc::gen::inRange(1, 25);
  for (int i = 0; i < nodes; ++i) {
    NodeRow node;
    node.start = *rc::gen::inRange(0, 100);
    node.node = std::int64_t{5} << 32 | *rc::gen::inRange(1, 16);
    node.thread = thread();
    if (*rc::gen::arbitrary<bool>()) node.original = std::int64_t{5} << 32 | *rc::gen::inRange(1, 18);
    // Two rows of one node at one time on one thread have no order.
    const auto same = [&](const NodeRow& other) {
      return std::tuple(other.node, other.thread, other.start) == std::tuple(node.node, node.thread, node.start);
    };
    if (std::none_of(made.nodes.begin(), made.nodes.end(), same)) made.nodes.push_back(node);
  }
  std::vector<std::string> expected;
  for (std::int64_t local = 1; local < 18; ++local) {
    const std::int64_t node = std::int64_t{5} << 32 | local;
    made.kernels.push_back({.start = 1000 * local, .end = 1000 * local + 5, .node = node});
    expected.push_back(twin_name(made, node));
  }
  const testing::TempFolder folder;
  for (const auto& version : testing::export_versions()) {
    NsysExport again = made;
    again.write(folder.path(version.name), version);
    RC_ASSERT(read_names(folder.path(version.name)) == expected);
  }
}

}  // namespace
}  // namespace graphtag
