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
#include "trace/reader.h"

namespace graphtag {

struct AnnotationInput {
  std::string name;    // the file's name without its folder
  std::string sha256;  // of its bytes, hexadecimal
  std::string path{};  // as it was given, or found in a folder that was; not written into traces
};

// A file of the user's choice, read, with how it came: named itself, or found in a folder.
struct AnnotationSource {
  std::shared_ptr<AnnotationFile> file = std::make_shared<AnnotationFile>();  // shared with the sets that are made of it
  AnnotationInput input;
  bool from_folder = false;
  std::string unreadable;  // found in a folder, and no annotation file: why not. Fits no trace
};

// Reads every path; a folder stands for the annotation files directly in it (*.pkl, *.pickle, *.json, *.json.gz is not one), by name. What cannot
// be read in a folder stays in the list, with the reason. Errors: as read_annotation_file; a folder with none in it.
Result<std::vector<AnnotationSource>> read_annotation_sources(const std::vector<std::string>& paths);

// Which sources fit a trace: host, pid and rank agree wherever both sides have them.
struct FitResult {
  TraceInfo info;  // what the trace says about itself before its events; with the pid, if a source has one
  std::vector<const AnnotationSource*> fitting;
  std::vector<std::string> passed_over;  // "NAME: rank 1, the trace has rank 0"
};
enum class Fit : std::uint8_t {
  strict,   // a file that was named by itself must fit (else invalid_argument, with the reason); one of a folder is passed over
  several,  // the trace is one of several, of which require_fits() was asked: what does not fit is passed over
  forced,   // all fit
};
// Errors: what `how` says.
Result<FitResult> choose_sources(const std::vector<AnnotationSource>& sources, TraceInfo info, Fit how);
// The same for a trace that was not looked at yet. Errors: as read_trace too.
Result<FitResult> choose_sources_for(const std::string& trace_path, const std::vector<AnnotationSource>& sources, Fit how,
                                     const ReadOptions& options = {});
// Asked again after reading, when the trace may have said more about itself behind its events. Error (invalid_argument): the first of `fitting` that
// does not fit, and why.
Result<void> require_still_fit(const std::vector<const AnnotationSource*>& fitting, const TraceInfo& info, Fit how);
// Every source that was named by itself must fit one of the traces. Error (invalid_argument): the first that does not, and why.
Result<void> require_fits(const std::vector<AnnotationSource>& sources, const std::vector<std::string>& trace_paths,
                          const ReadOptions& options = {});

// Several files as one: of two that know an id the later wins. Ids of `annotations()` are this set's own.
class AnnotationSet {
 public:
  AnnotationSet();
  // `more_keys`: those that the trace's own names have (TraceInfo::annotation_keys), to come after the files'.
  explicit AnnotationSet(const std::vector<const AnnotationSource*>& sources, const std::vector<std::string>& more_keys = {});
  ~AnnotationSet();
  AnnotationSet(AnnotationSet&&) noexcept;
  AnnotationSet& operator=(AnnotationSet&&) noexcept;

  bool empty() const;  // no file
  const std::vector<AnnotationInput>& inputs() const;
  // Every key that an annotation has or may get, and "graphtag.path" if there are paths that say more than the names; in order of first sight.
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
