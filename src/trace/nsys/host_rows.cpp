#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "base/json.h"
#include "trace/launch_calls.h"
#include "trace/nsys/export_facts.h"
#include "trace/nsys/global_id.h"
#include "trace/nsys/nvtx_ranges.h"
#include "trace/nsys/row_source.h"

namespace graphtag::nsys {
namespace {

constexpr std::string_view kCalls = "CUPTI_ACTIVITY_KIND_RUNTIME";
constexpr std::string_view kNvtx = "NVTX_EVENTS";

// "cudaLaunchKernel_v7000" without its version.
std::string_view without_version(std::string_view name) {
  const std::size_t at = name.rfind("_v");
  if (at == std::string_view::npos || at + 2 == name.size()) return name;
  return std::all_of(name.begin() + static_cast<std::ptrdiff_t>(at) + 2, name.end(), [](char c) { return c >= '0' && c <= '9'; })
             ? name.substr(0, at)
             : name;
}

class Calls final : public RowSource {
 public:
  static Result<std::unique_ptr<RowSource>> open(const Export& from) {
    Result<Rows> rows = from.database.rows(
        kCalls, {"start", "end", "globalTid", "correlationId", "nameId", "returnValue"},
        "WHERE " + is_of_process(from.database, kCalls, "globalTid", from.process) + " ORDER BY [start], rowid");
    if (!rows) return rows.error();
    return std::unique_ptr<RowSource>(new Calls(from, *std::move(rows)));
  }

  Result<void> give(EventBuilder& builder, EventVisitor& visitor) override {
    const std::int64_t thread = rows_.integer(global_tid).value_or(0);
    const auto when = time();
    const Result<std::string_view> quoted = from_.strings.quoted(rows_.integer(name_id), kCalls, row());
    if (!quoted) return quoted.error();
    const std::string_view name = without_version(quoted->substr(1, quoted->size() - 2));
    token_.assign(1, '"').append(name) += '"';
    const bool launches = gives_gpu_work(name);
    builder.begin(EventKind::host_slice, 'X', name.starts_with("cuda") ? "\"cuda_runtime\"" : "\"cuda_driver\"", token_);
    builder.place(pid_of(thread), tid_of(thread));
    if (when) {
      builder.time(when->first, when->second);
    } else {
      builder.time(std::nullopt);
    }
    const auto id = rows_.integer(correlation);
    if (id) {
      builder.argument("correlation", *id);
      builder.event().correlation = static_cast<std::uint64_t>(*id);
    }
    if (const auto returned = rows_.integer(return_value); returned && *returned != 0)
      builder.argument("return value", *returned);
    if (Result<void> given = visitor.on_event(builder.finish(row())); !given) return given;
    if (!when || !id || !launches) return {};
    builder.begin(EventKind::flow_start, 's', "\"ac2g\"", "\"ac2g\"");
    builder.id(static_cast<std::uint64_t>(*id));
    builder.place(pid_of(thread), tid_of(thread));
    builder.time(when->first);
    return visitor.on_event(builder.finish(row()));
  }

 private:
  enum Column : int { start, end, global_tid, correlation, name_id, return_value, row_column };
  Calls(const Export& from, Rows rows) : RowSource(std::move(rows), row_column, kCalls, from.problems), from_(from) {}

  const Export from_;
  std::string token_;
};

class Nvtx final : public RowSource {
 public:
  static Result<std::unique_ptr<RowSource>> open(const Export& from) {
    std::string rest = "WHERE " + is_of_process(from.database, kNvtx, "globalTid", from.process);
    if (from.database.has(kNvtx, "eventType")) {
      for (const NvtxEvent type : {nvtx_mark, nvtx_push_pop, nvtx_start_end}) {
        rest += (type == nvtx_mark ? " AND [eventType] IN (" : ",") + std::to_string(type);
      }
      rest += ")";
    }
    Result<Rows> rows = nvtx_rows(from.database, rest + " ORDER BY [start], rowid");
    if (!rows) return rows.error();
    std::unique_ptr<Nvtx> source(new Nvtx(from, *std::move(rows)));
    if (Result<void> read = source->texts_.read(from.process); !read) return read.error();
    return std::unique_ptr<RowSource>(std::move(source));
  }

  Result<void> give(EventBuilder& builder, EventVisitor& visitor) override {
    const std::int64_t thread = rows_.integer(NvtxColumns::global_tid).value_or(0);
    Result<Json> object = texts_.annotation(rows_);
    if (!object) return object.error();
    const auto name = object->find("name");
    token_ = name == object->end() ? "\"?\"" : dump_json(*name);
    const bool mark = rows_.integer(NvtxColumns::event_type) == nvtx_mark;
    // A range that is open at the end of the recording has no length to show.
    if (!mark && !rows_.integer(NvtxColumns::end)) {
      builder.begin(EventKind::other, 'i', "\"nvtx\"", token_);
      builder.place(pid_of(thread), tid_of(thread));
      builder.time(rows_.integer(NvtxColumns::start));
      builder.argument_json("open", "true");
    } else if (mark) {
      builder.begin(EventKind::other, 'i', "\"nvtx\"", token_);
      builder.place(pid_of(thread), tid_of(thread));
      builder.time(rows_.integer(NvtxColumns::start));
    } else {
      const auto when = time();
      builder.begin(EventKind::host_slice, 'X', "\"nvtx\"", token_);
      builder.place(pid_of(thread), tid_of(thread));
      if (when) {
        builder.time(when->first, when->second);
      } else {
        builder.time(std::nullopt);
      }
    }
    for (const char* key : {"nvtx_domain", "nvtx_category", "nvtx_payload"}) {
      if (const auto value = object->find(key); value != object->end()) builder.argument_json(key, dump_json(*value));
    }
    return visitor.on_event(builder.finish(row()));
  }

 private:
  Nvtx(const Export& from, Rows rows)
      : RowSource(std::move(rows), NvtxColumns::row, kNvtx, from.problems), texts_(from.database, from.strings) {}

  NvtxTexts texts_;
  std::string token_;
};

void name_event(EventBuilder& builder, std::string_view what, std::int64_t pid, std::int64_t tid, std::string_view key,
                std::string_view value) {
  std::string token;
  append_json_string(token, what);
  builder.begin(EventKind::metadata, 'M', {}, token);
  builder.place(pid, tid);
  builder.time(0);
  token.clear();
  append_json_string(token, value);
  builder.argument_json(key, token);
}

}  // namespace

std::optional<std::pair<std::int64_t, std::int64_t>> RowSource::time() {
  const auto start = rows_.integer(0);
  const auto end = rows_.integer(1);
  std::int64_t length = 0;
  if (start && end && *end >= *start && !__builtin_sub_overflow(*end, *start, &length)) return std::pair(*start, length);
  problems_.add(ProblemKind::bad_time, row(),
                std::string(table_) + ": start " + (start ? std::to_string(*start) : "missing") + ", end " +
                    (end ? std::to_string(*end) : "missing"));
  return std::nullopt;
}

Result<std::vector<std::unique_ptr<RowSource>>> host_sources(const Export& from) {
  std::vector<std::unique_ptr<RowSource>> sources;
  for (auto* const open : {&Calls::open, &Nvtx::open}) {
    Result<std::unique_ptr<RowSource>> source = open(from);
    if (!source) return source.error();
    sources.push_back(*std::move(source));
  }
  return sources;
}

Result<void> give_names(const Export& from, const TraceInfo& info, EventBuilder& builder, EventVisitor& visitor) {
  for (std::size_t device = 0; device < info.device_names.size(); ++device) {
    if (info.device_names[device].empty()) continue;
    const auto pid = static_cast<std::int64_t>(device);
    name_event(builder, "process_labels", pid, 0, "labels", "GPU " + std::to_string(device));
    if (Result<void> given = visitor.on_event(builder.finish(0)); !given) return given;
  }
  if (info.pid) {
    std::string name;
    Result<Rows> processes = from.database.rows("PROCESSES", {"name"},
                                                "WHERE " + is_of_process(from.database, "PROCESSES", "globalPid", from.process));
    if (!processes) return processes.error();
    if (const Result<bool> more = processes->next(); !more)
      return more.error();
    else if (*more)
      name = std::string(processes->text(0).value_or("").substr(0, 4096));
    if (!name.empty()) {
      name_event(builder, "process_name", *info.pid, 0, "name", name);
      if (Result<void> given = visitor.on_event(builder.finish(0)); !given) return given;
    }
    name_event(builder, "process_labels", *info.pid, 0, "labels", "CPU");
    if (Result<void> given = visitor.on_event(builder.finish(0)); !given) return given;
  }
  if (!from.database.has("ThreadNames", "globalTid") || !from.database.has("ThreadNames", "nameId")) return {};
  Result<Rows> threads = from.database.rows("ThreadNames", {"globalTid", "nameId"},
                                            "WHERE " + is_of_process(from.database, "ThreadNames", "globalTid", from.process));
  if (!threads) return threads.error();
  for (;;) {
    const Result<bool> more = threads->next();
    if (!more) return more.error();
    if (!*more) return {};
    const auto thread = threads->integer(0);
    const auto id = threads->integer(1);
    if (!thread || !id) continue;
    const Result<std::string_view> name = from.strings.text(*id);
    if (!name) return name.error();
    if (name->empty()) continue;
    name_event(builder, "thread_name", pid_of(*thread), tid_of(*thread), "name", *name);
    if (Result<void> given = visitor.on_event(builder.finish(static_cast<std::uint64_t>(threads->integer(2).value_or(0))));
        !given)
      return given;
  }
}

}  // namespace graphtag::nsys
