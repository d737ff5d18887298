// The join over traces recorded on an H200.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include "join/operations.h"
#include "tests/support/join_fixtures.h"

namespace graphtag {
namespace {

constexpr const char* kFolder = GRAPHTAG_SOURCE_DIR "/tests/golden/h200/";

std::vector<AnnotationSource> sources_of(const std::string& name) {
  Result<std::vector<AnnotationSource>> sources = read_annotation_sources({kFolder + name + ".annotations.pkl"});
  EXPECT_TRUE(sources.ok()) << sources.error().to_string();
  return *std::move(sources);
}

OperationTable read(const std::string& trace, const std::vector<AnnotationSource>& sources) {
  Result<OperationTable> table = read_operations(kFolder + trace + ".json.gz", sources);
  EXPECT_TRUE(table.ok()) << table.error().to_string();
  return *std::move(table);
}

const Annotation& annotation_of(const OperationTable& table, const GpuOperation& operation) {
  return table.annotations.annotations()[operation.annotation];
}

struct Count {
  const char* trace;
  std::size_t operations, graphed, named;
  std::size_t eager = 0;  // named by the user annotations around their launch
};
void PrintTo(const Count& count, std::ostream* out) {
  *out << count.trace;
}

class RecordedTraces : public ::testing::TestWithParam<Count> {};

// Counted in the files with a few lines of Python.
TEST_P(RecordedTraces, HaveTheirOperationsAndNames) {
  const OperationTable table = read(GetParam().trace, sources_of(GetParam().trace));
  std::size_t graphed = 0, named = 0, eager = 0;
  for (const GpuOperation& operation : table.operations) {
    graphed += operation.replay != kNoReplay;
    (operation.replay != kNoReplay ? named : eager) += operation.annotation != AnnotationId::none;
    EXPECT_EQ(operation.annotation != AnnotationId::none, is_provenance(operation.origin));
  }
  EXPECT_EQ(table.operations.size(), GetParam().operations);
  EXPECT_EQ(graphed, GetParam().graphed);
  EXPECT_EQ(named, GetParam().named);
  EXPECT_EQ(eager, GetParam().eager);
}

INSTANTIATE_TEST_SUITE_P(H200, RecordedTraces,
                         ::testing::Values(Count{"two_phases", 21, 21, 18}, Count{"train_step", 678, 672, 633},
                                           Count{"lanes", 102, 99, 81}, Count{"three_graphs", 57, 54, 45},
                                           Count{"all_reduce_rank0", 96, 80, 80, 4}, Count{"all_reduce_rank1", 168, 140, 140, 4},
                                           Count{"decode_60", 41280, 41280, 41040}, Count{"train_step_cuspy", 678, 672, 633}),
                         [](const auto& tested) { return std::string(tested.param.trace); });

// Eager NCCL kernels under a user annotation have the region that the captured ones have, but for their keys.
TEST(RecordedTraces, EagerWorkHasTheRegionsOfTheReplays) {
  const OperationTable table = read("all_reduce_rank0", sources_of("all_reduce_rank0"));
  std::size_t compared = 0;
  for (const GpuOperation& operation : table.operations) {
    if (operation.replay != kNoReplay || operation.annotation == AnnotationId::none) continue;
    EXPECT_THAT(table.names[operation.name], ::testing::StartsWith("ncclDevKernel_AllReduce"));
    EXPECT_THAT(region_components(annotation_of(table, operation)), ::testing::ElementsAre("all_reduce"));
    ++compared;
  }
  EXPECT_EQ(compared, 4U);
}

// Cuspy writes the annotations of its process into args: they must be those of the pickle, typed.
TEST(RecordedTraces, ArgsOfCuspyGiveTheAnnotationsOfThePickle) {
  const std::vector<AnnotationSource> sources = sources_of("train_step_cuspy");
  const OperationTable table = read("train_step_cuspy", {});
  std::size_t compared = 0;
  for (const GpuOperation& operation : table.operations) {
    if (operation.replay == kNoReplay) continue;
    const NodeId id(table.replays[operation.replay].graph, LocalId{operation.local_id});
    const Resolution resolution = sources[0].file->resolve(id);
    const Annotation& expected = sources[0].file->annotations[resolution.annotation];
    ASSERT_EQ(canonical_json(*annotation_of(table, operation).object), canonical_json(*expected.object)) << id.value;
    EXPECT_EQ(region_components(annotation_of(table, operation)), region_components(expected));
    EXPECT_EQ(operation.origin, is_provenance(resolution.origin) ? Origin::callback : Origin::outside_scope);
    ++compared;
  }
  EXPECT_EQ(compared, 672U);
}

// PyTorch's exporter writes every value as text and moves work to other lanes: the names and the streams that the work ran on are still known.
TEST(RecordedTraces, ArgsOfPyTorchsExporterGiveTheNames) {
  const OperationTable ours = read("lanes", sources_of("lanes"));
  const OperationTable theirs = read("lanes.reference_lanes", {});
  ASSERT_EQ(ours.operations.size(), theirs.operations.size());
  using Row = std::tuple<std::int64_t, std::int32_t, std::string, std::string>;
  const auto rows = [](const OperationTable& table) {
    std::vector<Row> all;
    for (const GpuOperation& operation : table.operations) {
      all.emplace_back(operation.start_ns, operation.stream, table.names[operation.name], annotation_of(table, operation).name);
    }
    std::sort(all.begin(), all.end());
    return all;
  };
  EXPECT_EQ(rows(ours), rows(theirs));
}

}  // namespace
}  // namespace graphtag
