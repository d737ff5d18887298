// Compares every record of a batch with what the test knows of it.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "activity.h"
#include "known.h"

namespace gpu_test {

// An exec graph, and what one replay of it runs.
struct KnownExec {
  cudaGraphExec_t exec = nullptr;
  std::uint32_t id = 0;  // as in records
  std::vector<Expected> expected;
  // The same nodes as they were instantiated, if an update changed them: CUPTI goes on writing the sizes of that time for copies and sets
  // (driver 580).
  std::vector<Expected> instantiated;
  std::string features;  // what it was built with and how, for people
};

constexpr std::size_t kOrigins = 11;  // GT_ORIGIN_*

struct Totals {
  std::uint64_t graphs = 0, execs = 0, updates = 0, failed_updates = 0, node_updates = 0, clones = 0, failed_captures = 0,
                refused_instantiations = 0;
  std::uint64_t records = 0;
  std::array<std::uint64_t, kOrigins> right{}, wrong{};  // by origin
  std::uint64_t stale_ids = 0;                           // records with the id of another, dead exec graph
  std::uint64_t stale_named = 0;                         // of these, how many got an annotation: must be 0
  // Copies and sets of a size that nothing in the exec graph has, which the record's id and its launch agree on: must be 0 where nothing was
  // destroyed.
  std::uint64_t mis_sized = 0;
  std::uint64_t drivers_own =
      0;                      // sets and copies that the driver does with a kernel of its own: which one, the test cannot tell
  std::uint64_t foreign = 0;  // records that no exec graph of the batch explains: must be 0
  std::uint64_t missing = 0;  // that should have come: must be 0
  std::uint64_t unrecorded_sets = 0;  // nodes of which CUPTI makes no record: see makes_record()
  int shown = 0;                      // mistakes printed

  void add(const Totals& other);
};

// Callbacks must know everything. The boundary observer may be wrong where it says so, and need not know all.
bool may_be_wrong(std::uint32_t origin, bool boundary);

// `replays`: how often each exec graph was launched.
void check_records(const std::vector<Record>& records, const std::vector<KnownExec>& execs, int replays, bool boundary,
                   Totals& totals);

}  // namespace gpu_test
