// The rows of one table as events, in the order of their start.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "trace/event_builder.h"
#include "trace/nsys/database.h"
#include "trace/nsys/node_names.h"
#include "trace/nsys/strings.h"

namespace graphtag::nsys {

// What the sources of one reading share.
struct Export {
  Database& database;
  Strings& strings;
  const NodeNames& names;
  std::optional<std::int64_t> process;  // globalPid
  Problems& problems;
};

class RowSource {
 public:
  virtual ~RowSource() = default;

  Result<bool> advance() {
    Result<bool> more = rows_.next();
    start_ns_ = more && *more ? rows_.integer(0).value_or(std::numeric_limits<std::int64_t>::min()) : 0;
    return more;
  }
  std::int64_t start_ns() const { return start_ns_; }
  // The events of the current row; calls the visitor. Errors: the visitor's; the file is damaged.
  virtual Result<void> give(EventBuilder& builder, EventVisitor& visitor) = 0;

 protected:
  // `rows`: the first column is the start, in ascending order; the second the end.
  RowSource(Rows rows, int row_column, std::string_view table, Problems& problems)
      : rows_(std::move(rows)), row_column_(row_column), table_(table), problems_(problems) {}

  std::uint64_t row() const { return static_cast<std::uint64_t>(rows_.integer(row_column_).value_or(0)); }
  // Start and length; nothing, with a problem noted, if they make no sense.
  std::optional<std::pair<std::int64_t, std::int64_t>> time();

  Rows rows_;
  int row_column_;
  std::string_view table_;

 private:
  Problems& problems_;
  std::int64_t start_ns_ = 0;
};

// Kernels, copies, memsets, and graphs that were recorded as a whole. Errors: the file is damaged.
Result<std::vector<std::unique_ptr<RowSource>>> gpu_sources(const Export& from);
// Calls of CUDA, and NVTX ranges and marks.
Result<std::vector<std::unique_ptr<RowSource>>> host_sources(const Export& from);
// Names of processes and threads, as events without a time.
Result<void> give_names(const Export& from, const TraceInfo& info, EventBuilder& builder, EventVisitor& visitor);

}  // namespace graphtag::nsys
