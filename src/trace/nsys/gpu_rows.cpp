#include <array>
#include <set>
#include <string>

#include "trace/nsys/export_facts.h"
#include "trace/nsys/row_source.h"

namespace graphtag::nsys {
namespace {

constexpr std::string_view kKernels = "CUPTI_ACTIVITY_KIND_KERNEL";
constexpr std::string_view kMemcpys = "CUPTI_ACTIVITY_KIND_MEMCPY";
constexpr std::string_view kMemsets = "CUPTI_ACTIVITY_KIND_MEMSET";
constexpr std::string_view kGraphs = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE";

// In every table of GPU work, in this order; what a table has besides comes behind.
enum Column : int { start, end, device, context, green_context, stream, correlation, graph_id, graph_node_id, first_own };
std::vector<std::string_view> columns_with(const std::vector<std::string_view>& own) {
  std::vector<std::string_view> all = {"start",    "end",           "deviceId", "contextId",  "greenContextId",
                                       "streamId", "correlationId", "graphId",  "graphNodeId"};
  all.insert(all.end(), own.begin(), own.end());
  return all;
}

std::string in_order(const Export& from, std::string_view table) {
  return "WHERE " + is_of_process(from.database, table, "globalPid", from.process) + " ORDER BY [start], rowid";
}

class GpuRows : public RowSource {
 public:
  Result<void> give(EventBuilder& builder, EventVisitor& visitor) override {
    const std::int64_t device_id = rows_.integer(device).value_or(0);
    const std::int64_t stream_id = rows_.integer(stream).value_or(0);
    const auto when = time();
    const Result<std::string_view> name = name_token();
    if (!name) return name.error();
    builder.begin(kind_, 'X', category_, *name);
    builder.place(device_id, stream_id);
    if (when) {
      builder.time(when->first, when->second);
    } else {
      builder.time(std::nullopt);
    }
    Event& event = builder.event();
    builder.argument("device", device_id);
    event.device = device_id;
    if (const auto context_id = rows_.integer(context)) builder.argument("context", *context_id);
    builder.argument("stream", stream_id);
    event.stream = stream_id;
    if (const auto id = rows_.integer(correlation)) {
      builder.argument("correlation", *id);
      event.correlation = static_cast<std::uint64_t>(*id);
    }
    add_own(builder);
    add_node(builder);
    if (Result<void> given = visitor.on_event(builder.finish(row())); !given) return given;
    if (!when || !event.correlation) return {};
    const std::uint64_t id = *event.correlation;
    builder.begin(EventKind::flow_end, 'f', "\"ac2g\"", "\"ac2g\"");
    builder.id(id);
    builder.place(device_id, stream_id);
    builder.time(when->first);
    builder.bind_to_enclosing();
    return visitor.on_event(builder.finish(row()));
  }

 protected:
  GpuRows(const Export& from, Rows rows, int own_columns, std::string_view table, EventKind kind, std::string_view category)
      : RowSource(std::move(rows), first_own + own_columns, table, from.problems),
        from_(from),
        kind_(kind),
        category_(category) {}

  virtual Result<std::string_view> name_token() = 0;
  virtual void add_own(EventBuilder& builder) = 0;

  std::optional<std::int64_t> own(int column) const { return rows_.integer(first_own + column); }
  const Export from_;

 private:
  virtual void add_node(EventBuilder& builder) {
    const auto node = rows_.integer(graph_node_id);
    // Exporters write 0 for "not in a graph" where they write no NULL.
    if (!node || *node == 0) return;
    const auto id = static_cast<std::uint64_t>(*node);
    std::uint64_t graph = id >> 32;
    if (graph == 0) graph = static_cast<std::uint32_t>(rows_.integer(graph_id).value_or(0));
    Event& event = builder.event();
    if (graph != 0) {
      builder.argument("graph id", graph);
      event.graph_id = graph;
      event.has_node_id = true;
      event.node_id = graph << 32 | (id & 0xffffffff);
    }
    builder.argument("graph node id", id);
    const Resolution found = from_.names.resolve(id);
    event.annotation = found.annotation;
    event.origin = found.origin;
  }

  EventKind kind_;
  std::string_view category_;
};

class Kernels final : public GpuRows {
 public:
  static Result<std::unique_ptr<RowSource>> open(const Export& from) {
    Result<Rows> rows =
        from.database.rows(kKernels,
                           columns_with({"demangledName", "shortName", "mangledName", "registersPerThread", "staticSharedMemory",
                                         "dynamicSharedMemory", "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ"}),
                           in_order(from, kKernels));
    if (!rows) return rows.error();
    return std::unique_ptr<RowSource>(new Kernels(from, *std::move(rows)));
  }

 private:
  enum Own : int {
    demangled,
    short_name,
    mangled,
    registers,
    static_memory,
    dynamic_memory,
    grid_x,
    grid_y,
    grid_z,
    block_x,
    block_y,
    block_z,
    count
  };

  Kernels(const Export& from, Rows rows) : GpuRows(from, std::move(rows), count, kKernels, EventKind::kernel, "\"kernel\"") {}

  Result<std::string_view> name_token() override {
    std::optional<std::int64_t> name = own(demangled);
    if (!name) name = own(short_name);
    if (!name) name = own(mangled);
    return from_.strings.quoted(name, kKernels, row());
  }

  void add_own(EventBuilder& builder) override {
    if (const auto count_of = own(registers)) builder.argument("registers per thread", *count_of);
    if (own(static_memory) || own(dynamic_memory)) {
      const auto sum = static_cast<std::uint64_t>(own(static_memory).value_or(0)) +
                       static_cast<std::uint64_t>(own(dynamic_memory).value_or(0));
      builder.argument("shared memory", sum);
    }
    if (own(grid_x)) builder.argument("grid", *own(grid_x), own(grid_y).value_or(1), own(grid_z).value_or(1));
    if (own(block_x)) builder.argument("block", *own(block_x), own(block_y).value_or(1), own(block_z).value_or(1));
  }
};

// CUPTI's numbers of copies (CUpti_ActivityMemcpyKind).
constexpr std::array<std::string_view, 11> kCopyKinds = {"?",    "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
                                                         "AtoD", "DtoA", "DtoD", "HtoH", "PtoP"};

class Memcpys final : public GpuRows {
 public:
  static Result<std::unique_ptr<RowSource>> open(const Export& from) {
    Result<Rows> rows =
        from.database.rows(kMemcpys, columns_with({"bytes", "copyKind", "srcKind", "dstKind"}), in_order(from, kMemcpys));
    if (!rows) return rows.error();
    Result<Rows> kinds = from.database.look_up("ENUM_CUDA_MEM_KIND", "id", "label");
    if (!kinds) return kinds.error();
    return std::unique_ptr<RowSource>(new Memcpys(from, *std::move(rows), *std::move(kinds)));
  }

 private:
  enum Own : int { bytes, copy_kind, source_kind, target_kind, count };

  Memcpys(const Export& from, Rows rows, Rows kinds)
      : GpuRows(from, std::move(rows), count, kMemcpys, EventKind::memcpy, "\"gpu_memcpy\""), kinds_(std::move(kinds)) {}

  // "Memcpy HtoD (Pageable -> Device)", as PyTorch's profiler has it.
  Result<std::string_view> name_token() override {
    const std::int64_t kind = own(copy_kind).value_or(0);
    std::string name = "Memcpy ";
    if (kind >= 0 && static_cast<std::size_t>(kind) < kCopyKinds.size()) {
      name += kCopyKinds[static_cast<std::size_t>(kind)];
    } else {
      name += "kind-" + std::to_string(kind);
    }
    const Result<std::string> from_kind = memory(own(source_kind));
    if (!from_kind) return from_kind.error();
    const Result<std::string> to_kind = memory(own(target_kind));
    if (!to_kind) return to_kind.error();
    if (!from_kind->empty() && !to_kind->empty()) name += " (" + *from_kind + " -> " + *to_kind + ")";
    token_.clear();
    append_json_string(token_, name);
    return std::string_view(token_);
  }

  Result<std::string> memory(std::optional<std::int64_t> kind) {
    if (!kind) return std::string();
    if (const auto found = memories_.find(*kind); found != memories_.end()) return found->second;
    kinds_.restart(*kind);
    const Result<bool> more = kinds_.next();
    if (!more) return more.error();
    const std::string label = *more ? std::string(kinds_.text(0).value_or("").substr(0, 64)) : std::string();
    if (memories_.size() < 64) memories_.emplace(*kind, label);
    return label;
  }

  void add_own(EventBuilder& builder) override {
    const auto size = own(bytes);
    if (!size || *size < 0) return;
    builder.argument("bytes", *size);
    builder.event().bytes = static_cast<std::uint64_t>(*size);
  }

  Rows kinds_;
  boost::unordered_flat_map<std::int64_t, std::string> memories_;  // number -> label
  std::string token_;
};

class Memsets final : public GpuRows {
 public:
  static Result<std::unique_ptr<RowSource>> open(const Export& from) {
    Result<Rows> rows = from.database.rows(kMemsets, columns_with({"bytes", "value"}), in_order(from, kMemsets));
    if (!rows) return rows.error();
    return std::unique_ptr<RowSource>(new Memsets(from, *std::move(rows)));
  }

 private:
  enum Own : int { bytes, value, count };

  Memsets(const Export& from, Rows rows) : GpuRows(from, std::move(rows), count, kMemsets, EventKind::memset, "\"gpu_memset\"") {}
  Result<std::string_view> name_token() override { return std::string_view("\"Memset (Device)\""); }
  void add_own(EventBuilder& builder) override {
    const auto size = own(bytes);
    if (size && *size >= 0) {
      builder.argument("bytes", *size);
      builder.event().bytes = static_cast<std::uint64_t>(*size);
    }
    if (own(value)) builder.argument("value", *own(value));
  }
};

// Launches of graphs that were recorded as a whole, beside others that were not: shown, but no GPU records.
class WholeGraphs final : public GpuRows {
 public:
  static Result<std::unique_ptr<RowSource>> open(const Export& from) {
    Result<Rows> rows = from.database.rows(kGraphs, columns_with({"graphExecId"}), in_order(from, kGraphs));
    if (!rows) return rows.error();
    return std::unique_ptr<RowSource>(new WholeGraphs(from, *std::move(rows)));
  }

 private:
  WholeGraphs(const Export& from, Rows rows)
      : GpuRows(from, std::move(rows), 1, kGraphs, EventKind::host_slice, "\"cuda_graph\"") {}
  std::int64_t id() const { return own(0) ? *own(0) : rows_.integer(graph_id).value_or(0); }
  Result<std::string_view> name_token() override {
    token_ = "\"CUDA graph " + std::to_string(id()) + '"';
    return std::string_view(token_);
  }
  void add_own(EventBuilder& builder) override { builder.argument("graph id", id()); }
  void add_node(EventBuilder&) override {}
  std::string token_;
};

}  // namespace

Result<std::vector<std::unique_ptr<RowSource>>> gpu_sources(const Export& from) {
  std::vector<std::unique_ptr<RowSource>> sources;
  for (auto* const open : {&Kernels::open, &Memcpys::open, &Memsets::open, &WholeGraphs::open}) {
    Result<std::unique_ptr<RowSource>> source = open(from);
    if (!source) return source.error();
    sources.push_back(*std::move(source));
  }
  return sources;
}

}  // namespace graphtag::nsys
