// Strings of a recording: what is too large, and what is too many.
#include "record/recording_fixture.h"

namespace graphtag {
namespace {

using nlohmann::json;
namespace layout = recording;
using testing::DecodedTrace;

TEST_F(WithRecording, StringsThatNeverComeAgainDoNotTakeTheNumbersForGood) {
  RecordingOptions wanted = options();
  wanted.chapter_bytes = 1;
  begin(wanted);
  const std::string pad(2000, 'x');
  HostRange range;
  for (int i = 0; i < 1200; ++i) {  // more than the 2 MiB of names in a chapter
    const std::string text = std::to_string(i) + pad;
    range.text = text;
    recording_->range(range);
    if (i % 50 == 0) {
      EXPECT_EQ(recording_->flush(std::chrono::seconds(60)), Recording::Flushed::ok);
    }
  }
  EXPECT_EQ(recording_->flush(std::chrono::seconds(60)), Recording::Flushed::ok);
  EXPECT_EQ(instants_of(decoded(), layout::kBeginEvent).back().args["chapter"], 2);
  for (int i = 0; i < 3; ++i) {
    fake::FakeActivity::Kernel kernel;
    kernel.name = "often";
    kernel.start_ns = kernel.end_ns = now();
    ASSERT_TRUE(gpu().kernel(kernel));
  }
  end();
  const std::string bytes = content_of(file());
  const DecodedTrace trace = decode_recording(bytes);
  EXPECT_EQ(slices_of(trace, layout::kRange).size(), 1200u);
  EXPECT_EQ(slices_of(trace, layout::kKernel).size(), 3u);
  EXPECT_EQ(bytes.find("often"), bytes.rfind("often")) << "it stands there once";
}

TEST_F(WithRecording, AnAnnotationThatIsTooLargeIsSaidToBe) {
  const AnnotationId large =
      *registry_.annotation(Json{{"name", "big"}, {"blob", Json::array()}, {"text", std::string(70000, 'x')}});
  registry_.graph_created(GraphId{1}, unix_time_ns());
  // An interned string is short in the record, and stands in the file once.
  registry_.node_created(NodeId{GraphId{1}, LocalId{0}}, large);
  Json many = Json::array();
  for (int i = 0; i < 30000; ++i) many.push_back(i);
  registry_.node_created(NodeId{GraphId{1}, LocalId{1}}, *registry_.annotation(Json{{"name", "list"}, {"list", many}}));
  begin();
  for (std::uint64_t node = 0; node < 2; ++node) {
    fake::FakeActivity::Kernel kernel;
    kernel.node_id = std::uint64_t{1} << 32 | node;
    kernel.start_ns = kernel.end_ns = now();
    ASSERT_TRUE(gpu().kernel(kernel));
  }
  end();
  const auto kernels = slices_of(decoded(), layout::kKernel);
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].begin.args["text"], std::string(70000, 'x'));
  EXPECT_EQ(kernels[0].begin.args["blob"], json::array());
  EXPECT_EQ(kernels[1].begin.args["name"], "list");
  EXPECT_FALSE(kernels[1].begin.args.contains("list"));
  EXPECT_GT(kernels[1].begin.args["graphtag.annotation_bytes"], 65536);
}

}  // namespace
}  // namespace graphtag
