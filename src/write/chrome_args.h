// What an annotation adds to the args of an event, as text.
//
//   args        {"grid": [8,1,1], "name": "x"}             of the profiler
//   annotation  {"name": "attention", "bs": 8}
//   added       ,"annotation.name":"attention","bs":8     what is there is never overwritten or doubled
//
// A key that profilers write on other records ("priority") goes in with its prefix also where it is free: plain, it would be theirs.
#pragma once

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "join/annotate.h"
#include "join/member_shapes.h"
#include "join/written_key.h"

namespace graphtag {

// A stretch of an event's text and what stands there instead.
struct TextEdit {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  std::string_view text;
};

class ChromeArgs {
 public:
  explicit ChromeArgs(const AnnotatedTrace& trace);

  // The edits that give an event its annotation and its lane, in the order of the text. They live until the next call.
  std::span<const TextEdit> edits_for(const NamedEvent& named);

 private:
  // A key that an annotation has, with its value as text.
  struct Item {
    std::string key;
    std::string value;
    std::string canonical;  // by which values are compared
    bool is_wish = false;   // for a lane: "annotated_stream"
  };
  // An item whose key the event has already.
  struct Contested {
    std::size_t item = 0;
    std::size_t member = 0;  // that has it
    std::string longer;      // the key where the value is another
  };
  // How an annotation goes into events of one shape.
  struct Plan {
    std::string text;  // of the items whose keys are free, each with a comma before it
    std::vector<Contested> contested;
  };
  // What matters of a shape whatever the annotation.
  struct ShapeFacts {
    std::vector<std::uint32_t> replaced;  // members that an earlier run wrote and this one writes anew, ascending
    int stream = -1;
    int original_stream = -1;
    bool replaces(int member) const {
      return std::binary_search(replaced.begin(), replaced.end(), static_cast<std::uint32_t>(member));
    }
  };

  const std::vector<Item>& items_of(AnnotationId id);
  bool is_replaced(const MemberShape& shape, const std::string& written) const;
  const ShapeFacts& facts_of(const MemberShape& shape);
  const Plan& plan_of(AnnotationId id, const MemberShape& shape, const ShapeFacts& facts);
  void move_thread(const NamedEvent& named);
  void move_stream(const NamedEvent& named, const ShapeFacts& facts);
  void add_contested(const Event& event, const std::vector<Item>& items, const Plan& plan);
  void add_to_args(const Event& event, std::string_view text);
  void drop_members(const Event& event);
  void forget_if_large();

  const AnnotationSet& annotations_;
  Lanes lanes_;
  KeyForms forms_;                      // of all annotations' keys
  KeyForms earlier_forms_;              // of an earlier run's keys, and "annotated_stream"
  bool earlier_wish_is_alone_ = false;  // no annotation of the earlier run has a key of that name
  bool replaces_values_ = false;        // the earlier run's values are not to stay, as it was from other files
  bool replaces_wish_ = false;          // nor its "annotated_stream"

  MemberShapes shapes_;
  boost::unordered_flat_map<AnnotationId, std::vector<Item>> items_;
  boost::unordered_flat_map<std::uint32_t, ShapeFacts> facts_;  // shape id -> facts
  boost::unordered_flat_map<std::uint64_t, Plan> plans_;        // annotation id, shape id -> plan
  std::size_t cached_bytes_ = 0;                                // of items_, facts_ and plans_

  // Of one call.
  std::vector<TextEdit> edits_;
  std::vector<std::uint32_t> drops_;  // members to leave out
  std::string added_;                 // to args
  std::string lane_;                  // as text
  std::string thread_, args_;         // members "tid", "args" to add
};

}  // namespace graphtag
