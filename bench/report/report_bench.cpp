// `graphtag report` beside its limit: `graphtag annotate` without its writing. Whole passes over a file in this process, in turn, as ratios of one run.
//
//   report_bench TRACE ANNOTATIONS
#include <algorithm>
#include <chrono>
#include <cstdio>
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

// Wall seconds of `work`; ends the program if it fails.
double seconds_of(const std::function<bool()>& work) {
  const auto start = std::chrono::steady_clock::now();
  if (!work()) {
    std::fprintf(stderr, "report_bench: the files cannot be read\n");
    std::exit(1);
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
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
  std::vector<double> annotate, report;
  for (int turn = 0; turn < 7; ++turn) {
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
  std::printf("annotate without writing %8.3f s (median of 7)\n", median(annotate));
  std::printf("report                   %8.3f s   %.2f times\n", median(report), median(report) / median(annotate));
  return 0;
}
