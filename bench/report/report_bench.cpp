// `graphtag report` beside its limit: `graphtag annotate` without its writing. Whole passes over a file in this process, in turn, as ratios of one run.
//
//   report_bench TRACE ANNOTATIONS
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include "analyze/regions.h"
#include "join/annotate.h"
#include "write/report_regions.h"

namespace {

using namespace graphtag;

// Takes named events and writes nothing.
class NoWriter : public NamedEventConsumer {
 public:
  Result<void> begin(const AnnotatedTrace&) override { return {}; }
  Result<void> member(std::string_view, std::string_view, bool) override { return {}; }
  Result<void> event(const NamedEvent& named) override {
    count += named.annotation != AnnotationId::none ? 1 : 0;
    return {};
  }
  Result<void> finish(const std::vector<NewLane>&, const Coverage&, const ReadResult&) override { return {}; }
  std::uint64_t count = 0;
};

// What a pass took: on the clock, and in processor time of all its threads, which other programs of a busy machine disturb less.
struct Seconds {
  double wall = 0, cpu = 0;
};

// Of `work`; ends the program if it fails.
Seconds seconds_of(const std::function<bool()>& work) {
  const auto start = std::chrono::steady_clock::now();
  const std::clock_t cpu_start = std::clock();
  if (!work()) {
    std::fprintf(stderr, "report_bench: the files cannot be read\n");
    std::exit(1);
  }
  return {std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(),
          static_cast<double>(std::clock() - cpu_start) / CLOCKS_PER_SEC};
}

Seconds median(const std::vector<Seconds>& all) {
  const auto of = [&](double Seconds::*which) {
    std::vector<double> values;
    for (const Seconds& seconds : all) values.push_back(seconds.*which);
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
  };
  return {of(&Seconds::wall), of(&Seconds::cpu)};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: report_bench TRACE ANNOTATIONS\n");
    return 2;
  }
  const std::string trace = argv[1];
  const auto sources = read_annotation_sources({argv[2]});
  if (!sources) {
    std::fprintf(stderr, "report_bench: %s\n", sources.error().to_string().c_str());
    return 1;
  }
  std::vector<Seconds> annotate, report;
  for (int turn = 0; turn < 11; ++turn) {
    annotate.push_back(seconds_of([&] {
      NoWriter writer;
      return annotate_trace(trace, *sources, {}, writer).ok() && writer.count > 0;
    }));
    report.push_back(seconds_of([&] {
      auto operations = read_operations(trace, *sources);
      if (!operations) return false;
      const auto regions = analyze_regions(*operations, {});
      return regions.ok() && render_report(*regions, *operations, {}, {}).ok();
    }));
  }
  const Seconds limit = median(annotate), taken = median(report);
  std::printf("annotate without writing %8.3f s, %8.3f s of processor time (medians of 11)\n", limit.wall, limit.cpu);
  std::printf("report                   %8.3f s, %8.3f s   %.2f and %.2f times\n", taken.wall, taken.cpu, taken.wall / limit.wall,
              taken.cpu / limit.cpu);
  return 0;
}
