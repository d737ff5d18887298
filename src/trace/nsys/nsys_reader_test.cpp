#include "trace/nsys/nsys_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "tests/support/join_fixtures.h"
#include "tests/support/named_events.h"
#include "tests/support/nsys_export.h"

namespace graphtag {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::NsysExport;
using testing::small_export;
using testing::TempFolder;
using Reading = test::NamedReading;
using test::NamedEvent;

std::vector<std::string> kernel_names(const Reading& reading) {
  std::vector<std::string> names;
  for (const NamedEvent& kernel : reading.of(EventKind::kernel))
    names.push_back(kernel.origin == Origin::callback ? kernel.name : "(" + std::string(to_string(kernel.origin)) + ")");
  return names;
}

Reading read(const std::string& path, std::optional<std::int64_t> process = {}) {
  Reading reading;
  test::NamedCollector visitor(reading);
  ReadOptions options;
  options.process = process;
  // Through the front door, which tells the format by the file's content.
  Result<ReadResult> result = read_trace(path, visitor, options);
  if (result) {
    reading.result = *std::move(result);
  } else {
    reading.error = result.error().to_string();
  }
  return reading;
}

Reading read_made(NsysExport made, const testing::ExportVersion& version = {}) {
  const TempFolder folder;
  made.write(folder.path("a.sqlite"), version);
  return read(folder.path("a.sqlite"));
}

class Versions : public ::testing::TestWithParam<testing::ExportVersion> {};

TEST_P(Versions, NameReplayedKernelsByTheRangesOfTheirCapture) {
  const Reading reading = read_made(small_export(), GetParam());
  ASSERT_EQ(reading.error, "");
  EXPECT_TRUE(reading.result.problems.empty()) << test::describe(reading.result.problems);
  const std::string outside = "(outside-scope)";
  const std::string eager = reading.of(EventKind::kernel).back().origin == Origin::unknown_graph ? "(unknown-graph)" : "wrong";
  // Without textId the texts stand in the rows.
  EXPECT_THAT(kernel_names(reading),
              ElementsAre("attention", "mlp", "decoder", outside, "attention", "mlp", "decoder", outside, eager));
  const auto kernels = reading.of(EventKind::kernel);
  EXPECT_THAT(kernels[0].path, ElementsAre("decoder", "attention"));
  EXPECT_THAT(kernels[2].path, ElementsAre("decoder"));
  EXPECT_EQ(kernels[0].annotation,
            Json::parse(R"({"name":"attention","nvtx_domain":"layers","nvtx_category":"phase","nvtx_payload":12})"));
  EXPECT_EQ(kernels[1].annotation, Json::parse(R"({"name":"mlp"})"));
  EXPECT_EQ(reading.result.info.pid, 100);
  EXPECT_EQ(reading.result.info.base_time_ns, 1790857026000000000);
  EXPECT_EQ(reading.result.info.producer, "Nsight Systems 2025.1.1, export schema " + GetParam().name);
  EXPECT_EQ(reading.result.info.device_names,
            GetParam().devices ? std::vector<std::string>{"NVIDIA B"} : std::vector<std::string>{});
}

TEST_P(Versions, GiveTheSameEventsAsTheirTextReadAgain) {
  test::expect_events_are_what_their_text_says(read_made(small_export(), GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Of, Versions, ::testing::ValuesIn(testing::export_versions()), [](const auto& test) {
  std::string name = test.param.name;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
});

TEST(ReadNsys, TheKernelsArgs) {
  const Reading reading = read_made(small_export());
  EXPECT_EQ(nlohmann::json::parse(reading.of(EventKind::kernel)[1].json), nlohmann::json::parse(R"({
    "ph":"X","cat":"kernel","name":"gemm<1>","pid":0,"tid":7,"ts":10.1,"dur":0.08,
    "args":{"device":0,"context":1,"stream":7,"correlation":50,"registers per thread":32,"shared memory":3072,
            "grid":[8,2,1],"block":[128,1,1],"graph id":3,"graph node id":12884901889}})"));
}

TEST(ReadNsys, EventsComeInTheOrderOfTheirStartAndArrowsJoinThem) {
  NsysExport made = small_export();
  std::reverse(made.kernels.begin(), made.kernels.end());
  std::reverse(made.nvtx.begin(), made.nvtx.end());
  const Reading reading = read_made(made);
  double last = -1;
  std::map<std::string, std::pair<int, int>> arrows;  // id -> starts, ends
  for (const NamedEvent& event : reading.events) {
    const auto json = nlohmann::json::parse(event.json);
    EXPECT_GE(json["ts"].get<double>(), last);
    last = json["ts"];
    if (json["ph"] == "s") ++arrows[json["id"].dump()].first;
    if (json["ph"] == "f") ++arrows[json["id"].dump()].second;
  }
  EXPECT_EQ(arrows["50"], std::pair(1, 4));
  EXPECT_EQ(arrows["51"], std::pair(1, 4));
  EXPECT_EQ(reading.of(EventKind::host_slice).size(), 2U + 3U);
}

TEST(ReadNsys, CopiesAndMemsets) {
  NsysExport made = small_export();
  made.more_sql =
      "CREATE TABLE ENUM_CUDA_MEM_KIND (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);"
      "INSERT INTO ENUM_CUDA_MEM_KIND VALUES (1, 'CUDA_MEMOPR_MEMORY_KIND_PINNED', 'Pinned'), (2, '', 'Device');"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId "
      "INTEGER,"
      "correlationId INTEGER, globalPid INTEGER, bytes INTEGER, copyKind INTEGER, srcKind INTEGER, dstKind INTEGER, graphNodeId "
      "INTEGER);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (5000,5100,0,1,7,60,NULL,4096,1,1,2,12884901889),"
      "(5200,5300,0,1,7,61,NULL,8,77,NULL,NULL,NULL);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId "
      "INTEGER,"
      "correlationId INTEGER, globalPid INTEGER, value INTEGER, bytes INTEGER, graphNodeId INTEGER, memKind INTEGER);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (5400,5500,0,1,7,62,NULL,0,256,12884901888,2);"
      "UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET globalPid=" +
      std::to_string(testing::global_pid(100)) +
      ";"
      "UPDATE CUPTI_ACTIVITY_KIND_MEMSET SET globalPid=" +
      std::to_string(testing::global_pid(100)) + ";";
  const Reading reading = read_made(made);
  ASSERT_EQ(reading.error, "");
  const auto copies = reading.of(EventKind::memcpy);
  ASSERT_EQ(copies.size(), 2U);
  EXPECT_EQ(nlohmann::json::parse(copies[0].json)["name"], "Memcpy HtoD (Pinned -> Device)");
  EXPECT_EQ(nlohmann::json::parse(copies[0].json)["args"]["bytes"], 4096);
  EXPECT_EQ(copies[0].name, "mlp");
  EXPECT_EQ(nlohmann::json::parse(copies[1].json)["name"], "Memcpy kind-77");
  const auto memsets = reading.of(EventKind::memset);
  ASSERT_EQ(memsets.size(), 1U);
  EXPECT_EQ(memsets[0].name, "attention");
}

TEST(ReadNsys, FollowsCopiesOfCopiesAndStopsAtCircles) {
  constexpr std::int64_t kGraph = std::int64_t{9} << 32;
  NsysExport made;
  made.nvtx = {{.start = 0, .end = 100, .text = "a"}};
  made.nodes = {{.start = 10, .node = kGraph | 1},
                {.start = 500, .node = kGraph | 2, .original = kGraph | 1},
                {.start = 600, .node = kGraph | 3, .original = kGraph | 2},
                {.start = 20, .node = kGraph | 4, .original = kGraph | 5},
                {.start = 20, .node = kGraph | 5, .original = kGraph | 4},
                {.start = 20, .node = kGraph | 6, .original = kGraph | 77},  // was made before the recording
                {.start = 20, .node = kGraph | 7, .original = kGraph | 7}};  // its own original
  for (std::int64_t i = 1; i <= 8; ++i) made.kernels.push_back({.start = 1000 * i, .end = 1000 * i + 1, .node = kGraph | i});
  const Reading reading = read_made(made);
  const std::string before = "(captured-before-start)";
  EXPECT_THAT(kernel_names(reading), ElementsAre("a", "a", "a", before, before, before, "a", before));
  EXPECT_EQ(reading.result.problems[ProblemKind::node_cycle].count, 1U);
}

TEST(ReadNsys, OnlyRangesOfTheSameThreadCount) {
  constexpr std::int64_t kGraph = std::int64_t{9} << 32;
  NsysExport made;
  made.nvtx = {{.start = 0, .end = 100, .thread = testing::global_tid(100, 1), .text = "here"},
               {.start = 0, .end = 100, .thread = testing::global_tid(100, 2), .text = "elsewhere"},
               {.start = 40, .text = "never closed", .shared_text = true}};
  made.nvtx.back().thread = testing::global_tid(100, 1);
  made.nodes = {{.start = 10, .node = kGraph | 1, .original = {}, .thread = testing::global_tid(100, 1)},
                {.start = 50, .node = kGraph | 2, .original = {}, .thread = testing::global_tid(100, 1)},
                {.start = 99, .node = kGraph | 3, .original = {}, .thread = testing::global_tid(100, 3)},
                {.start = 5000, .node = kGraph | 4, .original = {}, .thread = testing::global_tid(100, 1)},
                {.start = 100, .node = kGraph | 5, .original = {}, .thread = testing::global_tid(100, 2)}};
  for (std::int64_t i = 1; i <= 5; ++i) made.kernels.push_back({.start = 10000 * i, .end = 10000 * i + 1, .node = kGraph | i});
  EXPECT_THAT(kernel_names(read_made(made)),
              ElementsAre("here", "never closed", "(outside-scope)", "never closed", "(outside-scope)"));
}

TEST(ReadNsys, TheDefaultDomainIsNamedWithinAnother) {
  NsysExport made = small_export();
  made.nvtx[2].domain = 5;  // decoder; attention is in it too, mlp is not
  const auto kernels = read_made(made).of(EventKind::kernel);
  EXPECT_EQ(kernels[0].annotation["nvtx_domain"], "layers");
  EXPECT_EQ(kernels[1].annotation["nvtx_domain"], "default");
  EXPECT_EQ(kernels[2].annotation["nvtx_domain"], "layers");
}

TEST(ReadNsys, ACategoryStaysInItsDomain) {
  constexpr std::int64_t kGraph = std::int64_t{9} << 32;
  NsysExport made;
  made.nvtx = {{.start = 0, .text = "A", .type = 75, .domain = 1},
               {.start = 0, .text = "B", .type = 75, .domain = 2},
               {.start = 0, .text = "alloc", .type = 33, .domain = 1, .category = 3},
               {.start = 10, .end = 90, .text = "outer", .domain = 1, .category = 3},
               {.start = 20, .end = 80, .text = "same", .domain = 1, .int64_value = 5},
               {.start = 30, .end = 60, .text = "other", .domain = 2},
               {.start = 40, .end = 50, .text = "back", .domain = 1},
               {.start = 62, .end = 66, .text = "default"},
               {.start = 70, .end = 75, .text = "own", .domain = 2, .category = 4}};
  for (const std::int64_t start : {15, 25, 35, 45, 64, 72}) {
    const std::int64_t node = kGraph | start;
    made.nodes.push_back({.start = start, .node = node});
    made.kernels.push_back({.start = 1000 + start, .end = 1000 + start + 1, .node = node});
  }
  std::map<std::string, std::string> categories;
  for (const NamedEvent& kernel : read_made(made).of(EventKind::kernel)) {
    categories[kernel.name] = kernel.annotation.value("nvtx_category", Json()).dump();
    // Payloads are inherited.
    EXPECT_EQ(kernel.annotation.value("nvtx_payload", Json()), kernel.name == "outer" ? Json() : Json(5)) << kernel.name;
  }
  // 0 is NVTX's number for none. "back" is in the domain of the category again, but within a range that has none.
  const std::map<std::string, std::string> expected = {{"outer", "\"alloc\""}, {"same", "\"alloc\""}, {"other", "0"},
                                                       {"back", "0"},          {"default", "0"},      {"own", "4"}};
  EXPECT_EQ(categories, expected);
}

TEST(ReadNsys, GraphsRecordedAsAWholeAreAnErrorThatSaysHowToRecordAgain) {
  NsysExport made = small_export();
  for (auto& kernel : made.kernels) kernel.node.reset();
  made.more_sql =
      "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId "
      "INTEGER,"
      "correlationId INTEGER, globalPid INTEGER, graphId INTEGER, graphExecId INTEGER);";
  EXPECT_EQ(read_made(made).error, "");  // the table alone says nothing
  made.more_sql +=
      "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (1,2,0,1,7,5," + std::to_string(testing::global_pid(100)) + ",2,3);";
  EXPECT_THAT(read_made(made).error, HasSubstr("--cuda-graph-trace=node"));
  // Beside records of nodes they are shown.
  made.kernels[0].node = std::int64_t{3} << 32;
  const Reading mixed = read_made(made);
  ASSERT_EQ(mixed.error, "");
  EXPECT_THAT(mixed.events, ::testing::Contains(::testing::Field(&NamedEvent::json, HasSubstr("\"CUDA graph 3\""))));
}

TEST(ReadNsys, OfSeveralProcessesOneIsChosen) {
  NsysExport made = small_export();
  const NsysExport one = made;
  // The same ids in another process, under other ranges.
  for (const auto& row : one.nvtx) {
    made.nvtx.push_back(row);
    made.nvtx.back().thread = testing::global_tid(200, 201);
    *made.nvtx.back().text += " of 200";
  }
  for (auto row : one.nodes) {
    row.thread = testing::global_tid(200, 201);
    made.nodes.push_back(row);
  }
  for (auto row : one.kernels) {
    row.pid = testing::global_pid(200);
    made.kernels.push_back(row);
  }
  const TempFolder folder;
  const std::string path = folder.path("a.sqlite");
  made.write(path);
  const std::string error = read(path).error;
  EXPECT_THAT(error, HasSubstr("100 (python3), 200 (server)"));
  EXPECT_THAT(error, HasSubstr("--process"));
  EXPECT_THAT(kernel_names(read(path, 100)), ::testing::Contains("attention").Times(2));
  const Reading other = read(path, 200);
  EXPECT_EQ(kernel_names(other).size(), one.kernels.size());
  EXPECT_THAT(kernel_names(other), ::testing::Contains("attention of 200").Times(2));
  // Ids of domains and categories are a process's own too.
  EXPECT_EQ(other.of(EventKind::kernel)[0].annotation["nvtx_domain"], "layers of 200");
  EXPECT_EQ(other.of(EventKind::kernel)[0].annotation["nvtx_category"], "phase of 200");
  EXPECT_THAT(other.events, ::testing::Contains(::testing::Field(&NamedEvent::json, HasSubstr("\"layers of 200\""))));
  EXPECT_THAT(other.events, ::testing::Not(::testing::Contains(::testing::Field(&NamedEvent::json, HasSubstr("\"layers\"")))));
  EXPECT_THAT(other.result.info.device_names, ElementsAre("NVIDIA A"));
  EXPECT_THAT(read(path, 300).error, HasSubstr("no GPU work of process 300"));
}

TEST(ReadNsys, WhatIsMissingIsCounted) {
  NsysExport made = small_export();
  made.kernels[0].end = 1;  // before its start
  made.kernels[1].start.reset();
  made.more_sql = "DELETE FROM StringIds WHERE value='gemm<2>';";
  const Reading reading = read_made(made);
  ASSERT_EQ(reading.error, "");
  EXPECT_EQ(reading.of(EventKind::kernel).size(), 9U);
  EXPECT_EQ(reading.result.problems[ProblemKind::bad_time].count, 2U);
  EXPECT_EQ(reading.result.problems[ProblemKind::missing_string].count, 2U);  // of two replays
  EXPECT_THAT(reading.result.problems[ProblemKind::missing_string].example, HasSubstr("CUPTI_ACTIVITY_KIND_KERNEL"));
}

TEST(ReadNsys, TextsThatAreNoUtf8AreKeptReadable) {
  NsysExport made = small_export();
  made.nvtx[3].text = "atten\xfftion \"x\"\n";
  const Reading reading = read_made(made);
  ASSERT_EQ(reading.error, "");
  EXPECT_EQ(kernel_names(reading)[0], "atten\xef\xbf\xbdtion \"x\"\n");
}

TEST(ReadNsys, OtherDatabasesAreRefused) {
  const TempFolder folder;
  const auto made_of = [&](const std::string& sql) {
    NsysExport made;
    made.more_sql = sql;
    made.write(folder.path("other.sqlite"));
    const std::string error = read(folder.path("other.sqlite")).error;
    std::filesystem::remove(folder.path("other.sqlite"));
    return error;
  };
  EXPECT_THAT(made_of("DROP TABLE META_DATA_EXPORT; DROP TABLE META_DATA_CAPTURE;"),
              HasSubstr("none that Nsight Systems exported"));
  // Views run somebody's code.
  EXPECT_EQ(
      made_of("CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE c(start) AS (VALUES(1) UNION ALL SELECT start+1 FROM c) "
              "SELECT start, start AS end, 1 AS graphNodeId FROM c;"),
      "");
  EXPECT_THAT(made_of("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER PRIMARY KEY, end INTEGER) WITHOUT ROWID;"),
              HasSubstr("rowid"));
}

TEST(ReadNsys, LeavesNothingBesideTheFileAndNeedsNoRightToWrite) {
  const TempFolder folder;
  const std::string path = folder.path("with space %41?#.sqlite");
  small_export().write(path);
  std::filesystem::permissions(path, std::filesystem::perms::owner_read);
  const auto before = std::filesystem::last_write_time(path);
  EXPECT_EQ(read(path).error, "");
  EXPECT_EQ(std::filesystem::last_write_time(path), before);
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) files += entry.is_regular_file() ? 1 : 0;
  EXPECT_EQ(files, 1U);
  (void)folder.write("with space %41?#.sqlite-journal", "unfinished");
  EXPECT_THAT(read(path).error, HasSubstr("-journal lies beside it"));
}

TEST(ReadNsys, CutAndDamagedFilesAreErrorsThatSayWhatToDo) {
  const TempFolder folder;
  small_export().write(folder.path("whole.sqlite"), {}, 512);
  const Result<std::string> whole = read_file(folder.path("whole.sqlite"), 1 << 20);
  ASSERT_TRUE(whole.ok());
  for (std::size_t size = 16; size < whole->size(); size += 509) {
    EXPECT_THAT(read(folder.write("cut.sqlite", whole->substr(0, size))).error, HasSubstr("nsys export")) << size;
  }
  for (std::size_t at = 100; at < whole->size(); at += 97) {
    std::string damaged = *whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x5a);
    const std::string error = read(folder.write("damaged.sqlite", damaged)).error;
    EXPECT_TRUE(error.empty() || error.find("damaged.sqlite: ") != std::string::npos) << error;
  }
  EXPECT_THAT(read(folder.write("head.sqlite", std::string("SQLite format 3\0", 16))).error, HasSubstr("nsys export"));
}

// A page that many entries of its parent name as their child gives its rows many times over.
TEST(ReadNsys, PagesNamedManyTimesEndTheReading) {
  const TempFolder folder;
  NsysExport made;
  for (std::int64_t i = 0; i < 3000; ++i) made.kernels.push_back({.start = i, .end = i + 1, .node = {}});
  made.write(folder.path("a.sqlite"), {}, 512);
  Result<std::string> content = read_file(folder.path("a.sqlite"), 8 << 20);
  ASSERT_TRUE(content.ok());
  std::string& bytes = *content;
  // Every inner page of a table (type 5) gets its cells to name the page's own number: depth is limited, breadth is not.
  std::size_t bent = 0;
  for (std::size_t page = 512; page + 512 <= bytes.size(); page += 512) {
    if (bytes[page] != 5) continue;
    const auto u16 = [&](std::size_t at) {
      return static_cast<std::size_t>(static_cast<unsigned char>(bytes[at])) << 8 | static_cast<unsigned char>(bytes[at + 1]);
    };
    const std::size_t cells = u16(page + 3);
    const std::size_t first = page + u16(page + 12);
    for (std::size_t cell = 1; cell < cells; ++cell) {
      const std::size_t at = page + u16(page + 12 + 2 * cell);
      if (first + 4 <= bytes.size() && at + 4 <= bytes.size()) bytes.replace(at, 4, bytes.substr(first, 4));
    }
    ++bent;
  }
  ASSERT_GT(bent, 0U);
  const Reading reading = read(folder.write("bent.sqlite", bytes));
  EXPECT_LE(reading.events.size(), 100000U);
}

TEST(ReadNsys, ACompressedDatabaseIsToBeUnpacked) {
  const TempFolder folder;
  small_export().write(folder.path("a.sqlite"));
  auto sink = open_sink(folder.path("a.sqlite.gz"), true);
  ASSERT_TRUE(sink.ok());
  ASSERT_TRUE((*sink)->write(*read_file(folder.path("a.sqlite"), 1 << 20)).ok());
  ASSERT_TRUE((*sink)->finish().ok());
  EXPECT_THAT(read(folder.path("a.sqlite.gz")).error, HasSubstr("unpack it"));
}

TEST(ReadNsys, ARangeDeeperThanIsFollowedIsCounted) {
  constexpr std::int64_t kGraph = std::int64_t{9} << 32;
  NsysExport made;
  for (std::int64_t i = 0; i < 1030; ++i) made.nvtx.push_back({.start = i, .end = 100000, .text = "r"});
  made.nodes = {{.start = 5000, .node = kGraph | 1}};
  made.kernels = {{.start = 9000, .end = 9001, .node = kGraph | 1}};
  const Reading reading = read_made(made);
  EXPECT_EQ(reading.result.problems[ProblemKind::deep_ranges].count, 6U);
  EXPECT_THAT(kernel_names(reading), ElementsAre("r"));
}

}  // namespace
}  // namespace graphtag
