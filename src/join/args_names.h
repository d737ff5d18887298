// Annotations that a trace carries itself, in the args of its events.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "join/earlier_run.h"
#include "join/member_shapes.h"
#include "join/written_key.h"
#include "model/annotation.h"
#include "trace/event.h"

namespace graphtag {

// Which args are an annotation's?
//   In a trace of graphtag's: the keys that its "graphtag" member lists, with annotation.KEY standing for KEY where it is there.
//   In others: every key that no profiler writes, if "name", "str" (its old form) or "graphtag.path" is among them.
// Of work outside graphs, whose args profilers fill with more keys, only in graphtag's, and if a name is among them. "annotated_stream" is the annotation's "stream"; "original_stream" belongs to no annotation.
class ArgsNames {
 public:
  ArgsNames(std::optional<EarlierRun> earlier, AnnotationTable& table);

  // The GPU operation that annotation() and stream() are asked about. It must live as long.
  void look_at(const Event& event);
  // The annotation in its args; none if there is none in them.
  AnnotationId annotation();
  // The stream that it ran on, also if it is shown on another lane.
  std::optional<std::int64_t> stream() const;

 private:
  struct ShapeFacts {
    std::vector<std::pair<std::uint32_t, std::string>> picked;  // member, and the annotation's key for it
    bool named = false;                                         // a name or a path is picked
    int original_stream = -1;
  };
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const;
  };

  void pick_listed(const MemberShape& shape, ShapeFacts& facts) const;
  static void pick_others(const MemberShape& shape, ShapeFacts& facts);
  AnnotationId intern();

  std::optional<EarlierRun> earlier_;
  boost::unordered_flat_map<std::string, std::size_t> order_;  // of earlier_'s keys
  KeyForms forms_;                                             // of them
  AnnotationTable& table_;
  MemberShapes shapes_;
  boost::unordered_flat_map<std::uint32_t, ShapeFacts> facts_;  // shape id -> facts
  boost::unordered_flat_map<std::string, AnnotationId, TextHash, std::equal_to<>>
      interned_;                  // shape id and values as written -> annotation
  std::size_t cached_bytes_ = 0;  // of interned_
  std::string key_;
  // Of what look_at() saw last.
  const Event* event_ = nullptr;
  std::uint32_t shape_id_ = 0;
  const ShapeFacts* seen_ = nullptr;  // in facts_
};

}  // namespace graphtag
