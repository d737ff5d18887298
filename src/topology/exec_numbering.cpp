#include "topology/exec_numbering.h"

#include <limits>

namespace graphtag {
namespace {

constexpr int kDeepest = 256;

class Numberer {
 public:
  explicit Numberer(std::uint32_t next) { numbering_.end = next; }

  // Both are false where numbering had to stop.
  bool own(const GraphShape& graph) {
    for (const IdRange& range : graph.live) {
      if (range.count > std::numeric_limits<std::uint32_t>::max() - numbering_.end) return stop();
      append_pairs(numbering_.pairs, {numbering_.end}, {graph.id, range.first}, range.count);
      numbering_.end += range.count;
    }
    return true;
  }

  bool nested(const GraphShape& graph, int depth) {
    if (depth > kDeepest) return stop();
    for (const GraphShape::Holder& holder : graph.holders) {
      if (!holder.bodies_known) return stop();
      for (const GraphShape& body : holder.bodies) {
        if (!own(body)) return false;
      }
      for (auto body = holder.bodies.rbegin(); body != holder.bodies.rend(); ++body) {
        if (!nested(*body, depth + 1)) return false;
      }
    }
    return true;
  }

  NestedNumbering take() { return std::move(numbering_); }

 private:
  bool stop() {
    numbering_.complete = false;
    return false;
  }

  NestedNumbering numbering_;
};

}  // namespace

NestedNumbering number_nested(const GraphShape& graph, std::uint32_t next_local_id) {
  Numberer numberer(next_local_id);
  numberer.nested(graph, 0);
  return numberer.take();
}

}  // namespace graphtag
