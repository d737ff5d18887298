// Names graph nodes by the NVTX ranges that were open, on the same thread, when the original of the node was created.
//
//   thread 11        |---- decoder ---------------------------|
//                          |-- attention --|   |---- mlp ----|
//   nodes created      21          22                23               of the template graph
//                      ^           ^                 ^
//   copies             85          86                87               of the exec graph: originalGraphNodeId 21, 22, 23
//
//   86 -> {"name":"attention"}, path decoder, attention
//
// A copy may be a copy of a copy. Ids are of one process; so is all that is read here.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "model/annotation.h"
#include "model/annotation_file.h"
#include "trace/nsys/database.h"
#include "trace/nsys/strings.h"
#include "trace/problems.h"

namespace graphtag::nsys {

class NodeNames {
 public:
  // Reads CUDA_GRAPH_NODE_EVENTS and NVTX_EVENTS of the process `process` (a globalPid), or of all rows if the export names none. Errors: the
  // file is damaged; it has more nodes than can be held.
  static Result<NodeNames> read(Database& database, Strings& strings, std::optional<std::int64_t> process, Problems& problems);

  // `callback` where a range was open (nobody but the profiler knew when the node was made); else why there is no name: outside_scope, or
  // captured_before_start where nothing is known of the node's creation.
  Resolution resolve(std::uint64_t node_id) const;
  std::shared_ptr<const AnnotationTable> annotations() const { return annotations_; }

 private:
  // 32 bytes a node.
  struct Node {
    std::uint64_t id = 0;
    std::uint64_t original = 0;  // 0: none
    AnnotationId annotation = AnnotationId::none;
    Origin origin = Origin::captured_before_start;
    bool settled = false;  // annotation and origin hold
    std::uint64_t row = 0;
  };
  class Sweep;

  std::size_t index_of(std::uint64_t id) const;  // in nodes_; its size if there is no such node
  void settle(Problems& problems);

  std::shared_ptr<AnnotationTable> annotations_ = std::make_shared<AnnotationTable>();
  std::vector<Node> nodes_;  // ascending by id
};

}  // namespace graphtag::nsys
