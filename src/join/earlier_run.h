// What an earlier graphtag run says about a trace that it annotated: the "graphtag" member.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "join/annotate.h"

namespace graphtag {

struct EarlierRun {
  std::vector<std::string> keys;  // of the annotations it wrote, "graphtag.path" among them
  Lanes lanes = Lanes::none;
  std::int64_t default_stream = 7;
  std::vector<AnnotationInput> inputs;

  // The same files, by content, in the same order.
  bool same_inputs(const std::vector<AnnotationInput>& others) const;
  bool same_lanes(Lanes other, std::int64_t other_default_stream) const;
};

// Nothing if there is no such member. Of one that is not as graphtag writes it, what can be understood.
std::optional<EarlierRun> earlier_run(const TraceInfo& info);

}  // namespace graphtag
