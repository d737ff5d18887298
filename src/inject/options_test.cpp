#include "inject/options.h"

#include <gtest/gtest.h>

#include <map>

namespace graphtag::inject {
namespace {

Environment environment(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
}

TEST(Options, AreReadFromTheEnvironment) {
  const Options options = read_options(environment({{"GRAPHTAG_RUN_CONTROL", "/c"},
                                                    {"GRAPHTAG_RUN_OUT", "/o"},
                                                    {"GRAPHTAG_RUN_DELAY_MS", "1500"},
                                                    {"GRAPHTAG_RUN_DURATION_MS", "0"},
                                                    {"GRAPHTAG_RUN_START_ON", "nvtx:decode: 1"},
                                                    {"GRAPHTAG_RUN_NO_API", "1"},
                                                    {"GRAPHTAG_RUN_MAX_BYTES", "5000000000"},
                                                    {"GRAPHTAG_RUN_BUFFER_COUNT", "64"},
                                                    {"GRAPHTAG_RUN_BUFFER_BYTES", "4194304"},
                                                    {"GRAPHTAG_RUN_NVTX_DOMAINS", "NCCL,,default"},
                                                    {"GRAPHTAG_RUN_NEXT_CUDA_INJECTION", "/n"},
                                                    {"GRAPHTAG_RUN_NEXT_NVTX_INJECTION", "/m"}}));
  EXPECT_EQ(options.control, "/c");
  EXPECT_EQ(options.out, "/o");
  EXPECT_EQ(options.delay_ms, 1500);
  EXPECT_EQ(options.duration_ms, 0);
  EXPECT_EQ(options.start_on, "decode: 1");
  EXPECT_FALSE(options.has_api);
  EXPECT_EQ(options.max_bytes, 5'000'000'000u);
  EXPECT_EQ(options.buffer_count, 64u);
  EXPECT_EQ(options.buffer_bytes, 4'194'304u);
  EXPECT_EQ(options.domains, (std::vector<std::string>{"NCCL", "default"}));
  EXPECT_EQ(options.next_cuda, "/n");
  EXPECT_EQ(options.next_nvtx, "/m");
}

TEST(Options, OfAnEmptyOrSenselessEnvironmentAreTheUsualOnes) {
  for (const auto& variables :
       {std::map<std::string, std::string>{},
        {{"GRAPHTAG_RUN_DELAY_MS", ""}, {"GRAPHTAG_RUN_DURATION_MS", ""}, {"GRAPHTAG_RUN_NVTX_DOMAINS", ""}},
        {{"GRAPHTAG_RUN_DELAY_MS", "-3"},
         {"GRAPHTAG_RUN_DURATION_MS", "10s"},
         {"GRAPHTAG_RUN_START_ON", "decode"},
         {"GRAPHTAG_RUN_BUFFER_COUNT", "99999999999"},
         {"GRAPHTAG_RUN_NO_API", "no"}}}) {
    const Options options = read_options(environment(variables));
    EXPECT_EQ(options.delay_ms, 0);
    EXPECT_FALSE(options.duration_ms);
    EXPECT_EQ(options.start_on, "");
    EXPECT_TRUE(options.has_api);
    EXPECT_EQ(options.buffer_count, 0u);
    EXPECT_FALSE(options.domains);
  }
}

TEST(Rank, IsThatOfTheFirstLauncherThatSaysIt) {
  EXPECT_EQ(rank_of(environment({})), std::nullopt);
  EXPECT_EQ(rank_of(environment({{"SLURM_PROCID", "5"}})), 5);
  EXPECT_EQ(rank_of(environment({{"OMPI_COMM_WORLD_RANK", "3"}, {"SLURM_PROCID", "0"}})), 3);
  EXPECT_EQ(rank_of(environment({{"RANK", "7"}, {"OMPI_COMM_WORLD_RANK", "3"}})), 7);
  EXPECT_EQ(rank_of(environment({{"RANK", "seven"}, {"PMI_RANK", "2"}})), 2);
}

TEST(TraceName, HasHostRankAndProcess) {
  EXPECT_EQ(trace_name("node7.cluster.example", 12, 4711), "graphtag.node7.rank12.4711.pftrace");
  EXPECT_EQ(trace_name("node7", std::nullopt, 1), "graphtag.node7.1.pftrace");
  EXPECT_EQ(trace_name("a/b c", std::nullopt, 1), "graphtag.a_b_c.1.pftrace") << "nothing that a shell or a folder minds";
}

}  // namespace
}  // namespace graphtag::inject
