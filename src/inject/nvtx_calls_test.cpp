// The whole way of NVTX calls: from a program's NVTX through ours to the names of nodes, and on to another tool.
#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "inject/injected.h"
#include "tests/capi/fixture.h"
#include "tests/inject/nvtx_program.h"

extern "C" int InitializeInjectionNvtx2(graphtag::inject::nvtx::GetExportTable program) noexcept;

namespace graphtag::inject {
namespace {

using nlohmann::json;

constexpr const char* kOtherTool = GRAPHTAG_FAKE_DIR "/libother_tool.so";

// The process's own library: it reads the environment once.
Injected& process_library() {
  setenv("GRAPHTAG_RUN_NEXT_NVTX_INJECTION", kOtherTool, 1);
  return *injected();
}

class NvtxCalls : public capi::WithFakeCuda {
 protected:
  NvtxCalls() : library(process_library()), nvtx(&InitializeInjectionNvtx2) {
    const auto other = dlopen(kOtherTool, RTLD_NOW | RTLD_NOLOAD);
    log_ = reinterpret_cast<const char* (*)()>(dlsym(other, "other_tool_log"));
    EXPECT_EQ(log(), "nvtx\n");
    open_window();
    library.ranges.window_opened();
  }
  std::string log() { return log_(); }
  json current() {
    gt_annotation open{};
    EXPECT_EQ(gt_scope_current(&open), GT_OK);
    return open.value == 0 ? json() : json::parse(capi::json_of(open, GT_JSON_PATH));
  }

  Injected& library;
  NvtxProgram nvtx;

 private:
  const char* (*log_)() = nullptr;
};

nvtx::EventAttributes registered(nvtx::StringHandle string) {
  nvtx::EventAttributes event = event_of("");
  event.message_type = nvtx::MessageType::registered;
  event.message.registered = string;
  return event;
}

TEST_F(NvtxCalls, OfTheDefaultDomainAreHeardByBoth) {
  EXPECT_TRUE(nvtx.is_attached());
  EXPECT_EQ(nvtx.push("a"), 0) << "our depth, not the other tool's 77";
  EXPECT_EQ(nvtx.push(L"b"), 1);
  nvtx.name_category(4, "four");
  nvtx::EventAttributes event = event_of("c");
  event.category = 4;
  EXPECT_EQ(nvtx.push(event), 2);
  EXPECT_EQ(current(), json::parse(R"({"name": "c", "nvtx_category": "four", "graphtag.path": ["a", "b", "c"]})"));
  const auto first = nvtx.start("first"), second = nvtx.start(L"second"), third = nvtx.start(event_of("third"));
  EXPECT_EQ(current()["name"], "third");
  nvtx.end(second);
  nvtx.end(third);
  EXPECT_EQ(current()["name"], "first");
  nvtx.end(first);
  EXPECT_EQ(nvtx.pop(), 2);
  EXPECT_EQ(nvtx.pop(), 1);
  EXPECT_EQ(nvtx.pop(), 0);
  EXPECT_EQ(current(), json());
  nvtx.mark("m");
  nvtx.mark(L"n");
  nvtx.mark(event_of("o"));
  nvtx.name_category(5, L"five");
  nvtx.name_os_thread(12, "worker");
  EXPECT_EQ(
      log(),
      "push_a a\npush_w b\ncategory_a 4 four\npush c\nstart_a first\nstart_w second\nstart third\nend 1002\nend 1003\nend 1001\n"
      "pop\npop\npop\nmark_a m\nmark_w n\nmark o\ncategory_w 5 five\nthread 12 worker\n");
}

TEST_F(NvtxCalls, OfDomainsAreHeardByBothWithTheirOwnHandles) {
  const auto domain = nvtx.create_domain("lib");
  const auto wide = nvtx.create_domain(L"wide");
  EXPECT_EQ(nvtx.create_domain("lib"), domain);
  const auto string = nvtx.register_string(domain, "text");
  EXPECT_EQ(nvtx.register_string(domain, "text"), string);
  nvtx.register_string(nullptr, L"more");
  EXPECT_EQ(nvtx.push(domain, registered(string)), 0);
  EXPECT_EQ(current(), json::parse(R"({"name": "text", "nvtx_domain": "lib", "graphtag.path": ["text"]})"));
  const auto range = nvtx.start(wide, event_of("r"));
  nvtx.mark(domain, event_of("m"));
  nvtx.name_category(domain, 3, "three");
  nvtx.destroy_resource(nvtx.create_resource(domain, nullptr));
  nvtx.destroy_sync_user(nvtx.create_sync_user(domain));
  EXPECT_EQ(nvtx.push(registered(string)), 0) << "also of the default domain";
  EXPECT_EQ(nvtx.pop(), 0);
  nvtx.end(wide, range);
  EXPECT_EQ(nvtx.pop(domain), 0);
  EXPECT_EQ(
      log(),
      "domain_a lib\ndomain_w wide\nstring_a d1 text\nstring_w 0 more\ndomain_push d1 string 51\ndomain_start d2 r\ndomain_mark "
      "d1 m\n"
      "domain_category d1 3 three\nresource d1\nresource_destroy e1\nsync_user d1\nsync_user_destroy f1\npush string 51\npop\n"
      "domain_end d2 1001\ndomain_pop d1\n");
  // A handle that the program keeps still means something to us; the other tool is told of no more than it knows.
  nvtx.destroy_domain(domain);
  EXPECT_EQ(nvtx.push(domain, registered(string)), 0);
  EXPECT_EQ(current()["name"], "text");
  EXPECT_EQ(nvtx.pop(domain), 0);
  EXPECT_EQ(nvtx.create_domain("lib"), domain);
  EXPECT_EQ(log(), "domain_destroy d1\ndomain_push 0 string 0\ndomain_pop 0\ndomain_a lib\n");
}

TEST_F(NvtxCalls, OfEveryNvtxOfTheProcessAreOneStack) {
  NvtxProgram second(&InitializeInjectionNvtx2);
  NvtxProgram old(&InitializeInjectionNvtx2, false);
  EXPECT_EQ(log(), "nvtx\nnvtx\n");
  EXPECT_EQ(nvtx.push("a"), 0);
  EXPECT_EQ(second.push("b"), 1);
  EXPECT_EQ(old.push("c"), 2);
  EXPECT_EQ(old.create_domain("none"), nullptr) << "NVTX 1 has no domains";
  EXPECT_EQ(current()["graphtag.path"], json::parse(R"(["a", "b", "c"])"));
  EXPECT_EQ(second.pop(), 2);
  EXPECT_EQ(nvtx.pop(), 1);
  EXPECT_EQ(nvtx.pop(), 0);
  EXPECT_EQ(log(), "push_a a\npush_a b\npush_a c\npop\npop\npop\n");
}

TEST_F(NvtxCalls, FromManyThreadsAtOnceKeepTheirOrder) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const std::string text = "thread " + std::to_string(t);
      for (int i = 0; i < 300; ++i) {
        EXPECT_EQ(nvtx.push(text.c_str()), 0);
        const auto range = nvtx.start("inner");
        EXPECT_EQ(current()["graphtag.path"], json({text, "inner"}));
        nvtx.end(range);
        EXPECT_EQ(nvtx.pop(), 0);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  const std::string heard = log();
  EXPECT_EQ(std::count(heard.begin(), heard.end(), '\n'), 4 * 300 * 4);
}

TEST(Chain, ToWhatIsNoToolIsNone) {
  for (const char* path : {"/no/such/library.so", "libm.so.6"}) {
    Chain chain;
    EXPECT_FALSE(chain.attach(
        path, [](std::uint32_t) -> const void* { return nullptr; }, &InitializeInjectionNvtx2));
    EXPECT_FALSE(chain.exists());
    EXPECT_EQ(chain.core<void (*)()>(nvtx::Core::range_pop), nullptr);
  }
}

TEST(Attach, ToAnNvtxWithoutTheTableIsRefused) {
  EXPECT_FALSE(attach_to_nvtx([](std::uint32_t) -> const void* { return nullptr; }, false));
}

}  // namespace
}  // namespace graphtag::inject
