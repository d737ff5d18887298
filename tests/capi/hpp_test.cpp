// The C++ layer.
#include "graphtag/graphtag.hpp"

#include <unistd.h>

#include <filesystem>
#include <thread>

#include "tests/capi/fixture.h"

namespace graphtag::capi {
namespace {

class Hpp : public WithFakeCuda {};

TEST_F(Hpp, ScopesNameWhatIsCapturedInThem) {
  static gt::Name mlp{"mlp"};
  gt::Window window;
  EXPECT_TRUE(gt::active());
  EXPECT_EQ(window.observer(), gt::Observer::callbacks);
  const StreamHandle stream = cuda().stream_create();
  ASSERT_TRUE(cuda().begin_capture(stream));
  {
    gt::Scope model{gt::Annotation::from_json(R"({"name":"model","bs":8})")};
    cuda().launch(stream, NodeType::kernel, 0);
    for (int i = 0; i < 2; ++i) {
      gt::Scope scope{mlp};
      cuda().launch(stream, NodeType::kernel, 1);
    }
    gt::Scope attention{"attention"};
    cuda().launch(stream, NodeType::kernel, 2);
    EXPECT_EQ(gt::Scope::current().json(), R"({"name":"attention","bs":8})");
    attention.end();
    attention.end();
    cuda().launch(stream, NodeType::kernel, 0);
  }
  cuda().launch(stream, NodeType::kernel, 3);
  const GraphHandle graph = cuda().end_capture(stream);
  gt::label_graph(graph, R"({"batch":8})");
  const ExecHandle exec = cuda().instantiate(graph);
  window.close();
  EXPECT_FALSE(gt::active());
  const std::vector<std::string> expected = {R"({"name":"model","bs":8})", R"({"name":"mlp","bs":8})",
                                             R"({"name":"attention","bs":8})", ""};
  const std::vector<fake::Record> records = cuda().replay(exec);
  ASSERT_EQ(records.size(), 6U);
  for (const fake::Record& record : records) {
    const gt::Resolution found = gt::resolve(record.id.value);
    EXPECT_EQ(found.annotation ? found.annotation.json() : "", expected[record.tag]);
    EXPECT_EQ(found.origin_name(), record.tag == 3 ? "outside-scope" : "callback");
  }
  EXPECT_EQ(gt::counters().execs_live, 1U);
  EXPECT_EQ(nlohmann::json::parse(gt::snapshot_text())["graphs"].size(), 1U);
  gt::forget();
  EXPECT_EQ(gt::resolve(records[0].id.value).origin_name(), "unknown-graph");
  cuda().destroy_exec(exec);
  cuda().destroy_graph(graph);
}

TEST_F(Hpp, ErrorsAreExceptionsOrCodesAsTheCallerLikes) {
  try {
    gt::Annotation::from_json("[]");
    FAIL() << "it must throw";
  } catch (const gt::Error& error) {
    EXPECT_EQ(error.status(), GT_ERROR_MALFORMED);
    EXPECT_EQ(error.code().category(), gt::error_category());
    EXPECT_NE(std::string(error.what()).find(gt_last_error()), std::string::npos);
  }
  std::error_code code;
  EXPECT_FALSE(gt::Annotation::from_json("[]", code));
  EXPECT_EQ(code.value(), GT_ERROR_MALFORMED);
  EXPECT_EQ(code.message(), "GT_ERROR_MALFORMED");
  EXPECT_TRUE(gt::Annotation("attention", code));
  EXPECT_FALSE(code);
  gt::snapshot("/no/such/folder/file", code);
  EXPECT_EQ(code.value(), GT_ERROR_IO);
  EXPECT_THROW(gt::snapshot("/no/such/folder/file"), std::system_error);

  gt::Scope ignored{"", code};
  EXPECT_FALSE(code) << "nothing is looked at while nothing is recorded";
  gt::Window window;
  gt::Scope wrong{"", code};
  EXPECT_EQ(code.value(), GT_ERROR_INVALID_ARGUMENT);
  EXPECT_THROW(gt::Scope thrown{""}, gt::Error);
  ASSERT_TRUE(gt::Scope::current() == gt::Annotation{});
}

TEST_F(Hpp, WindowsMoveAndCloseOnce) {
  gt::Window first{{.observer = gt::Observer::boundary, .all_streams = true, .streams = {cuda().stream_create()}}};
  EXPECT_EQ(first.observer(), gt::Observer::boundary);
  first.add_stream(cuda().stream_create());
  gt::Window second = std::move(first);
  EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move): that is what is tested
  EXPECT_TRUE(gt::active());
  EXPECT_THROW(first.add_stream(nullptr), gt::Error);
  second = gt::Window{};
  EXPECT_TRUE(gt::active());
  second.close();
  second.close();
  EXPECT_FALSE(gt::active());
}

TEST_F(Hpp, AWindowThatObservesNothingKeepsScopes) {
  gt::Window kept{{.observer = gt::Observer::none}};
  EXPECT_EQ(kept.observer(), gt::Observer::none);
  gt::Scope around{"around"};
  gt::Window late;
  EXPECT_EQ(gt::Scope::current(), gt::Annotation{"around"});
  late.close();
  EXPECT_EQ(gt::Scope::current(), gt::Annotation{"around"});
}

TEST_F(Hpp, ScopesAreTakenToOtherThreads) {
  gt::Window window;
  gt::Scope here{"outer"};
  const gt::Annotation open = gt::Scope::current();
  std::thread([&] {
    gt::Scope there{open};
    gt::Scope inner{"inner"};
    EXPECT_EQ(gt::Scope::current().json(GT_JSON_PATH), R"({"name":"inner","graphtag.path":["outer","inner"]})");
  }).join();
  EXPECT_EQ(open.with(gt::Annotation{"inner"}).json(GT_JSON_PATH), R"({"name":"inner","graphtag.path":["outer","inner"]})");
}

TEST_F(Hpp, RecordsWhileARecordingLives) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("graphtag-hpp-" + std::to_string(getpid()) + ".pftrace");
  {
    gt::RecordingOptions options;
    options.metadata = R"({"run":1})";
    gt::Recording recording{path.string(), options};
    gt::Recording moved{std::move(recording)};
    EXPECT_TRUE(moved);
    EXPECT_FALSE(recording);  // NOLINT(bugprone-use-after-move)
    EXPECT_NE(gt_recording_active(), 0);
    moved.flush(20'000);
    EXPECT_EQ(moved.stats().kernels, 0U);
    std::error_code error;
    const gt::Recording second{path.string(), {}, error};
    EXPECT_EQ(error.value(), GT_ERROR_BUSY);
    EXPECT_FALSE(second);
    EXPECT_THROW(const gt::Recording third{path.string()}, gt::Error);
    EXPECT_EQ(moved.end().state, static_cast<gt_record_state>(GT_RECORD_ENDED));
    EXPECT_EQ(gt_recording_active(), 0);
    gt::Recording makes_way{path.string()};
    gt::make_way();
    EXPECT_EQ(gt_recording_active(), 0);
    gt::make_way(error);
    EXPECT_FALSE(error);
    EXPECT_EQ(makes_way.end().state, static_cast<gt_record_state>(GT_RECORD_OTHER_PROFILER));
    const gt::Recording goes_with_its_block{path.string()};
    EXPECT_NE(gt_recording_active(), 0);
  }
  EXPECT_EQ(gt_recording_active(), 0);
  EXPECT_GT(std::filesystem::file_size(path), 0U);
  std::filesystem::remove(path);
}

TEST_F(Hpp, SaysWhetherItWorks) {
  std::string why = "?";
  EXPECT_TRUE(gt::available());
  EXPECT_TRUE(gt::available(gt::Observer::callbacks, why)) << why;
  EXPECT_EQ(why, "");
  EXPECT_EQ(nlohmann::json::parse(gt::doctor())["works"], true);
}

}  // namespace
}  // namespace graphtag::capi
