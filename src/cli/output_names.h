// Where the verbs write, and annotate in which format.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"

namespace graphtag::cli {

enum class OutputFormat { chrome, perfetto };

struct Output {
  std::string path;
  OutputFormat format = OutputFormat::chrome;
  bool gzip = false;
  bool operator==(const Output&) const = default;
};

// One output a trace, in order. `out` is a file for one trace (a folder if it is one, or ends in '/'), a folder for several, in
// which the names are kept and only the ending follows the format. `format` is "chrome", "perfetto" or "" (by the name). Errors
// (invalid_argument): a name that does not tell the format, two traces of one name.
Result<std::vector<Output>> plan_outputs(const std::vector<std::string>& traces, const std::string& out,
                                         const std::string& format);

// Refuses (invalid_argument) to write what is read: `out` is one of `inputs`, by any name, or an annotation file in a folder among them.
Result<void> refuse_inputs(const std::string& out, const std::vector<std::string>& inputs);

// Makes `path` a folder if it is none yet.
Result<void> make_folder(const std::string& path);

}  // namespace graphtag::cli
