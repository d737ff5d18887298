// Builds a random graph while scopes open and close, and keeps what it did.
#pragma once

#include <cuda_runtime.h>
#include <graphtag/graphtag.h>

#include <random>

#include "../support/worker.h"
#include "checked_calls.h"
#include "known.h"

namespace gpu_test {

// Numbers that tell work of a batch apart, and names that are never used twice.
struct Ledger {
  std::uint32_t next_identity = 0;
  std::uint32_t end = kIdentities;
  std::uint64_t next_name = 0;
  // A graph and all that is done with it needs fewer than this.
  bool is_full() const { return next_identity + 1000 > end; }
};

// A thread's open scopes, twice: in graphtag, and here.
class Scopes {
 public:
  Scopes(std::mt19937_64& random, Ledger& ledger) : random_(random), ledger_(ledger) {}
  // Begins or ends some, or none.
  void shuffle();
  void end_all();
  Fields merged() const;

 private:
  void begin();
  void end();

  struct Open {
    gt_scope handle;  // 0: the stack form
    Fields fields;
  };
  std::mt19937_64& random_;
  Ledger& ledger_;
  std::vector<Open> open_;
};

struct Options {
  bool boundary = false;
  bool all_streams = false;
  // Left out, to find out which of them a failure needs.
  bool skip_while = false, skip_device = false, skip_memory = false, skip_host = false;
};

class Builder {
 public:
  // Streams and memory of one thread.
  Builder(std::uint64_t seed, const Options& options, Ledger& ledger);
  ~Builder();
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  const std::vector<cudaStream_t>& streams() const { return streams_; }
  cudaStream_t launch_stream() const { return streams_[0]; }
  std::mt19937_64& random() { return random_; }

  struct Built {
    cudaGraph_t graph = nullptr;
    KnownGraph known;
  };
  // The same `shape` gives the same graph, with other identities and other scopes: one that the first can be updated with.
  Built build(std::uint64_t shape);
  // One more kernel for a graph that is finished, under a scope of its own.
  cudaGraphNode_t add_plain_kernel(cudaGraph_t graph, Expected& added);
  // Gives a kernel of an exec graph another grid, under a scope that must not matter; returns its new identity.
  std::uint32_t set_identity(cudaGraphExec_t exec, cudaGraphNode_t node);
  // A capture that fails, as a fork is not joined.
  void fail_capture();

 private:
  std::uint64_t pick(std::uint64_t below) { return (*shape_)() % below; }
  bool chance(int percent) { return pick(100) < static_cast<std::uint64_t>(percent); }
  Fields open_now() const;

  void fill_captured(KnownGraph& known, std::size_t first_stream, int depth, int size, bool top);
  void fill_explicit(KnownGraph& known, cudaGraph_t graph, int depth, int size, bool may_nest_conditionals);
  void launch(KnownGraph& known, cudaStream_t stream);
  void add_child_to_capture(KnownGraph& known, cudaStream_t stream, int depth);
  void add_conditional(KnownGraph& known, cudaGraph_t graph, const std::vector<cudaGraphNode_t>& after, int depth,
                       std::size_t first_stream, cudaGraphNode_t* made);
  std::unique_ptr<KnownGraph> make_child(int depth, cudaGraph_t* child);
  KnownGraph::Node& note(KnownGraph& known, Work work);
  std::uint32_t next_identity() { return ledger_.next_identity++; }

  Options options_;
  std::string features_;  // of the graph that is being built
  Ledger& ledger_;
  std::mt19937_64 random_;                  // scopes, and what the test does
  std::unique_ptr<std::mt19937_64> shape_;  // of the graph that is being built
  std::vector<cudaStream_t> streams_;
  std::vector<cudaEvent_t> events_;
  std::size_t next_event_ = 0;
  char* memory_ = nullptr;
  Scopes scopes_, helper_scopes_;
  graphtag::Worker helper_;
  bool on_helper_ = false;  // the node that is being added is added by the helper
};

}  // namespace gpu_test
