// The annotation files that go with one trace, as one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "model/annotation.h"
#include "model/annotation_file.h"
#include "trace/event.h"

namespace graphtag {

struct AnnotationInput {
  std::string name;    // the file's name without its folder
  std::string sha256;  // of its bytes, hexadecimal
};

// A file of the user's choice, read, with how it came: named itself, or found in a folder.
struct AnnotationSource {
  AnnotationFile file;
  AnnotationInput input;
  bool from_folder = false;
  std::string unreadable;  // found in a folder, and no annotation file: why not. Fits no trace
};

// Reads every path; a folder stands for the annotation files directly in it (*.pkl, *.pickle, *.json, *.json.gz is not one), by name. What cannot
// be read in a folder stays in the list, with the reason. Errors: as read_annotation_file; a folder with none in it.
Result<std::vector<AnnotationSource>> read_annotation_sources(const std::vector<std::string>& paths);

// Which sources fit a trace: host, pid and rank agree wherever both sides have them.
struct FitResult {
  std::vector<const AnnotationSource*> fitting;
  std::vector<std::string> passed_over;  // found in a folder: "NAME: rank 1, the trace has rank 0"
};
// `force`: all fit. Error (invalid_argument): one that was named by itself does not fit; the message says why.
Result<FitResult> choose_sources(const std::vector<AnnotationSource>& sources, const TraceInfo& info, bool force);

// Several files as one: of two that know an id the later wins. Ids of `annotations()` are this set's own.
class AnnotationSet {
 public:
  AnnotationSet();
  explicit AnnotationSet(const std::vector<const AnnotationSource*>& sources);
  ~AnnotationSet();
  AnnotationSet(AnnotationSet&&) noexcept;
  AnnotationSet& operator=(AnnotationSet&&) noexcept;

  bool empty() const;  // no file
  const std::vector<AnnotationInput>& inputs() const;
  // Every key that an annotation has, and "graphtag.path" if there are paths that say more than the names; in order of first sight.
  const std::vector<std::string>& keys() const;
  Resolution resolve(NodeId id) const;  // a look-up; remembers what it found, so not for several threads at once
  AnnotationTable& annotations();
  const AnnotationTable& annotations() const;
  // Of the file that wins for this exec graph's or graph's id; null if none knows it.
  const GraphRecord* graph_of(GraphId id) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace graphtag
