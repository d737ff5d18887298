// What a scope costs while nothing is recorded: through both headers, beside an NVTX range without a tool, and beside nothing.
#include <graphtag/graphtag.h>
#include <nvtx3/nvToolsExt.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <graphtag/graphtag.hpp>
#include <vector>

namespace {

constexpr int kScopes = 20'000'000;
constexpr int kRounds = 9;

// Keeps the loop, and what is in it, from being merged or dropped.
inline void keep() {
  asm volatile("" ::: "memory");
}

template <typename Work>
double ns_each(Work work) {
  std::vector<double> rounds;
  for (int round = 0; round < kRounds; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kScopes; ++i) {
      work();
      keep();
    }
    const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - begin;
    rounds.push_back(spent.count() / kScopes);
  }
  std::sort(rounds.begin(), rounds.end());
  return rounds[rounds.size() / 2];
}

}  // namespace

int main() {
  const double nothing = ns_each([] {});
  const double c_inline = ns_each([] {
    if (gt_active()) gt_scope_begin_name("a", 1);
    keep();
    if (gt_active()) gt_scope_end();
  });
  const double c_calls = ns_each([] {
    gt_scope_begin_name("a", 1);
    keep();
    gt_scope_end();
  });
  const double cpp = ns_each([] {
    const gt::Scope scope{"a"};
    keep();
  });
  const double nvtx = ns_each([] {
    nvtxRangePushA("a");
    keep();
    nvtxRangePop();
  });
  std::printf("%-44s %8s\n", "begin and end of a scope, nothing recorded", "ns");
  std::printf("%-44s %8.2f\n", "an empty loop", nothing);
  std::printf("%-44s %8.2f\n", "graphtag.h, behind gt_active()", c_inline);
  std::printf("%-44s %8.2f\n", "graphtag.h, called", c_calls);
  std::printf("%-44s %8.2f\n", "graphtag.hpp, gt::Scope", cpp);
  std::printf("%-44s %8.2f\n", "NVTX push and pop, no tool", nvtx);
  std::printf("%-44s %8.2f\n", "gt::Scope / NVTX", cpp / nvtx);
  return 0;
}
