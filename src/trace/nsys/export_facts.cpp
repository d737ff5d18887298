#include "trace/nsys/export_facts.h"

#include <array>
#include <map>
#include <set>
#include <utility>

#include "base/utf8.h"
#include "trace/nsys/global_id.h"
#include "trace/nsys/nvtx_ranges.h"

namespace graphtag::nsys {
namespace {

constexpr std::array<std::string_view, 3> kNodeTables = {"CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY",
                                                         "CUPTI_ACTIVITY_KIND_MEMSET"};
constexpr std::string_view kGraphTable = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE";
constexpr std::int64_t kDevicesMax = 4096;
constexpr std::size_t kProcessesMax = 4096;

// Calls `use` for each row until it says false.
template <typename Use>
Result<void> for_each(Result<Rows> rows, Use use) {
  if (!rows) return rows.error();
  for (;;) {
    const Result<bool> more = rows->next();
    if (!more) return more.error();
    if (!*more || !use(*rows)) return {};
  }
}

Result<bool> has_row(Database& database, std::string_view table, const std::string& condition) {
  bool found = false;
  const Result<void> read = for_each(database.rows(table, {}, "WHERE " + condition + " LIMIT 1"), [&found](const Rows&) {
    found = true;
    return false;
  });
  if (!read) return read.error();
  return found;
}

// "101 (python3), 102 (python3)"
Result<std::string> listed(Database& database, const std::set<std::int64_t>& processes) {
  std::map<std::int64_t, std::string> names;
  if (database.has("PROCESSES", "globalPid")) {
    const Result<void> read = for_each(database.rows("PROCESSES", {"globalPid", "name"}), [&names](const Rows& row) {
      if (const auto id = row.integer(0)) names[process_of(*id)] = valid_utf8(row.text(1).value_or("").substr(0, 64));
      return names.size() < kProcessesMax;
    });
    if (!read) return read.error();
  }
  std::string text;
  for (const std::int64_t process : processes) {
    text += (text.empty() ? "" : ", ") + std::to_string(pid_of(process));
    if (!names[process].empty()) text += " (" + names[process] + ")";
  }
  return text;
}

std::string value_of(Database& database, std::string_view table, const std::string& name) {
  std::string value;
  if (!database.has(table, "name") || !database.has(table, "value")) return value;
  // What is missing here only makes the description shorter.
  const Result<void> read =
      for_each(database.rows(table, {"value"}, "WHERE [name]='" + name + "' LIMIT 1"), [&value](const Rows& row) {
        value = valid_utf8(row.text(0).value_or("").substr(0, 64));
        return false;
      });
  return read ? value : std::string{};
}

// The names of the devices that the process sees, by their CUDA ordinal.
Result<std::vector<std::string>> device_names(Database& database, std::optional<std::int64_t> process) {
  std::map<std::int64_t, std::string> gpus;  // number in the export -> name
  Result<void> read = for_each(database.rows("TARGET_INFO_GPU", {"id", "name"}), [&gpus](const Rows& row) {
    if (const auto id = row.integer(0)) gpus[*id] = valid_utf8(row.text(1).value_or("").substr(0, 256));
    return gpus.size() < kDevicesMax;
  });
  if (!read) return read.error();
  std::map<std::int64_t, std::string> devices;
  if (database.has("TARGET_INFO_CUDA_DEVICE", "cudaId") && process) {
    const std::string rest =
        database.has("TARGET_INFO_CUDA_DEVICE", "pid") ? "WHERE [pid]=" + std::to_string(pid_of(*process)) : std::string{};
    read = for_each(database.rows("TARGET_INFO_CUDA_DEVICE", {"cudaId", "gpuId"}, rest), [&](const Rows& row) {
      const auto gpu = gpus.find(row.integer(1).value_or(-1));
      if (const auto id = row.integer(0); id && gpu != gpus.end()) devices[*id] = gpu->second;
      return devices.size() < kDevicesMax;
    });
    if (!read) return read.error();
  }
  if (devices.empty()) devices = std::move(gpus);
  std::vector<std::string> names;
  for (auto& [id, name] : devices) {
    if (id < 0 || id >= kDevicesMax) continue;
    names.resize(static_cast<std::size_t>(id) + 1);
    names.back() = std::move(name);
  }
  return names;
}

}  // namespace

std::string is_of_process(const Database& database, std::string_view table, std::string_view id_column,
                          std::optional<std::int64_t> process) {
  if (!process || !database.has(table, id_column)) return "1";
  return "([" + std::string(id_column) + "] & ~16777215) = " + std::to_string(*process);
}

Result<void> check_is_export(Database& database, const std::string& path) {
  for (const std::string_view table : {std::string_view("META_DATA_EXPORT"), std::string_view("META_DATA_CAPTURE"),
                                       kNodeTables[0], kNodeTables[1], kNodeTables[2], kGraphTable}) {
    if (database.has(table)) return {};
  }
  return Error{
      ErrorCode::unsupported,
      "it is an SQLite database, but none that Nsight Systems exported; give it the file that nsys export --type sqlite writes",
      path,
      {}};
}

Result<std::optional<std::int64_t>> choose_process(Database& database, const std::string& path,
                                                   std::optional<std::int64_t> wanted_pid) {
  std::set<std::int64_t> processes;
  const auto collect = [&](std::string_view table, const std::string& column) {
    if (!database.has(table, column)) return Result<void>();
    const std::string process = "([" + column + "] & ~16777215)";
    return for_each(database.rows(table, {column}, "WHERE [" + column + "] IS NOT NULL GROUP BY " + process),
                    [&](const Rows& row) {
                      if (const auto id = row.integer(0)) processes.insert(process_of(*id));
                      return processes.size() < kProcessesMax;
                    });
  };
  for (const std::string_view table : {kNodeTables[0], kNodeTables[1], kNodeTables[2], kGraphTable}) {
    if (Result<void> read = collect(table, "globalPid"); !read) return read.error();
  }
  // Old exporters do not say whose a record is; then it is of whoever called CUDA.
  if (processes.empty()) {
    if (Result<void> read = collect("CUPTI_ACTIVITY_KIND_RUNTIME", "globalTid"); !read) return read.error();
  }
  if (!wanted_pid && processes.size() < 2) {
    return processes.empty() ? std::optional<std::int64_t>() : std::optional(*processes.begin());
  }
  const Result<std::string> list = listed(database, processes);
  if (!list) return list.error();
  if (!wanted_pid) {
    return Error{ErrorCode::invalid_argument,
                 "it has GPU work of several processes: " + *list + "; choose one with --process PID",
                 path,
                 {}};
  }
  for (const std::int64_t process : processes) {
    if (pid_of(process) == *wanted_pid) return std::optional(process);
  }
  return Error{
      ErrorCode::invalid_argument,
      "it has no GPU work of process " + std::to_string(*wanted_pid) + "; there is work of " + (list->empty() ? "none" : *list),
      path,
      {}};
}

Result<void> check_has_nodes(Database& database, const std::string& path, std::optional<std::int64_t> process) {
  const Result<bool> whole = has_row(database, kGraphTable, is_of_process(database, kGraphTable, "globalPid", process));
  if (!whole) return whole.error();
  if (!*whole) return {};
  for (const std::string_view table : kNodeTables) {
    if (!database.has(table, "graphNodeId")) continue;
    const Result<bool> node =
        has_row(database, table, "[graphNodeId] IS NOT NULL AND " + is_of_process(database, table, "globalPid", process));
    if (!node) return node.error();
    if (*node) return {};
  }
  return Error{
      ErrorCode::unsupported,
      "its CUDA graphs were recorded as a whole, one record a launch, so there are no kernels to name; record again with nsys "
      "profile --cuda-graph-trace=node --trace=cuda,nvtx, and export that",
      path,
      {}};
}

Result<TraceInfo> read_facts(Database& database, std::optional<std::int64_t> process) {
  TraceInfo info;
  if (process) info.pid = pid_of(*process);
  const std::string version = value_of(database, "META_DATA_CAPTURE", "NSIGHT_SYSTEMS_VERSION");
  std::string schema = value_of(database, "META_DATA_EXPORT", "EXPORT_SCHEMA_VERSION");
  if (schema.empty()) schema = value_of(database, "META_DATA_CAPTURE", "EXPORT_SCHEMA_VERSION");
  info.producer = "Nsight Systems" + (version.empty() ? "" : " " + version) + (schema.empty() ? "" : ", export schema " + schema);

  Result<void> read = for_each(database.rows("TARGET_INFO_SESSION_START_TIME", {"utcEpochNs"}), [&info](const Rows& row) {
    info.base_time_ns = row.integer(0);
    return false;
  });
  if (!read) return read.error();
  if (process && database.has("MPI_RANKS", "globalPid")) {
    const std::string rest = "WHERE " + is_of_process(database, "MPI_RANKS", "globalPid", process);
    read = for_each(database.rows("MPI_RANKS", {"rank"}, rest), [&info](const Rows& row) {
      info.rank = row.integer(0);
      return false;
    });
    if (!read) return read.error();
  }
  Result<std::vector<std::string>> devices = device_names(database, process);
  if (!devices) return devices.error();
  info.device_names = *std::move(devices);
  info.annotation_keys = nvtx_keys();
  return info;
}

}  // namespace graphtag::nsys
