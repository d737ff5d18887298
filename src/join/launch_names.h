// Names for work outside graphs: those of the user annotations (torch.profiler.record_function, graphtag.torch.region) that were open where
// it was launched, so that the eager run of a program has the regions of its graphed run.
//
//   host thread 1  |- mlp ----------------|                  user annotation
//                      |launch 7|                            cuda_runtime, correlation 7
//                  |f1 -------------------------.            flow "fwdbwd" from the forward operator ...
//   host thread 2                         |- evaluate ----|  ... to its backward, in the autograd engine
//                                           |launch 8|
//   GPU                       kernel 7: mlp      kernel 8: mlp, "autograd_phase": "backward"
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/grow_array.h"
#include "join/open_ranges.h"
#include "model/annotation.h"
#include "model/gpu_operation.h"
#include "trace/event.h"

namespace graphtag {

// Keeps 24 bytes a user annotation, launch, backward operator and flow, and 16 a GPU operation outside graphs.
class LaunchNames {
 public:
  explicit LaunchNames(AnnotationTable& table) : table_(table) {}

  // An event that is no GPU operation: what names nothing is passed over. The profiler's own ranges (ProfilerStep#3) name nothing.
  void add_host(const Event& event);
  // A GPU operation outside graphs: its index in the table.
  void add_operation(std::uint32_t index, std::uint64_t correlation);
  // Names those that have no annotation. Once, after the last event. A correlation that two threads launched is nobody's.
  void name(GrowArray<GpuOperation>& operations);

 private:
  struct Launch {
    std::uint64_t correlation = 0;
    HostPoint at;
  };
  struct Wanted {
    std::uint64_t correlation = 0;
    std::uint32_t index = 0;
  };
  struct FlowEnd {
    std::uint64_t id = 0;
    HostPoint at;
  };

  std::uint32_t thread_of(const Event& event);
  AnnotationId annotation_of(std::string_view name);
  void add_flow(const Event& event);
  // Where each of wanted_ was launched: (index of the operation, the place).
  std::vector<std::pair<std::uint32_t, HostPoint>> launched();
  // Of each point: the backward operator around it, as an index into operators_; kNone if there is none.
  std::vector<std::uint32_t> operators_around(const std::vector<HostPoint>& points);
  // Of each backward operator of `used`: what its forward was called, with the phase added; by index into operators_.
  boost::unordered_flat_map<std::uint32_t, AnnotationId> forward_names(const std::vector<std::uint32_t>& used);

  AnnotationTable& table_;
  std::vector<HostRange> ranges_;     // user annotations
  std::vector<HostRange> operators_;  // backward operators: the engine's slice around each
  GrowArray<Launch> launches_;
  GrowArray<Wanted> wanted_;
  std::vector<FlowEnd> forward_, backward_;                           // the two ends of "fwdbwd" flows
  boost::unordered_flat_map<std::string, std::uint32_t> threads_;     // pid and tid as written -> number
  boost::unordered_flat_map<std::string, AnnotationId> annotations_;  // user annotation's name -> its annotation
  boost::unordered_flat_map<AnnotationId, AnnotationId> with_phase_;  // annotation -> with "autograd_phase": "backward"
  std::string key_, storage_;
};

}  // namespace graphtag
