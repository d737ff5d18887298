// How long each stage of reading and writing a trace takes alone, as ratios of one run: the parser against a plain copy of the bytes, the plain
// reader against the fast one, and ISA-L's inflate and deflate.
//
//   read_bench [TRACE]    a trace as Chrome JSON, plain or gzip; without one, tests/golden/h200/decode_60.json.gz
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "trace/kineto/kineto_reader.h"

namespace {

using namespace graphtag;

class Counter : public EventVisitor {
 public:
  Result<void> on_event(const Event& event) override {
    ++events;
    nodes += event.has_node_id ? 1 : 0;
    return {};
  }
  std::uint64_t events = 0, nodes = 0;
};

// Takes bytes and keeps none.
class NullSink : public ByteSink {
 public:
  Result<void> write(std::string_view bytes) override {
    size += bytes.size();
    return {};
  }
  Result<void> finish() override { return {}; }
  std::size_t size = 0;
};

[[noreturn]] void fail(const std::string& why) {
  std::fprintf(stderr, "read_bench: %s\n", why.c_str());
  std::exit(1);
}

std::string read_all(ByteSource& source) {
  std::string content;
  std::vector<char> block(std::size_t{1} << 20);
  for (;;) {
    const auto got = source.read(block.data(), block.size());
    if (!got) fail(got.error().to_string());
    if (*got == 0) return content;
    content.append(block.data(), *got);
  }
}

// The best of several runs, in seconds: what the machine can do when nothing else disturbs it.
double best_time(const std::function<void()>& work) {
  double best = 1e9;
  double total = 0;
  for (int run = 0; run < 3 || (total < 2 && run < 20); ++run) {
    const auto start = std::chrono::steady_clock::now();
    work();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    best = std::min(best, seconds);
    total += seconds;
  }
  return best;
}

Counter parse(std::string_view content, bool fast) {
  KinetoOptions options;
  options.fast = fast;
  const auto source = memory_source(content);
  Counter counter;
  ReadResult result;
  if (auto read = read_kineto(*source, "the trace", counter, result, options); !read) fail(read.error().to_string());
  return counter;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string path = argc > 1 ? argv[1] : "tests/golden/h200/decode_60.json.gz";
  Problems problems;
  auto opened = open_source(path, problems);
  if (!opened) fail(opened.error().to_string());
  const std::string content = read_all(*opened->source);
  std::string compressed;
  {
    const auto sink = gzip_sink(string_sink(compressed));
    if (!sink->write(content) || !sink->finish()) fail("cannot compress");
  }

  const Counter fast = parse(content, true);
  const Counter plain = parse(content, false);
  if (fast.events != plain.events || fast.nodes != plain.nodes) fail("the two readers do not agree");
  if (read_all(*gzip_source(memory_source(compressed), problems)) != content) fail("the bytes do not come back");
  std::printf("%s: %zu bytes (%zu as gzip), %llu events, %llu with a node id\n", path.c_str(), content.size(), compressed.size(),
              static_cast<unsigned long long>(fast.events), static_cast<unsigned long long>(fast.nodes));

  std::vector<char> block(std::size_t{512} << 10);
  const double copy = best_time([&] {
    for (std::size_t i = 0; i < content.size(); i += block.size()) {
      std::memcpy(block.data(), content.data() + i, std::min(block.size(), content.size() - i));
    }
  });
  const auto report = [&](const char* name, double seconds) {
    std::printf("%-36s %7.3f s  %6.2f GB/s  %6.2f x copy\n", name, seconds, static_cast<double>(content.size()) / seconds / 1e9,
                seconds / copy);
  };
  report("copy in blocks of 512 KiB", copy);
  const double fast_time = best_time([&] { parse(content, true); });
  report("parse, fast reader", fast_time);
  const double plain_time = best_time([&] { parse(content, false); });
  report("parse, plain reader", plain_time);
  std::printf("%-36s %7.2f x\n", "  plain / fast", plain_time / fast_time);
  const double inflate_time = best_time([&] {
    const auto source = gzip_source(memory_source(compressed), problems);
    for (;;) {
      const auto got = source->read(block.data(), block.size());
      if (!got) fail(got.error().to_string());
      if (*got == 0) return;
    }
  });
  report("inflate, on its thread", inflate_time);
  const double deflate_time = best_time([&] {
    const auto sink = gzip_sink(std::make_unique<NullSink>());
    if (!sink->write(content) || !sink->finish()) fail("cannot compress");
  });
  report("deflate, on its thread", deflate_time);
  const double both = best_time([&] {
    const auto source = gzip_source(memory_source(compressed), problems);
    Counter counter;
    ReadResult result;
    if (auto read = read_kineto(*source, path, counter, result); !read) fail(read.error().to_string());
  });
  report("inflate and parse", both);
  std::printf("%-36s %7.2f x\n", "  of the slower alone", both / std::max(inflate_time, fast_time));
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("peak resident %ld MiB, the trace and its gzip in memory included\n", usage.ru_maxrss / 1024);
  return 0;
}
