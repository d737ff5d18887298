// Calls that make no sense, at random: a status each time, never a crash, and what makes sense still works afterwards.
#include <array>
#include <random>
#include <set>
#include <thread>

#include "tests/capi/fixture.h"

namespace graphtag::capi {
namespace {

class Misuse : public WithFakeCuda {};

// One thread's random calls. Handles come from earlier results, from other threads' results by chance, or from nowhere.
class Caller {
 public:
  Caller(std::uint64_t seed, fake::FakeCuda& cuda) : random_(seed), cuda_(cuda), stream_(cuda.stream_create()) {}

  void call() {
    switch (pick(23)) {
      case 0:
        return keep(windows_, [&](gt_window* out) { return gt_window_open(pick(4) ? nullptr : options(), maybe(out)); });
      case 1:
        return expect(gt_window_close(any(windows_)));
      case 2:
        return expect(gt_window_add_stream(any(windows_), pick(2) ? stream_ : nullptr));
      case 3:
        return expect(gt_window_observer(any(windows_), maybe(&observer_)));
      case 4:
        return keep(annotations_, [&](gt_annotation* out) { return gt_annotation_from_name(text(), length(), maybe(out)); });
      case 5:
        return keep(annotations_, [&](gt_annotation* out) { return gt_annotation_from_json(text(), length(), maybe(out)); });
      case 6:
        return keep(annotations_,
                    [&](gt_annotation* out) { return gt_annotation_merge(any(annotations_), any(annotations_), maybe(out)); });
      case 7:
        return expect(gt_annotation_json(any(annotations_), static_cast<uint32_t>(pick(3)), maybe(buffer_.data()),
                                         pick(buffer_.size()), maybe(&length_)));
      case 8:
        return expect(gt_scope_begin(any(annotations_)));
      case 9:
        return expect(gt_scope_begin_name(text(), length()));
      case 10:
        return expect(gt_scope_end());
      case 11:
        return keep(scopes_, [&](gt_scope* out) { return gt_scope_open(any(annotations_), maybe(out)); });
      case 12:
        return expect(gt_scope_close(any(scopes_)));
      case 13:
        return keep(annotations_, [&](gt_annotation* out) { return gt_scope_current(maybe(out)); });
      case 14:
        return expect(gt_resolve(random_() >> pick(64), static_cast<std::int64_t>(random_()), maybe(resolution())));
      case 15:
        return expect(gt_snapshot_buffer(maybe(buffer_.data()), pick(buffer_.size()), maybe(&length_)));
      case 16:
        return expect(gt_label_graph(maybe(graph_), text(), length()));
      case 17:
        return expect(gt_link_exec(maybe(exec_), maybe(graph_)));
      case 18: {
        const std::array<const void*, 2> bodies = {maybe(graph_), nullptr};
        return expect(gt_link_body(maybe(node_), pick(2) ? bodies.data() : nullptr, pick(3)));
      }
      case 19:
        counters_.size = pick(2) ? sizeof counters_ : random_() >> pick(64);
        if (counters_.size > sizeof counters_ && counters_.size <= 4096) counters_.size = 0;  // it would be believed
        return expect(gt_counters_get(maybe(&counters_)));
      case 20:
        return expect(pick(20) ? GT_OK : gt_forget());
      case 21:
        return make_graph();
      default:
        return expect(
            gt_doctor_json(static_cast<uint32_t>(pick(2) ? 0 : 8), maybe(buffer_.data()), pick(buffer_.size()), maybe(&length_)));
    }
  }

  // Leaves as few traces as a thread can.
  void finish() {
    for (const gt_window window : windows_) gt_window_close(window);
    if (exec_ != nullptr) cuda_.destroy_exec(exec_);
    if (graph_ != nullptr) cuda_.destroy_graph(graph_);
  }

  std::set<gt_status> seen;

 private:
  std::size_t pick(std::size_t below) { return random_() % below; }

  template <typename T>
  T* maybe(T* pointer) {
    return pick(16) == 0 ? nullptr : pointer;
  }

  template <typename T>
  T any(const std::vector<T>& known) {
    if (known.empty() || pick(8) == 0) return T{random_() >> pick(64)};
    return known[pick(known.size())];
  }

  void expect(gt_status status) {
    seen.insert(status);
    EXPECT_NE(gt_status_name(status), nullptr) << status;
    EXPECT_NE(status, GT_ERROR_INTERNAL) << gt_last_error();
  }

  template <typename T, typename Make>
  void keep(std::vector<T>& known, Make make) {
    T made{0};
    const gt_status status = make(&made);
    expect(status);
    if (status == GT_OK && known.size() < 100) known.push_back(made);
  }

  const char* text() {
    static const std::array<const char*, 8> kTexts = {"attention", "{\"name\":\"mlp\"}", "{}",    "[",
                                                      "\xff\xfe",  "{\"a\":{\"a\":[]}}", "\"x\"", ""};
    return maybe(kTexts[pick(kTexts.size())]);
  }
  std::size_t length() { return pick(3) == 0 ? 0 : GT_NUL; }

  const gt_window_options* options() {
    options_.size = pick(4) ? sizeof options_ : random_() >> pick(64);
    options_.observer = static_cast<gt_observer>(pick(5));
    options_.flags = static_cast<uint32_t>(pick(3));
    options_.streams = pick(2) ? reinterpret_cast<const void* const*>(&stream_) : nullptr;
    options_.stream_count = pick(2);
    return &options_;
  }

  gt_resolution* resolution() {
    resolution_.size = pick(4) ? sizeof resolution_ : random_() >> pick(64);
    return &resolution_;
  }

  void make_graph() {
    if (exec_ != nullptr) cuda_.destroy_exec(exec_);
    if (graph_ != nullptr) cuda_.destroy_graph(graph_);
    cuda_.begin_capture(stream_);
    node_ = cuda_.launch(stream_, NodeType::kernel, 0);
    graph_ = cuda_.end_capture(stream_);
    exec_ = cuda_.instantiate(graph_);
  }

  std::mt19937_64 random_;
  fake::FakeCuda& cuda_;
  StreamHandle stream_;
  GraphHandle graph_ = nullptr;
  ExecHandle exec_ = nullptr;
  NodeHandle node_ = nullptr;
  std::vector<gt_window> windows_;
  std::vector<gt_annotation> annotations_;
  std::vector<gt_scope> scopes_;
  gt_observer observer_ = 0;
  gt_window_options options_{};
  gt_resolution resolution_{};
  gt_counters counters_{};
  std::array<char, 300> buffer_{};
  std::size_t length_ = 0;
};

TEST_F(Misuse, EndsInStatusesAndNothingElse) {
  std::set<gt_status> seen;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Caller caller(seed, cuda());
    for (int i = 0; i < 1000; ++i) caller.call();
    caller.finish();
    seen.insert(caller.seen.begin(), caller.seen.end());
  }
  for (const gt_status status : {GT_OK, GT_ERROR_INVALID_ARGUMENT, GT_ERROR_INVALID_HANDLE, GT_ERROR_INVALID_SIZE,
                                 GT_ERROR_NO_SCOPE, GT_ERROR_BUFFER_TOO_SMALL, GT_ERROR_MALFORMED}) {
    EXPECT_EQ(seen.count(status), 1U) << "the random calls never came to " << gt_status_name(status);
  }
}

TEST_F(Misuse, FromManyThreadsAtOnce) {
  std::vector<std::thread> threads;
  for (std::uint64_t seed = 100; seed < 104; ++seed) {
    threads.emplace_back([this, seed] {
      Caller caller(seed, cuda());
      for (int i = 0; i < 1000; ++i) caller.call();
      caller.finish();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(Misuse, LeavesWhatMakesSenseWorking) {
  Caller caller(7, cuda());
  for (int i = 0; i < 500; ++i) caller.call();
  caller.finish();
  EXPECT_EQ(gt_active(), 0);
  open_window();
  const StreamHandle stream = cuda().stream_create();
  ASSERT_TRUE(cuda().begin_capture(stream));
  ASSERT_EQ(gt_scope_begin_name("sane", GT_NUL), GT_OK);
  cuda().launch(stream, NodeType::kernel, 1);
  ASSERT_EQ(gt_scope_end(), GT_OK);
  const GraphHandle graph = cuda().end_capture(stream);
  const ExecHandle exec = cuda().instantiate(graph);
  EXPECT_EQ(name_of(cuda().replay(exec).front().id.value), R"({"name":"sane","graphtag.path":["sane"]})");
  cuda().destroy_exec(exec);
  cuda().destroy_graph(graph);
}

}  // namespace
}  // namespace graphtag::capi
