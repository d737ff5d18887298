#include "trace/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace graphtag {
namespace {

const std::string kGolden = std::string(GRAPHTAG_SOURCE_DIR) + "/tests/golden/h200/";

// Decodes every event once more with nlohmann's parser and plain arithmetic, and compares.
class CheckingVisitor : public EventVisitor {
 public:
  Result<void> on_member(std::string_view key, std::string_view value, bool) override {
    members[std::string(key)] = nlohmann::json::parse(value);
    return {};
  }
  Result<void> on_events_begin(const TraceInfo& info) override {
    host_at_begin = info.host;
    return {};
  }
  Result<void> on_event(const Event& event) override {
    ++events;
    EXPECT_FALSE(event.repaired);
    // Numbers stay text, so that times can be compared digit by digit.
    const auto json = nlohmann::json::parse(event.json);
    check_tokens(event, json);
    check_times(event, json);
    if (json.contains("args")) check_args(event, json["args"]);
    EXPECT_EQ(event.has_args, json.contains("args"));
    return {};
  }

  std::size_t events = 0, in_graph = 0;
  nlohmann::json members;
  std::string host_at_begin;

 private:
  static void check_tokens(const Event& event, const nlohmann::json& json) {
    const auto same = [&](TextSpan span, const char* key) {
      if (!json.contains(key)) return span.empty();
      return !span.empty() && nlohmann::json::parse(event.text(span)) == json[key];
    };
    EXPECT_TRUE(same(event.name, "name"));
    EXPECT_TRUE(same(event.category, "cat"));
    EXPECT_TRUE(same(event.pid, "pid"));
    EXPECT_TRUE(same(event.tid, "tid"));
    EXPECT_TRUE(same(event.id, "id"));
    EXPECT_EQ(std::string(1, event.phase), json["ph"].get<std::string>());
  }
  // A double has 53 bits: good to a nanosecond at 5 x 10^12 microseconds.
  static void check_times(const Event& event, const nlohmann::json& json) {
    ASSERT_TRUE(event.start_ns.has_value());
    EXPECT_NEAR(static_cast<double>(*event.start_ns), json["ts"].get<double>() * 1e3, 1.0);
    if (json.contains("dur")) {
      EXPECT_NEAR(static_cast<double>(event.duration_ns), json["dur"].get<double>() * 1e3, 0.51);
    }
  }
  void check_args(const Event& event, const nlohmann::json& args) {
    EXPECT_EQ(nlohmann::json::parse(event.text(event.args)), args);
    nlohmann::json members_seen = nlohmann::json::object();
    for (const Member& member : event.members) {
      members_seen[std::string(event.text(member.key))] = nlohmann::json::parse(event.text(member.value));
    }
    EXPECT_EQ(members_seen, args);
    if (!is_gpu_operation(event.kind)) return;
    EXPECT_EQ(event.device, args["device"].get<std::int64_t>());
    if (args["stream"].is_number()) {
      EXPECT_EQ(event.stream, args["stream"].get<std::int64_t>());
    }
    EXPECT_EQ(event.correlation, args["correlation"].get<std::uint64_t>());
    const auto graph = args.value("graph id", std::uint64_t{0});
    EXPECT_EQ(event.graph_id, graph);
    if (graph == 0) return;
    ++in_graph;
    const auto node = args["graph node id"].get<std::uint64_t>();
    EXPECT_TRUE(event.has_node_id);
    EXPECT_EQ(event.node_id, node >> 32 == graph ? node : (graph << 32) + node);
  }
};

struct Golden {
  const char* file;
  const char* producer;
  std::int64_t pid;
};
class GoldenTraces : public testing::TestWithParam<Golden> {};

TEST_P(GoldenTraces, ReadWithoutProblems) {
  CheckingVisitor visitor;
  const auto result = read_trace(kGolden + GetParam().file, visitor);
  ASSERT_TRUE(result.ok()) << result.error().to_string();
  EXPECT_TRUE(result->problems.empty());
  EXPECT_GT(visitor.events, 100U);
  EXPECT_EQ(result->events, visitor.events);
  EXPECT_GT(visitor.in_graph, 0U);
  EXPECT_EQ(result->info.producer, GetParam().producer);
  EXPECT_EQ(result->info.pid, GetParam().pid);
  EXPECT_EQ(result->info.base_time_ns, 1790857026000000000);
  EXPECT_FALSE(result->info.bare_array);
  ASSERT_FALSE(result->info.device_names.empty());
  EXPECT_EQ(result->info.device_names[0], "NVIDIA H200");
}
INSTANTIATE_TEST_SUITE_P(H200, GoldenTraces,
                         testing::Values(Golden{"train_step.json.gz", "Kineto", 1066},
                                         Golden{"train_step_cuspy.json.gz", "Cuspy", 1788},
                                         Golden{"two_phases.json.gz", "Kineto", 1066}),
                         [](const auto& test) {
                           const std::string file = test.param.file;
                           return file.substr(0, file.find('.'));
                         });

TEST(ReadTrace, EveryRecordedTraceIsClean) {
  std::size_t files = 0;
  for (const char* folder : {"/tests/golden/h200", "/examples/decode"}) {
    for (const auto& entry : std::filesystem::directory_iterator(GRAPHTAG_SOURCE_DIR + std::string(folder))) {
      if (entry.path().string().find(".json.gz") == std::string::npos) continue;
      struct Counter : EventVisitor {
        Result<void> on_event(const Event& event) override {
          gpu += is_gpu_operation(event.kind) ? 1 : 0;
          with_time += is_gpu_operation(event.kind) && event.start_ns ? 1 : 0;
          return {};
        }
        std::size_t gpu = 0, with_time = 0;
      } counter;
      const auto result = read_trace(entry.path(), counter);
      ASSERT_TRUE(result.ok()) << result.error().to_string();
      EXPECT_TRUE(result->problems.empty()) << entry.path();
      EXPECT_GT(counter.gpu, 0U) << entry.path();
      EXPECT_EQ(counter.with_time, counter.gpu) << entry.path();
      ++files;
    }
  }
  EXPECT_EQ(files, 17U);
}

TEST(ReadTrace, RanksOfAJob) {
  for (const std::int64_t rank : {0, 1}) {
    CheckingVisitor visitor;
    const auto result = read_trace(kGolden + "all_reduce_rank" + std::to_string(rank) + ".json.gz", visitor);
    ASSERT_TRUE(result.ok());
    EXPECT_EQ(result->info.rank, rank);
    EXPECT_EQ(visitor.host_at_begin, "vm");
  }
}

TEST(ReadTrace, SaysWhatAFileSeemsToBe) {
  CheckingVisitor visitor;
  const auto message = [&](const std::string& file) {
    const auto result = read_trace(kGolden + file, visitor);
    return result.ok() ? "" : result.error().to_string();
  };
  EXPECT_THAT(message("train_step_cuspy.pftrace.gz"), testing::HasSubstr("Perfetto"));
  EXPECT_THAT(message("decode_60.annotations.pkl"), testing::HasSubstr("pickle"));
  EXPECT_THAT(message("README.md"),
              testing::HasSubstr("README.md: offset 0: it is no trace that is known. A trace as Chrome JSON"));
  EXPECT_THAT(message("none.json"), testing::HasSubstr("none.json: cannot open it"));
}

TEST(ReadTrace, BinaryTracesAreToldByTheirFirstBytes) {
  EXPECT_TRUE(begins_like_a_binary_trace(std::string_view("SQLite format 3\0more", 20)));
  EXPECT_TRUE(begins_like_a_binary_trace("\n\x40\x50\x01"));
  EXPECT_FALSE(begins_like_a_binary_trace("\n{\"traceEvents\": [{\"name\": \"a\x01\"}]}"));
  EXPECT_FALSE(begins_like_a_binary_trace("{}"));
  EXPECT_FALSE(begins_like_a_binary_trace(""));
}

TEST(ReadTrace, ProgressGoesToTheFilesEnd) {
  std::vector<std::uint64_t> seen;
  std::uint64_t size = 0;
  ReadOptions options;
  options.progress = [&](std::uint64_t consumed, std::uint64_t of) {
    seen.push_back(consumed);
    size = of;
  };
  CheckingVisitor visitor;
  ASSERT_TRUE(read_trace(kGolden + "two_phases.json.gz", visitor, options).ok());
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
  EXPECT_EQ(size, std::filesystem::file_size(kGolden + "two_phases.json.gz"));
  EXPECT_EQ(seen.back(), size);
}

}  // namespace
}  // namespace graphtag
