// Annotation files of any known format.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "errors.h"
#include "model/annotation_file.h"
#include "rooms.h"

namespace nb = nanobind;

namespace graphtag::python {

void bind_files(nb::module_& m) {
  m.def(
      "read_annotation_file",
      [](const nb::bytes& path) {
        const Result<AnnotationFile> file = read_annotation_file(std::string(path.c_str(), path.size()));
        if (!file)
          raise(
              file.error().code == ErrorCode::io || file.error().code == ErrorCode::not_found ? GT_ERROR_IO : GT_ERROR_MALFORMED,
              file.error().to_string().c_str());
        const std::string text = write_annotation_file(file.value());
        return nb::make_tuple(nb::bytes(text.data(), text.size()), file->format);
      },
      nb::arg("path"), "(JSON of graphtag.annotations/1, the format that the file had).");
}

}  // namespace graphtag::python
