// Operation tables made by hand, for tests.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "join/operations.h"

namespace graphtag::testing {

class OperationBuilder {
 public:
  OperationTable table;

  // The index of a new launch of exec graph `graph`.
  std::uint32_t replay(std::uint32_t graph) {
    table.replays.push_back({GraphId{graph}, table.replays.size() + 1});
    return static_cast<std::uint32_t>(table.replays.size() - 1);
  }
  AnnotationId annotation(const Json& object, std::vector<std::string> path = {}) {
    AnnotationTable& annotations = table.annotations.annotations();
    return path.empty() ? annotations.intern(object).value() : annotations.intern(object, std::move(path)).value();
  }
  AnnotationId region(const std::string& name) { return annotation(Json{{"name", name}}); }

  // A kernel of a graph's node: node ids count up in each replay. Change what else matters at the reference.
  GpuOperation& kernel(std::int64_t start_ns, std::int64_t end_ns, std::int32_t stream, std::uint32_t replay,
                       AnnotationId annotation, const std::string& name = "kernel") {
    GpuOperation operation;
    operation.start_ns = start_ns;
    operation.end_ns = end_ns;
    operation.stream = stream;
    operation.replay = replay;
    operation.annotation = annotation;
    operation.name = table.names.intern(name);
    if (replay != kNoReplay) {
      operation.local_id = next_local_id_[replay]++;
      operation.origin = annotation == AnnotationId::none ? Origin::outside_scope : Origin::callback;
    }
    set_device(operation, 0);
    table.operations.push_back(operation);
    return table.operations.back();
  }
  GpuOperation& copy(std::int64_t start_ns, std::int64_t end_ns, std::int32_t stream, std::uint64_t bytes,
                     const std::string& name) {
    GpuOperation& operation = kernel(start_ns, end_ns, stream, kNoReplay, AnnotationId::none, name);
    operation.kind = OperationKind::memcpy;
    operation.bytes = bytes;
    return operation;
  }
  void set_device(GpuOperation& operation, std::uint16_t device) {
    operation.device = device;
    while (table.devices.size() <= device) table.devices.push_back(static_cast<std::int64_t>(table.devices.size()));
  }

 private:
  std::map<std::uint32_t, std::uint32_t> next_local_id_;  // replay -> local id
};

// The worked example of docs/report.md:
//
//   us     0       20      40      60  70 74 80     100     120
//   s7     [---q---[---o---)             [HtoD)
//   s7                                       [---q---)   [-L-)
//   s8                 [--mlp--)
//   s9                       [----ar----)
//           replay 0: to 70; HtoD is outside graphs; replay 1: from 80
inline OperationTable worked_example() {
  OperationBuilder builder;
  const AnnotationId q = builder.region("L.q"), o = builder.region("L.o"), mlp = builder.region("L.mlp"),
                     ar = builder.region("L.ar");
  const AnnotationId l = builder.region("L");
  const std::uint32_t first = builder.replay(5), second = builder.replay(5);
  builder.kernel(0, 20'000, 7, first, q, "gemm_q");
  builder.kernel(20'000, 40'000, 7, first, o, "gemm_o");
  builder.kernel(30'000, 50'000, 8, first, mlp, "gemm_mlp");
  builder.kernel(45'000, 70'000, 9, first, ar, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)");
  builder.copy(70'000, 74'000, 7, 48'000, "Memcpy HtoD (Pinned -> Device)");
  builder.kernel(80'000, 100'000, 7, second, q, "gemm_q");
  builder.kernel(110'000, 120'000, 7, second, l, "elementwise");
  return std::move(builder.table);
}

}  // namespace graphtag::testing
