// Small exports of Nsight Systems, made with SQLite from the published schema, in the dress of several schema versions.
#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace graphtag::testing {

using Integer = std::optional<std::int64_t>;  // nothing: NULL

constexpr std::int64_t global_pid(std::int64_t pid) {
  return std::int64_t{1} << 56 | pid << 24;
}
constexpr std::int64_t global_tid(std::int64_t pid, std::int64_t tid) {
  return global_pid(pid) | tid;
}

struct NvtxRow {
  std::int64_t start = 0;
  Integer end = {};
  std::int64_t thread = global_tid(100, 101);
  std::optional<std::string> text = {};
  bool shared_text = false;  // in StringIds
  std::int64_t type = 59;
  std::int64_t domain = 0;
  Integer category = {};
  Integer int64_value = {};
};

struct NodeRow {
  std::int64_t start = 0;
  std::int64_t node = 0;
  Integer original = {};
  Integer thread = global_tid(100, 101);
};

struct KernelRow {
  Integer start = {}, end = {};
  Integer node = {};
  Integer correlation = 1;
  Integer pid = global_pid(100);
  std::string name = "gemm";
  std::int64_t stream = 7;
};

struct CallRow {
  std::int64_t start = 0, end = 0;
  std::string name = "cudaGraphLaunch_v10000";
  Integer correlation = 1;
  std::int64_t thread = global_tid(100, 101);
};

// Which tables and columns a version of the exporter writes.
struct ExportVersion {
  std::string name = "3.28";
  bool green_contexts = true;  // greenContextId
  bool json_payloads = true;   // jsonText, jsonTextId
  bool mangled_names = true;
  bool text_ids = true;            // NVTX_EVENTS.textId
  bool string_keys = true;         // StringIds.id is its primary key
  bool devices = true;             // TARGET_INFO_CUDA_DEVICE, PROCESSES
  bool zeros_for_nothing = false;  // 0 where others write NULL
};

inline std::vector<ExportVersion> export_versions() {
  ExportVersion newest;
  ExportVersion middle;
  middle.name = "3.15";
  middle.green_contexts = false;
  ExportVersion oldest = middle;
  oldest.name = "3.10";
  oldest.json_payloads = oldest.mangled_names = oldest.devices = false;
  ExportVersion bare = oldest;
  bare.name = "bare";
  bare.text_ids = bare.string_keys = false;
  bare.zeros_for_nothing = true;
  return {newest, middle, oldest, bare};
}

struct NsysExport {
  std::vector<NvtxRow> nvtx;
  std::vector<NodeRow> nodes;
  std::vector<KernelRow> kernels;
  std::vector<CallRow> calls;
  std::string more_sql;  // at the end

  // The numbers of texts in StringIds: as the file has them.
  std::map<std::string, std::int64_t> strings;

  void write(const std::string& path, const ExportVersion& version = {}, int page_size = 1024) {
    std::string sql = "PRAGMA page_size=" + std::to_string(page_size) + "; BEGIN;";
    sql +=
        "CREATE TABLE META_DATA_EXPORT (name TEXT NOT NULL, value TEXT);"
        "INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '" +
        version.name +
        "');"
        "CREATE TABLE META_DATA_CAPTURE (name TEXT NOT NULL, value TEXT);"
        "INSERT INTO META_DATA_CAPTURE VALUES ('NSIGHT_SYSTEMS_VERSION', '2025.1.1');"
        "CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, localTime TEXT);"
        "INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1790857026000000000, '', '');";
    if (version.devices) {
      sql +=
          "CREATE TABLE TARGET_INFO_GPU (id INTEGER NOT NULL PRIMARY KEY, name TEXT);"
          "INSERT INTO TARGET_INFO_GPU VALUES (0, 'NVIDIA A'), (3, 'NVIDIA B');"
          "CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER, pid INTEGER, uuid TEXT);"
          "INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (3, 0, 100, ''), (0, 0, 200, '');"
          "CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);"
          "INSERT INTO PROCESSES VALUES (" +
          std::to_string(global_pid(100)) + ", 100, 'python3'), (" + std::to_string(global_pid(200)) + ", 200, 'server');";
    }
    if (!nvtx.empty()) sql += nvtx_table(version);
    if (!nodes.empty()) sql += node_table(version);
    if (!kernels.empty()) sql += kernel_table(version);
    if (!calls.empty()) sql += call_table(version);
    // Last, as the tables above collect the texts.
    sql += std::string("CREATE TABLE StringIds (id INTEGER NOT NULL") + (version.string_keys ? " PRIMARY KEY" : "") +
           ", value TEXT NOT NULL);";
    for (const auto& [text, id] : strings)
      sql += "INSERT INTO StringIds VALUES (" + std::to_string(id) + ", " + quoted(text) + ");";
    sql += more_sql + "COMMIT;";

    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
    char* message = nullptr;
    EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, &message), SQLITE_OK) << message;
    sqlite3_free(message);
    ASSERT_EQ(sqlite3_close(database), SQLITE_OK);
  }

 private:
  static std::string quoted(const std::string& text) {
    std::string out = "CAST(x'";
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      out += "0123456789abcdef"[byte >> 4];
      out += "0123456789abcdef"[byte & 15];
    }
    return out + "' AS TEXT)";
  }
  static std::string number(const Integer& value) { return value ? std::to_string(*value) : "NULL"; }
  std::string text_id(const std::string& text) {
    return std::to_string(strings.emplace(text, static_cast<std::int64_t>(strings.size()) + 10).first->second);
  }

  std::string nvtx_table(const ExportVersion& version) {
    std::string sql =
        "CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER, category "
        "INTEGER,"
        "color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, domainId INTEGER, uint64Value INTEGER,"
        "int64Value INTEGER, doubleValue REAL, uint32Value INTEGER, int32Value INTEGER, floatValue REAL" +
        std::string(version.text_ids ? ", textId INTEGER" : "") +
        (version.json_payloads ? ", jsonTextId INTEGER, jsonText TEXT" : "") + ");";
    for (const NvtxRow& row : nvtx) {
      const bool shared = row.shared_text && version.text_ids && row.text;
      sql += "INSERT INTO NVTX_EVENTS (start,end,eventType,category,text,globalTid,domainId,int64Value" +
             std::string(shared ? ",textId" : "") + (version.zeros_for_nothing ? ",uint64Value,uint32Value,doubleValue" : "") +
             ") VALUES (" + std::to_string(row.start) + "," + number(row.end) + "," + std::to_string(row.type) + "," +
             number(row.category) + "," + (shared || !row.text ? "NULL" : quoted(*row.text)) + "," + std::to_string(row.thread) +
             "," + std::to_string(row.domain) + "," +
             (version.zeros_for_nothing ? std::to_string(row.int64_value.value_or(0)) : number(row.int64_value)) +
             (shared ? "," + text_id(*row.text) : "") + (version.zeros_for_nothing ? ",0,0,0.0" : "") + ");";
    }
    return sql;
  }

  std::string node_table(const ExportVersion& version) {
    std::string sql =
        "CREATE TABLE CUDA_GRAPH_NODE_EVENTS (start INTEGER NOT NULL, end INTEGER NOT NULL, nameId INTEGER, globalTid INTEGER,"
        "graphNodeId INTEGER NOT NULL, originalGraphNodeId INTEGER);";
    for (const NodeRow& row : nodes) {
      const Integer original = row.original || !version.zeros_for_nothing ? row.original : Integer(0);
      sql += "INSERT INTO CUDA_GRAPH_NODE_EVENTS VALUES (" + std::to_string(row.start) + "," + std::to_string(row.start) + "," +
             text_id("Graph Node Creation") + "," + number(row.thread) + "," + std::to_string(row.node) + "," + number(original) +
             ");";
    }
    return sql;
  }

  std::string kernel_table(const ExportVersion& version) {
    std::string sql =
        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER NOT NULL, contextId INTEGER NOT "
        "NULL," +
        std::string(version.green_contexts ? "greenContextId INTEGER," : "") +
        "streamId INTEGER NOT NULL, correlationId INTEGER,"
        "globalPid INTEGER, demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL," +
        (version.mangled_names ? "mangledName INTEGER," : "") +
        "registersPerThread INTEGER NOT NULL, gridX INTEGER NOT NULL, gridY INTEGER NOT NULL, gridZ INTEGER NOT NULL, blockX "
        "INTEGER NOT NULL,"
        "blockY INTEGER NOT NULL, blockZ INTEGER NOT NULL, staticSharedMemory INTEGER NOT NULL, dynamicSharedMemory INTEGER NOT "
        "NULL,"
        "graphNodeId INTEGER);";
    for (const KernelRow& row : kernels) {
      const Integer node = row.node || !version.zeros_for_nothing ? row.node : Integer(0);
      sql +=
          "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL "
          "(start,end,deviceId,contextId,streamId,correlationId,globalPid,demangledName,shortName,"
          "registersPerThread,gridX,gridY,gridZ,blockX,blockY,blockZ,staticSharedMemory,dynamicSharedMemory,graphNodeId) VALUES "
          "(" +
          number(row.start) + "," + number(row.end) + ",0,1," + std::to_string(row.stream) + "," + number(row.correlation) + "," +
          number(row.pid) + "," + text_id(row.name) + "," + text_id(row.name) + ",32,8,2,1,128,1,1,1024,2048," + number(node) +
          ");";
    }
    return sql;
  }

  std::string call_table(const ExportVersion&) {
    std::string sql =
        "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL,"
        "globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER);";
    for (const CallRow& row : calls) {
      sql += "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (" + std::to_string(row.start) + "," + std::to_string(row.end) +
             ",0," + std::to_string(row.thread) + "," + number(row.correlation) + "," + text_id(row.name) + ",0,NULL);";
    }
    return sql;
  }
};

// Template graph 2 of four nodes captured under ranges, exec graph 3, two replays, and a kernel outside graphs:
//
//   decoder [100, 1000), attention [200, 400) within, mlp [500, 900) within; nodes at 300, 600, 950, 1500
inline NsysExport small_export() {
  constexpr std::int64_t kTemplate = std::int64_t{2} << 32, kExec = std::int64_t{3} << 32;
  NsysExport made;
  made.nvtx = {{.start = 0, .text = "layers", .type = 75, .domain = 5},
               {.start = 0, .text = "phase", .type = 33, .domain = 5, .category = 9},
               {.start = 100, .end = 1000, .text = "decoder", .shared_text = true},
               {.start = 200, .end = 400, .text = "attention", .domain = 5, .category = 9, .int64_value = 12},
               {.start = 500, .end = 900, .text = "mlp", .type = 60},
               {.start = 1100, .text = "here", .type = 34}};
  constexpr std::int64_t kTimes[] = {300, 600, 950, 1500};
  for (std::int64_t i = 0; i < 4; ++i) {
    made.nodes.push_back({.start = kTimes[i], .node = kTemplate | i});
    made.nodes.push_back({.start = 2000 + i, .node = kExec | i, .original = kTemplate | i});
  }
  for (std::int64_t replay = 0; replay < 2; ++replay) {
    const std::int64_t base = 10000 + replay * 1000;
    made.calls.push_back({.start = base - 100, .end = base - 10, .correlation = 50 + replay});
    for (std::int64_t i = 0; i < 4; ++i) {
      made.kernels.push_back({.start = base + i * 100,
                              .end = base + i * 100 + 80,
                              .node = kExec | i,
                              .correlation = 50 + replay,
                              .name = "gemm<" + std::to_string(i) + ">"});
    }
  }
  made.kernels.push_back({.start = 20000, .end = 20010, .node = {}, .correlation = 99, .name = "eager"});
  return made;
}

}  // namespace graphtag::testing
