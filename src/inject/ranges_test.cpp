// Ranges as scopes: what the nodes are called that a false CUDA creates meanwhile.
#include "inject/ranges.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "tests/capi/fixture.h"
#include "tests/inject/nvtx_program.h"

namespace graphtag::inject {
namespace {

using nlohmann::json;

class RangesTest : public capi::WithFakeCuda {
 protected:
  const Domain& domain(const char* name = nullptr) {
    return name == nullptr ? names.domain(nullptr) : names.create_domain(text_of(name));
  }
  int push(const char* text, const char* in = nullptr) { return ranges.push(domain(in), attributes(text)); }
  int pop(const char* in = nullptr) { return ranges.pop(domain(in)); }
  nvtx::RangeId start(const char* text) { return ranges.start(domain(), attributes(text)); }
  static Attributes attributes(const char* text) {
    Attributes read;
    read.text = text;
    return read;
  }

  // A node that this thread creates: its region, names joined by dots; "-" if it has none.
  std::string node() {
    const GraphHandle graph = cuda().graph_create();
    const NodeHandle made = cuda().add_node(graph, NodeType::kernel, {}, 1);
    std::uint64_t id = 0;
    EXPECT_EQ(gt_node_id(made, &id), GT_OK);
    const std::string name = name_of(id);
    if (name.starts_with("-")) return "-";
    last = json::parse(name);
    return region_of(last);
  }
  // The region that this thread is in.
  static std::string current() {
    gt_annotation open{};
    EXPECT_EQ(gt_scope_current(&open), GT_OK);
    return open.value == 0 ? "-" : region_of(json::parse(capi::json_of(open, GT_JSON_PATH)));
  }
  static std::string region_of(const json& annotation) {
    std::string path;
    for (const auto& part : annotation.value("graphtag.path", json::array({annotation.value("name", "?")})))
      path += (path.empty() ? "" : ".") + part.get<std::string>();
    return path;
  }
  void observe() {
    open_window();
    ranges.window_opened();
  }

  Names names;
  Ranges ranges{names};
  json last;  // the annotation of the last node
};

TEST_F(RangesTest, AreScopesOfTheNodesCreatedMeanwhile) {
  observe();
  EXPECT_EQ(node(), "-");
  EXPECT_EQ(push("decoder"), 0);
  EXPECT_EQ(push("attention"), 1);
  EXPECT_EQ(node(), "decoder.attention");
  EXPECT_EQ(last["name"], "attention") << "merged, inner wins";
  EXPECT_EQ(pop(), 1);
  EXPECT_EQ(node(), "decoder");
  EXPECT_EQ(pop(), 0);
  EXPECT_EQ(node(), "-");
  EXPECT_EQ(pop(), -1);
  EXPECT_EQ(ranges.counts().unmatched, 1u);
}

TEST_F(RangesTest, OfDomainsPopTheirOwnInnermost) {
  observe();
  EXPECT_EQ(push("a", "A"), 0);
  EXPECT_EQ(push("b", "B"), 0) << "each domain counts its own depth";
  EXPECT_EQ(push("a2", "A"), 1);
  EXPECT_EQ(node(), "a.b.a2");
  EXPECT_EQ(last["nvtx_domain"], "A");
  EXPECT_EQ(pop("B"), 0);
  EXPECT_EQ(node(), "a.a2");
  EXPECT_EQ(push("c"), 0);
  EXPECT_EQ(node(), "a.a2.c");
  EXPECT_EQ(last["nvtx_domain"], "default");
  EXPECT_EQ(pop("A"), 1);
  EXPECT_EQ(pop("A"), 0);
  EXPECT_EQ(node(), "c");
  EXPECT_EQ(pop("A"), -1);
  EXPECT_EQ(pop(), 0);
}

TEST_F(RangesTest, KeepACategoryInItsDomain) {
  observe();
  Attributes alloc = attributes("outer");
  alloc.category = 3;
  names.name_category(domain("A"), 3, text_of("alloc"));
  const auto category = [this] {
    node();
    return last.value("nvtx_category", json());
  };
  ranges.push(domain("A"), alloc);
  EXPECT_EQ(category(), "alloc");
  push("same", "A");
  EXPECT_EQ(category(), "alloc");
  push("other", "B");
  EXPECT_EQ(category(), 0) << "NVTX's number for none";
  push("back", "A");
  EXPECT_EQ(category(), 0) << "as the range around it";
  alloc.category = 4;
  ranges.push(domain("B"), alloc);
  EXPECT_EQ(category(), 4);
  push("default");
  EXPECT_EQ(category(), 0);
}

TEST_F(RangesTest, OfStartAndEndOverlap) {
  observe();
  const auto first = start("first");
  const auto second = start("second");
  EXPECT_NE(first, second);
  EXPECT_EQ(push("pushed"), 0) << "they do not count as pushed";
  EXPECT_EQ(node(), "first.second.pushed");
  EXPECT_TRUE(ranges.end(first));
  EXPECT_EQ(node(), "second.pushed");
  EXPECT_FALSE(ranges.end(first)) << "once";
  EXPECT_FALSE(ranges.end(12345));
  EXPECT_EQ(pop(), 0);
  EXPECT_TRUE(ranges.end(second));
  EXPECT_EQ(node(), "-");
}

TEST_F(RangesTest, AreOfTheirThread) {
  observe();
  push("mine");
  std::thread([&] {
    EXPECT_EQ(node(), "-");
    EXPECT_EQ(push("theirs"), 0);
    EXPECT_EQ(node(), "theirs");
  }).join();
  EXPECT_EQ(node(), "mine");
  EXPECT_EQ(pop(), 0);
}

TEST_F(RangesTest, EndOnAnotherThread) {
  observe();
  const auto outer = start("outer");
  const auto request = start("request");
  EXPECT_EQ(node(), "outer.request");
  std::thread([&] { EXPECT_TRUE(ranges.end(request)); }).join();
  EXPECT_EQ(node(), "outer") << "at once, without a call of this thread";
  EXPECT_EQ(push("next"), 0);
  EXPECT_EQ(node(), "outer.next");
  EXPECT_EQ(pop(), 0);
  EXPECT_TRUE(ranges.end(outer));
  // Of a thread that has ended.
  nvtx::RangeId left = 0;
  std::thread([&] { left = start("left"); }).join();
  EXPECT_TRUE(ranges.end(left));
  EXPECT_FALSE(ranges.end(left));
}

TEST_F(RangesTest, ThatBeganBeforeTheWindowAreScopesFromThenOn) {
  push("early");
  push("early too");
  const auto started = start("started");
  observe();
  EXPECT_EQ(node(), "early.early too.started");
  EXPECT_TRUE(ranges.end(started));
  EXPECT_EQ(pop(), 1);
  EXPECT_EQ(node(), "early");
  EXPECT_EQ(pop(), 0);
}

TEST_F(RangesTest, OfAnotherThreadBeforeTheWindowAreScopesFromItsNextCallOn) {
  std::atomic<int> turn{0};
  const auto wait_for = [&](int number) {
    while (turn.load() != number) std::this_thread::yield();
  };
  std::thread other([&] {
    push("early");
    turn = 1;
    wait_for(2);
    EXPECT_EQ(push("late"), 1);
    EXPECT_EQ(node(), "early.late");
  });
  wait_for(1);
  observe();
  turn = 2;
  other.join();
}

// On another thread, a window is open for a moment before window_opened() is called.
TEST_F(RangesTest, ThatBeganWhileTheWindowOpenedAreScopesOnce) {
  push("early");
  const gt_window first = open_window();
  push("between");
  const auto started = start("started");
  EXPECT_EQ(node(), "between.started");
  ranges.window_opened();
  EXPECT_EQ(node(), "early.between.started");
  EXPECT_TRUE(ranges.end(started));
  EXPECT_EQ(pop(), 1);
  EXPECT_EQ(node(), "early");
  EXPECT_EQ(pop(), 0);
  EXPECT_EQ(node(), "-");
  EXPECT_EQ(current(), "-") << "nothing is left open";
  // The same again, where a range is of the window before.
  push("old");
  EXPECT_EQ(gt_window_close(first), GT_OK);
  open_window();
  push("between");
  ranges.window_opened();
  EXPECT_EQ(node(), "old.between");
  EXPECT_EQ(pop(), 1);
  EXPECT_EQ(node(), "old");
  EXPECT_EQ(pop(), 0);
  EXPECT_EQ(current(), "-");
}

TEST_F(RangesTest, GoOnInASecondWindow) {
  const gt_window first = open_window();
  ranges.window_opened();
  push("long");
  EXPECT_EQ(node(), "long");
  EXPECT_EQ(gt_window_close(first), GT_OK);
  push("meanwhile");
  observe();
  EXPECT_EQ(node(), "long.meanwhile");
  EXPECT_EQ(pop(), 1);
  EXPECT_EQ(pop(), 0);
  EXPECT_EQ(node(), "-");
}

TEST_F(RangesTest, ThatAreNeverPoppedAreBounded) {
  observe();
  const int many = static_cast<int>(kOpenRangesMax) + 100;
  for (int i = 0; i < many; ++i) EXPECT_EQ(push("leak"), i);
  EXPECT_EQ(node(), "leak") << "one laid over itself counts once";
  EXPECT_EQ(ranges.counts().too_many_open, 100u);
  EXPECT_EQ(ranges.counts().nestings_refused, kOpenRangesMax - kScopesMax);
  for (int i = many - 1; i >= 0; --i) EXPECT_EQ(pop(), i);
  EXPECT_EQ(node(), "-");
  EXPECT_EQ(push("after"), 0);
  EXPECT_EQ(node(), "after");
  EXPECT_EQ(pop(), 0);
}

TEST_F(RangesTest, OfTooManyNestingsGiveTheOuterName) {
  observe();
  push("outer");
  for (std::size_t i = 0; i < kNestingsMax + 50; ++i) {
    push(("step " + std::to_string(i)).c_str());
    pop();
  }
  push("one more");
  EXPECT_EQ(node(), "outer");
  pop();
  push("step 7");
  EXPECT_EQ(node(), "outer.step 7") << "known ones stay";
  pop();
  EXPECT_GE(ranges.counts().nestings_refused + names.counts().labels_refused, 51u);
  gt_counters counters{};
  counters.size = sizeof counters;
  ASSERT_EQ(gt_counters_get(&counters), GT_OK);
  EXPECT_LT(counters.annotations, 3 * kNestingsMax);
  EXPECT_EQ(pop(), 0);
}

TEST_F(RangesTest, OfDomainsThatAreNotWantedGiveNoNames) {
  Names picky(std::vector<std::string>{"wanted"});
  Ranges picked(picky);
  open_window();
  picked.window_opened();
  Domain& wanted = picky.create_domain(text_of("wanted"));
  EXPECT_EQ(picked.push(picky.domain(nullptr), attributes("noise")), 0);
  EXPECT_EQ(picked.push(wanted, attributes("signal")), 0);
  EXPECT_EQ(node(), "signal");
  EXPECT_EQ(picked.pop(picky.domain(nullptr)), 0);
  EXPECT_EQ(node(), "signal");
  EXPECT_EQ(picked.pop(wanted), 0);
  EXPECT_EQ(node(), "-");
}

TEST_F(RangesTest, GoOnInAChildOfFork) {
  observe();
  push("parent");
  EXPECT_EQ(node(), "parent");
  ranges.lock_for_fork();
  names.lock_for_fork();
  const pid_t child = fork();
  names.unlock_after_fork();
  ranges.unlock_after_fork();
  if (child == 0) {
    names.start_anew();
    ranges.start_anew();
    gt_window window{};
    if (gt_window_open(nullptr, &window) != GT_OK) _exit(1);
    ranges.window_opened();
    if (push("child") != 1) _exit(2);
    // The false CUDA here is a copy of the parent's, whose subscription nobody gives back: nodes are not told of.
    _exit(current() == "parent.child" && pop() == 1 && pop() == 0 ? 0 : 3);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(node(), "parent");
  EXPECT_EQ(pop(), 0);
}

// Any order of calls against a plain list of what is open.
RC_GTEST_FIXTURE_PROP(RangesTest, AnyOrderGivesTheNamesOfWhatIsOpen, (const std::vector<std::uint8_t>& steps)) {
  struct Open {
    std::string text;
    int domain;  // -1: of start and end
    nvtx::RangeId id;
  };
  static const char* const kDomains[] = {nullptr, "A", "B"};
  observe();
  std::vector<Open> open;
  for (const std::uint8_t step : steps) {
    const int in = step / 8 % 3;
    const std::string text(1, static_cast<char>('a' + step / 24));
    const auto depth = [&](int of) {
      return static_cast<int>(std::count_if(open.begin(), open.end(), [&](const Open& one) { return one.domain == of; }));
    };
    switch (step % 8) {
      case 0:
      case 1:
      case 2:
        RC_ASSERT(push(text.c_str(), kDomains[in]) == depth(in));
        open.push_back({text, in, 0});
        break;
      case 3:
      case 4: {
        const auto innermost = std::find_if(open.rbegin(), open.rend(), [&](const Open& one) { return one.domain == in; });
        RC_ASSERT(pop(kDomains[in]) == depth(in) - 1);
        if (innermost != open.rend()) open.erase(std::next(innermost).base());
        break;
      }
      case 5:
        open.push_back({text, -1, start(text.c_str())});
        break;
      case 6: {
        const auto oldest = std::find_if(open.begin(), open.end(), [](const Open& one) { return one.domain == -1; });
        if (oldest == open.end()) break;
        RC_ASSERT(ranges.end(oldest->id));
        open.erase(oldest);
        break;
      }
      default: {
        std::string path;
        for (const Open& one : open) {
          // A stack laid over itself counts once.
          if (one.text != path) path += (path.empty() ? "" : ".") + one.text;
        }
        RC_ASSERT(node() == (path.empty() ? "-" : path));
      }
    }
  }
  for (auto one = open.rbegin(); one != open.rend(); ++one) {
    if (one->domain < 0) {
      ranges.end(one->id);
    } else {
      pop(kDomains[one->domain]);
    }
  }
}

}  // namespace
}  // namespace graphtag::inject
