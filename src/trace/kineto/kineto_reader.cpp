#include "trace/kineto/kineto_reader.h"

#include "trace/kineto/document.h"
#include "trace/kineto/reading.h"

namespace graphtag {

Result<void> read_kineto(ByteSource& source, const std::string& path, EventVisitor& visitor, ReadResult& result,
                         const KinetoOptions& options) {
  kineto::Reading reading(source, visitor, result, options);
  return kineto::Document(reading, path).read();
}

}  // namespace graphtag
